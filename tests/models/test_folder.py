"""Model folders: bit-equal round trips, nothing half-written that loads, every damage named."""

import hashlib
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from models.refusing import check_refusals, problem_of, refusal
from randsmooth.errors import BadValue, NotFound, WrongFile, WrongModel
from randsmooth.escape import markdown
from randsmooth.models import (
    Classifier,
    Denoiser,
    check_folder,
    folder,
    hub_files,
    load,
    load_denoiser,
    save,
    weights_hash,
)
from randsmooth.noise import (
    Ablation,
    Gaussian,
    GaussianPerCoordinate,
    HoldingFixed,
    Laplace,
    Noise,
    Splitting,
    Uniform,
)
from values import Refusal

PROVENANCE = {
    "dataset": "cifar10",
    "sigma": 0.25,
    "method": "consistency",
    "hyperparameters": {"lbd": 20, "eta": 0.5},
    "versions": {"randsmooth": "0.1.0", "torch": "2.13.0"},
}
SHAPE: dict[str, Any] = {"classes": ["cat", "dog", "owl"], "shape": [3, 32, 32]}
NORMALISED: dict[str, Any] = {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.2, 0.1]}


def _model(seed: int = 0) -> Classifier:
    torch.manual_seed(seed)
    return Classifier(arch="resnet8", **SHAPE, **NORMALISED, provenance=PROVENANCE)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    save(_model(), tmp_path_factory.mktemp("model") / "m")
    return Path(tmp_path_factory.getbasetemp()) / "model0" / "m"


@pytest.fixture
def saved(once: Path, tmp_path: Path) -> Path:
    """A folder of its own for each test."""
    return Path(shutil.copytree(once, tmp_path / "model"))


def test_round_trip_is_bit_equal_and_what_was_checked_is_said(tmp_path: Path) -> None:
    model = _model()
    model(
        torch.rand(8, 3, 32, 32)
    )  # batch-norm statistics that are not the initial ones
    save(model.to(memory_format=torch.channels_last), tmp_path / "new" / "model")  # type: ignore[call-overload]
    state = torch.get_rng_state()
    back = load(str(tmp_path / "new" / "model"))
    assert torch.equal(torch.get_rng_state(), state)
    x = torch.rand(4, 3, 32, 32)
    assert (
        not back.training
        and back.config == model.config
        and weights_hash(back) == weights_hash(model)
    )
    torch.testing.assert_close(back(x), model.eval()(x))
    vouched = "configuration and weights are as they were saved"
    said = f"model folder: classifier resnet8, 78,268 finite numbers that fit it; {vouched}"
    assert check_folder(tmp_path / "new" / "model") == said
    files = list((tmp_path / "new" / "model").iterdir())
    assert {path.name for path in files} == {
        "config.json",
        "model.safetensors",
        "README.md",
    }
    assert len({path.stat().st_mode for path in files}) == 1
    saved, other = tmp_path / "new" / "model", _model(seed=1)
    (saved / "log.txt").write_text("kept")
    other.provenance = {"sigma": 1.0, "resize": None, "changed": {}, "compile": False}
    save(other, saved)  # again, which replaces the model and its card, and nothing else
    assert weights_hash(load(saved)) == weights_hash(other)
    card = (saved / "README.md").read_text()
    assert "sigma = 1.0" in card
    # Settings that were not given have no row.
    assert "| compile | no |" in card
    assert "resize" not in card and "changed" not in card
    assert (saved / "log.txt").read_text() == "kept"


def test_a_kill_between_the_renames_leaves_nothing_that_loads(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, moved = Path.replace, 0
    for killed_at in range(3):
        save(_model(), saved)

        def replace(path: Path, target: Path, at: int = killed_at) -> Path:
            nonlocal moved
            if target.parent == saved and moved == at:
                raise KeyboardInterrupt
            moved += target.parent == saved
            return real(path, target)

        moved = 0
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(Path, "replace", replace)
            save(_model(seed=1), saved)
        message = refusal(lambda: load(saved))
        assert "config.json is missing" in message and "interrupted" in message


def test_the_card_tells_what_it_is_and_how_to_certify(tmp_path: Path) -> None:
    clean, noise = (
        {"sigma": 0.0, "dataset": "|a|"},
        {"sigma": 0.25, "dataset": "digits"},
    )
    many = Classifier(
        arch="resnet8", shape=[3, 32, 32], classes=[f"c{k}" for k in range(30)]
    )
    cards: list[tuple[Any, str]] = [
        (
            _model(),
            "resnet8 on cifar10 | logits are not certified | cat, dog, owl | sigma = 0.25 | lbd 20, eta 0.5",
        ),
        (
            _model(),
            "SmoothedClassifier(model, sigma=0.25) | randsmooth certify FOLDER | \n| method | consistency |",
        ),
        (many, "is not recorded | does not normalise | and 10 more"),
        (
            Classifier(arch="resnet8", **SHAPE, provenance=clean),
            r"It never saw noise | sigma=SIGMA | on \|a\|",
        ),
        (
            Denoiser(channels=1, arch="dncnn-4x3", provenance=noise),
            "dncnn-4x3 on digits | denoiser",
        ),
    ]
    for model, said in cards:
        text = folder.card(model)
        assert [phrase for phrase in said.split(" | ") if phrase not in text] == [], (
            text
        )


@pytest.mark.parametrize(
    "noise",
    [
        Uniform(0.6),
        Laplace(0.3),
        Splitting(0.5),
        Ablation(45),
        GaussianPerCoordinate(np.full((3, 32, 32), 0.5)),
        HoldingFixed(Gaussian(0.5), (1,), ("city",)),
    ],
    ids=lambda noise: type(noise).__name__,
)
def test_the_card_tells_the_noise_that_a_model_was_trained_under(noise: Noise) -> None:
    trained = {"noise": noise.facts(), "dataset": "digits"}
    card = folder.card(Classifier(arch="resnet8", **SHAPE, provenance=trained))
    assert f"{markdown(noise.text)}: {noise.summary}\n" in card
    assert 'noise=model.provenance["noise"]' in card
    assert "sigma" not in card


def rewrite(path: Path, **changes: object) -> None:
    """Edit a config.json and sign it anew, as only somebody who knows the format can."""
    config = json.loads(path.read_text()) | changes
    del config["digest"]
    path.write_text(json.dumps(config | {"digest": folder._digest(config)}))


def rewrite_weights(model: Path, change: Callable[[Path], object]) -> None:
    change(model / "model.safetensors")
    digest = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    rewrite(model / "config.json", weights=f"sha256:{digest}")


def infinite(path: Path) -> None:
    weights = load_file(path)
    weights["network.fc.bias"][0] = torch.inf
    save_file(weights, path)


def _config(**changes: object) -> Callable[[Path], object]:
    return lambda model: rewrite(model / "config.json", **changes)


DAMAGE: list[tuple[Callable[[Path], object], Refusal]] = [
    (lambda p: (p / "config.json").unlink(), Refusal(NotFound, "config.json")),
    (
        lambda p: (p / "config.json").write_text('{"arch":'),
        Refusal(WrongFile, "config.json"),
    ),
    (
        lambda p: (p / "config.json").write_text("[" * 100_000),
        Refusal(WrongFile, "config.json"),
    ),
    (_config(later=1), Refusal(WrongFile, "config.json", "'later'")),
    (_config(arch="resnet9"), Refusal(WrongFile, "config.json", "resnet9")),
    (_config(arch="lenet", shape=[3, 16384, 16384]), Refusal(WrongFile)),
    (_config(shape=[3, 10**9, 10**9]), Refusal(WrongFile, "1024", "16384")),
    (_config(arch="resnet14"), Refusal(WrongFile, "network.layer1.1")),
    (
        _config(classes=["a", "b"]),
        Refusal(WrongFile, "network.fc.bias", "(2,)", "(3,)"),
    ),
    (
        lambda p: rewrite_weights(p, infinite),
        Refusal(WrongFile, "'network.fc.bias'"),
    ),
    (
        lambda p: (p / "model.safetensors").unlink(),
        Refusal(NotFound, "model.safetensors"),
    ),
    (
        lambda p: (p / "model.safetensors").rename(p / "pytorch_model.bin"),
        Refusal(NotFound),
    ),
    (
        lambda p: rewrite_weights(p, lambda w: w.write_bytes(w.read_bytes()[:-100])),
        Refusal(WrongFile, "model.safetensors"),
    ),
    (
        lambda p: (p / "model.safetensors").write_bytes(b"other"),
        Refusal(WrongFile, "config.json"),
    ),
]


def test_a_damaged_folder_is_refused(once: Path, tmp_path: Path) -> None:
    for place, (damage, said) in enumerate(DAMAGE):
        damaged = Path(shutil.copytree(once, tmp_path / str(place)))
        damage(damaged)
        check_refusals([(partial(load, damaged), said)])


def test_a_config_that_is_not_as_it_was_written_is_refused(saved: Path) -> None:
    """Edits of values that fit, and mean something else."""
    whole = json.loads((saved / "config.json").read_text())
    edits: dict[str, object] = {
        "mean": [0.5, 0.4, 0.31],
        "classes": ["dog", "cat", "owl"],
    }
    edits |= {
        "provenance": PROVENANCE | {"sigma": 0.5},
        "weights": "sha256:" + "0" * 64,
        "digest": "sha256:",
    }
    for key, value in edits.items():
        (saved / "config.json").write_text(json.dumps(whole | {key: value}))
        Refusal(WrongFile, "config.json").check(problem_of(lambda: load(saved)))
    for lost in ("weights", "digest"):
        (saved / "config.json").write_text(
            json.dumps({key: whole[key] for key in whole if key != lost})
        )
        Refusal(WrongFile).check(problem_of(lambda: load(saved)))
    (saved / "config.json").write_text(
        json.dumps(dict(reversed(whole.items())))
    )  # layout and order do not matter
    assert load(saved).config == _model().config


def test_what_is_no_model_folder_is_refused(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    save(Denoiser(channels=1, arch="dncnn-3x2"), tmp_path / "denoiser")
    rows: list[tuple[Callable[[], object], Refusal]] = [
        (lambda: load(tmp_path / "none"), Refusal(NotFound)),
        (lambda: load(tmp_path / "file"), Refusal(NotFound)),
        (lambda: save(_model(), tmp_path / "file"), Refusal(BadValue)),
        (
            lambda: save(_model().half(), tmp_path / "half"),
            Refusal(WrongModel, "torch.float16", "model.float()"),
        ),
        (
            lambda: load(saved, device="gpu"),
            Refusal(BadValue, "device='gpu'", "cpu, cuda", field="device"),
        ),
        (
            lambda: load(tmp_path / "denoiser"),
            Refusal(WrongFile),
        ),
        (lambda: load_denoiser(saved), Refusal(WrongFile)),
    ]
    check_refusals(rows)


def test_a_hub_id_is_downloaded_without_any_pickle(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(repo_id: str, *, allow_patterns: list[str]) -> str:
        if repo_id == "user/none":
            raise OSError("no network\nat all")
        return (
            str(saved)
            if allow_patterns == ["config.json", "model.safetensors"]
            else "all"
        )

    monkeypatch.setattr(hub_files, "snapshot_download", download)
    assert load("user/name").arch == "resnet8"
    problem = problem_of(load, "user/none")
    Refusal(NotFound, "user/none", field="model").check(problem)
    assert problem.value == "user/none" and "network\nat" not in str(problem)
    monkeypatch.chdir(saved.parent.parent)
    near = f"{saved.parent.name}/{saved.name}"
    check_refusals(
        [
            (
                lambda: load(f"{near}x"),
                Refusal(NotFound, f"'{near}x'", f"'{near}'"),
            )
        ]
    )
