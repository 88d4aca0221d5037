"""What README and docs tell a reader to type works as written: Python is run, commands are parsed."""

import contextlib
import importlib
import inspect
import io
import os
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import randsmooth
from pages import DOCS, PAGES, ROOT, blocks, commands, lacking, prose, run
from randsmooth import data, models
from randsmooth.app import assessing, attacking
from randsmooth.certification.backends import BACKENDS
from randsmooth.cli import command
from randsmooth.cli.main import app
from randsmooth.cli.verbs import quickstart
from randsmooth.extras import MissingPackage
from randsmooth.methods import METHODS
from randsmooth.noise.registry import NOISES
from randsmooth.report import PANELS
from randsmooth.rules import RULES

# The pages whose Python runs in `make test`; that of all others runs in `make docs` and `make test-slow`.
QUICK = {
    *(
        "bounds.md",
        "comparing.md",
        "data.md",
        "glossary.md",
        "own-model.md",
    ),
    *(
        "other-models.md",
        "security.md",
        "sweeps.md",
        "cluster.md",
        "which-noise.md",
        "README.md",
    ),
}
# What makes the commands of the README small, by verb; the quickstart has no options for that.
TINY = {
    "train": "--take 20 --epochs 1 --set batch=16",
    "certify": "--take 6 --n 300 --n0 20",
    "explain": "--n 300 --no-attack",
    "assess": "--take 3 --n 300",
    "attack": "--take 1 --n 300 --steps 2",
    "evaluate": "--n 300",
    "compare": "--n 300",
}
QUICKSTART = {
    "EPOCHS": 1,
    "IMAGES": 6,
    "N": 200,
    "METHODS": {"gaussian": {}, "amplify": {"discard": False, "E_t": 0, "T": 1}},
}
# Trackers of experiments write files here, and reach nothing.
TRACKERS = {
    "MLFLOW_TRACKING_URI": "file:mlruns",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "WANDB_MODE": "offline",
    "WANDB_ERROR_REPORTING": "false",
}
LOG = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
IDS = {
    path: path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT).as_posix()
    for path in PAGES
}
PYTHON = [
    pytest.param(path, id=name, marks=[] if name in QUICK else pytest.mark.slow)
    for path, name in IDS.items()
    if any(block.language == "python" for block in blocks(path))
]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the guides suppose: a data set called MNIST, a model, images, and released logs if there are.

    Model and images are random: nothing that the guides do depends on what they show.
    """
    released = (
        Path(os.environ.get("RANDSMOOTH_DATA", "nowhere")).resolve().parent
        / "published-logs"
    )
    if released.is_dir():
        (tmp_path / "cifar10-sigma0.5").symlink_to(released / "cifar10-sigma0.5")
    monkeypatch.chdir(tmp_path)
    for name, value in TRACKERS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path / "data"))
    torch.manual_seed(0)
    spec = data.describe("mnist")
    (tmp_path / "data" / "mnist").mkdir(parents=True)
    for split in ("train", "test"):
        table = pd.DataFrame(
            {
                "image": [{"bytes": _png(28)} for _ in range(40)],
                "label": [i % 10 for i in range(40)],
            }
        )
        table.to_parquet(tmp_path / "data" / "mnist" / f"{split}.parquet")
    for name in ("cat", "dog"):
        folder = tmp_path / "path" / "to" / "images" / "test" / name
        folder.mkdir(parents=True)
        for i in range(2):
            (folder / f"{i}.png").write_bytes(_png(8))
    provenance = {"dataset": "mnist", "sigma": 0.5, "method": "gaussian"}
    model = models.Classifier(
        arch="lenet",
        classes=list(spec.classes),
        shape=spec.shape,
        provenance=provenance,
    )
    models.save(model.eval(), tmp_path / "runs" / "gaussian")
    return tmp_path


def _png(side: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(
        torch.randint(0, 256, (side, side), dtype=torch.uint8).numpy()
    ).save(file, "png")
    return file.getvalue()


@pytest.mark.parametrize("document", PYTHON)
def test_the_python_of_a_guide_runs(
    document: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a guide adds is not there for the tests behind it.
    for registry in (METHODS, NOISES, RULES, PANELS):
        monkeypatch.setattr(registry, "_added", {})
    if (
        "cifar10-sigma0.5/" in document.read_text()
        and not (workplace / "cifar10-sigma0.5").is_dir()
    ):
        pytest.skip(
            "no published logs: RANDSMOOTH_DATA must name the data folder beside published-logs"
        )
    assert not run(document)
    missing = {name for block in blocks(document) for name in lacking(block)}
    if missing:
        pytest.skip(f"all blocks but those that import {', '.join(sorted(missing))}")


def test_the_commands_of_the_guides_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save(
        "std.npy", np.full((1, 28, 28), 0.5)
    )  # a page reads it when its command is parsed
    understood: list[object] = []
    run: Callable[[object, object], None] = lambda verb, settings: understood.append(  # noqa: E731
        settings
    )
    monkeypatch.setattr(command, "run_verb", run)
    for path, name in IDS.items():
        for line, words in commands(path):
            understood.clear()
            try:
                app(words, standalone_mode=False)
            except Exception as error:
                raise AssertionError(
                    f"{name}:{line}: {shlex.join(words)}: {error}"
                ) from error
            assert len(understood) == 1, f"{name}:{line}: {shlex.join(words)}"


def test_the_commands_of_the_readme_run_in_order(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a tiny size, in one folder, with the file that the README shows and two logs."""
    for name, value in QUICKSTART.items():
        monkeypatch.setattr(quickstart, name, value)
    monkeypatch.setattr(
        assessing, "MOST_ATTACKED", 1
    )  # each attack takes thousands of answers
    monkeypatch.setattr(attacking, "OUTWARDS", (2.0,))
    monkeypatch.setattr(attacking, "STEPS_OF_SEARCH", 2)
    for block in blocks(ROOT / "README.md"):
        if block.language == "python":
            (workplace / block.text.split()[1]).write_text(block.text)
    for name, shift in (("baseline.tsv", 0.0), ("submission.tsv", 0.05)):
        rows = [
            f"{i}\t{i % 10}\t{i % 10}\t{0.01 * i + shift:.2f}\t1\t0:00:01\n"
            for i in range(20)
        ]
        (workplace / name).write_text(LOG + "".join(rows))
    tried = []
    for line, (verb, *words) in commands(ROOT / "README.md"):
        given = [verb, *words, *TINY.get(verb, "").split()]
        assert app(given, standalone_mode=False) in (None, 0), (
            f"README.md:{line}: {shlex.join(given)}"
        )
        tried.append(verb)
    assert {*TINY, "quickstart"} <= {*tried} and len(tried) >= 10
    for made in (
        "runs/quickstart/report.html",
        "report.html",
        "mine.parquet",
        "explanation.html",
    ):
        assert (workplace / made).is_file(), made


# The groups of entry points, which look like modules.
REGISTRIES = (
    METHODS,
    NOISES,
    RULES,
    data.DATASETS,
    models.ARCHITECTURES,
    BACKENDS,
    PANELS,
)
GROUPS = {registry.group for registry in REGISTRIES}
FILES = (".py", ".csv", ".md", ".html", ".parquet", ".json", ".ipynb")


def dotted_names(document: Path) -> set[str]:
    """What the text of a document calls `rs.SOMETHING`, `randsmooth.SOMETHING` or `ROOM.SOMETHING`."""
    rooms = "|".join(
        stub.parent.name
        for stub in Path(randsmooth.__file__).parent.glob("*/__init__.pyi")
    )
    name = re.compile(
        rf"(?<![\w./-])(?:rs|randsmooth|{rooms})(?:\.[A-Za-z_]\w*)+(?![\w/-])"
    )
    spans = re.findall(r"`([^`\n]+)`", prose(document))
    return {
        found
        for span in spans
        for found in name.findall(span)
        if not found.endswith(FILES)
    }


def test_names_in_the_text_exist() -> None:
    for document, page in IDS.items():
        for name in dotted_names(document) - GROUPS:
            first, *rest = name.split(".")
            where: object = (
                randsmooth
                if first in ("rs", "randsmooth")
                else getattr(randsmooth, first)
            )
            # A name of an extra that is not installed here says so.
            with contextlib.suppress(MissingPackage):
                _require(where, rest, f"{page} says {name}")


def _require(where: object, parts: Sequence[str], claim: str) -> None:
    """Assert that an object has a part of the first name, that part one of the next, ..."""
    for part in parts:
        path = getattr(where, "__name__", "")
        if not hasattr(where, part) and inspect.ismodule(where):
            # A module that its room does not list.
            importlib.import_module(f"{path}.{part}")
        where = getattr(where, part, None)
        assert where is not None, f"{claim}, but {path} has no {part}"
