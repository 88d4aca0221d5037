"""What files name is not opened unless the user names it too: data sets of models and tables, teachers of runs."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from cli.processes import Run
from randsmooth import TrainingSettings, models, read, train
from randsmooth.certificates import write_parquet
from randsmooth.training import checkpoint

_watched: list[
    tuple[str, list[str]]
] = []  # a folder, and what was opened or listed in it


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir"):
        for folder, seen in _watched:
            if str(arguments[0]).startswith(folder):
                seen.append(str(arguments[0]))


sys.addaudithook(_watch)  # for good, and idle unless a folder is watched


Trap = tuple[Path, list[str]]  # a folder, and what is opened in it


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Trap]:
    """A folder that holds a data set of digits, and the list of what is opened in it."""
    folder = tmp_path / "trap"
    for label in range(10):
        (folder / "test" / str(label)).mkdir(parents=True)
        Image.fromarray(np.full((8, 8), 25 * label, np.uint8)).save(
            folder / "test" / str(label) / "a.png"
        )
    seen: list[str] = []
    _watched.append((str(folder), seen))
    yield folder, seen
    _watched.clear()


@pytest.fixture
def model(made: Path) -> Path:
    return made / "model"


def naming(model: Path, dataset: object, folder: Path) -> Path:
    """The model, saying that it was trained on `dataset`."""
    named = models.load(model)
    named.provenance = named.provenance | {"dataset": dataset}
    models.save(named, folder)
    return folder


def test_certify_takes_names_of_data_sets_alone_and_asks_before_it_opens_a_folder(
    cli: Run, model: Path, trap: Trap, tmp_path: Path
) -> None:
    folder, seen = trap
    for number, dataset in enumerate(
        (str(folder), ["digits"], {"a": "digits"}, 3, "../digits", "/etc", "digits\n")
    ):
        named = naming(model, dataset, tmp_path / str(number))
        code, _, err = cli("certify", named, "--n", 100, "--out", "a.parquet")
        assert (
            code == 2
            and "the model names the data set" in err
            and "not opened unasked" in err
        ), dataset
        assert "give it yourself" in err or dataset != str(folder)
    assert seen == [] and not Path("a.parquet").exists()
    code, _, err = cli(
        "certify", tmp_path / "0", "--dataset", folder, "--n", 100, "--out", "a.parquet"
    )
    assert code == 0 and seen, err


def test_attack_and_compare_do_not_follow_a_table(
    cli: Run, model: Path, trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, seen = trap
    cli.done(
        "certify", model, "--take", 4, "--n", 1000, "--out", tmp_path / "a.parquet"
    )
    table = read(tmp_path / "a.parquet")
    monkeypatch.chdir(folder.parent)
    for dataset in (
        str(folder),
        "trap",
    ):  # by its path, and by a name that is one in the current folder
        write_parquet(
            replace(table, header=table.header.model_copy(update={"dataset": dataset})),
            Path("b.parquet"),
        )
        code, _, err = cli("attack", model, "b.parquet")
        assert code == 2 and "not opened unasked" in err
        told = cli(
            "compare", "b.parquet", "--pictures", "--out", f"{len(dataset)}.html"
        )
        assert told.code == 0 and "is not the name of a data set" in told.err
    assert seen == []


def test_resume_asks_the_teacher_that_the_user_names(
    model: Path, trap: Trap, tmp_path: Path
) -> None:
    folder, seen = trap
    settings = {
        "variant": "released",
        "teacher": str(model),
        "teacher_noises": 8,
        "T": 1,
    }
    chosen = TrainingSettings(
        method="cat-rs", sigma=0.25, epochs=1, take=64, set=settings
    )
    train("digits", chosen, out=tmp_path / "run")
    path = tmp_path / "run" / "checkpoint.pt"
    found = checkpoint.load(path)
    found.recipe["hyperparameters"]["teacher"] = str(folder)
    checkpoint.write_signed(path, dict(found))
    (tmp_path / "run" / "run.yaml").write_text(
        f"verb: train\nset: {{teacher: {folder}}}\n"
    )
    whole = models.load(tmp_path / "run")
    whole.provenance = whole.provenance | {"hyperparameters": {"teacher": str(folder)}}
    models.save(whole, tmp_path / "run")
    again = train("digits", chosen, out=tmp_path / "run", resume=True)
    assert all(
        torch.equal(a, b)
        for a, b in zip(again.parameters(), whole.parameters(), strict=True)
    )
    assert seen == []
