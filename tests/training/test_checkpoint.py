"""Checkpoints: read as they were written, or refused by name; damage of all kinds, and strangers' files."""

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from randsmooth import models
from randsmooth.errors import OVERWRITE, OutputExists, Problem, WrongFile
from randsmooth.training import TrainingSettings, checkpoint, train
from randsmooth.training.folder import CHECKPOINT
from values import refused

TAKE = 80
SETTINGS = TrainingSettings(
    sigma=0.25,
    epochs=3,
    take=TAKE,
    method="amplify",
    set={"E_t": 1, "discard_noises": 4, "p_t": 0.1, "attack": False},
)


class Stop(Exception):
    """Ends a run after its second epoch."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A checkpoint of two epochs of three, with momenta and a schedule that has discarded images."""

    def stop(row: dict[str, float], model: models.Classifier) -> None:
        if row["epoch"] == 1:
            raise Stop

    folder = tmp_path_factory.mktemp("run")
    with pytest.raises(Stop):
        train("digits", SETTINGS, out=folder, callback=stop)
    return (folder / CHECKPOINT).read_bytes()


@pytest.fixture
def path(written: bytes, tmp_path: Path) -> Path:
    (tmp_path / CHECKPOINT).write_bytes(written)
    return tmp_path / CHECKPOINT


def unsigned(content: object) -> bytes:
    """A checkpoint without a digest."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def plain(content: bytes) -> Any:
    return torch.load(io.BytesIO(content), weights_only=True)


def check_refused(path: Path, content: bytes) -> Problem:
    """Check that a file with this `content` is refused by its name, with the way out; and return the problem."""
    path.write_bytes(content)
    with refused(WrongFile, file=path) as caught:
        checkpoint.load(path)
    assert caught.problem.settings_in_fix == (OVERWRITE,)
    return caught.problem


def test_it_is_read_as_written_and_stays_a_file_of_torch(path: Path) -> None:
    found, content = checkpoint.load(path), plain(path.read_bytes())
    assert (
        found.epoch == 2
        and found.history == content["history"]
        and len(found.history) == 2
    )
    assert found.recipe == content["recipe"] and type(found.model) is dict
    torch.testing.assert_close(found.model, dict(content["model"]), rtol=0, atol=0)
    assert (
        checkpoint.check(path)
        == "checkpoint: amplify after 2 epochs, all numbers finite; it is as it was written"
    )


def test_no_damage_is_read(path: Path, written: bytes) -> None:
    rng = random.Random(0)
    for content in (
        unsigned(plain(written)),
        written[:-1],
        written[: -checkpoint.TAIL],
        written + b"\0",
        b"",
    ):
        check_refused(path, content)
    for number in range(300):  # a bit, a run of bytes, or a swap of two
        changed = bytearray(written)
        at, to = sorted(rng.randrange(len(written)) for _ in range(2))
        if number % 3 == 0:
            changed[at] ^= 1 << rng.randrange(8)
        elif number % 3 == 1:
            changed[at : at + 8] = rng.randbytes(len(changed[at : at + 8]))
        else:
            changed[at], changed[to] = changed[to], changed[at]
        if changed != written:
            check_refused(path, bytes(changed))


# What a field is changed to, under a right digest, and the name that the refusal has.
FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"history": [{"a": "b"}] * 2}, "history"),
    ({"model": {"a": "b"}}, "model.a"),
    ({"recipe": {"dataset": "digits"}}, "noise"),
    ({"schedule": {"kept": torch.ones(1).expand(10**12)}}, "(1000000000000,)"),
    ({"schedule": {"weights": torch.tensor([1.0, float("nan")])}}, "(2,)"),
]


def test_a_field_of_another_kind_is_named(path: Path, written: bytes) -> None:
    for change, name in FIELDS:
        changed = checkpoint.signed(unsigned(plain(written) | change))
        problem = check_refused(path, changed)
        assert name in str(problem), change
    recipe = plain(written)["recipe"]
    recipe["hyperparameters"] |= {"eta": [["a" * 100_000]]}
    path.write_bytes(checkpoint.signed(unsigned(plain(written) | {"recipe": recipe})))
    with refused(OutputExists) as caught:
        train("digits", SETTINGS, out=path.parent, resume=True)
    assert "eta" in str(caught.problem)
    assert len(str(caught.problem)) < 2000
    others: list[object] = [{"history": []}, [1], torch.ones(3)]
    for content in others:
        check_refused(path, checkpoint.signed(unsigned(content)))


MISFITS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "names": lambda c: {"model": {f"x{name}": t for name, t in c["model"].items()}},
    "shapes": lambda c: {"model": {n: t[None] for n, t in c["model"].items()}},
    "kept": lambda c: {
        "schedule": {"kept": torch.ones(3, dtype=torch.bool), "weights": None}
    },
    "schedule": lambda c: {"schedule": {}},
}


def test_what_does_not_fit_the_run_is_named(path: Path, written: bytes) -> None:
    content = plain(written)
    for case, change in MISFITS.items():
        path.write_bytes(checkpoint.signed(unsigned(content | change(content))))
        with pytest.raises(Problem) as refused:
            train("digits", SETTINGS, out=path.parent, resume=True)
        assert f"{path} does not fit" in str(refused.value), case


def test_the_optimisers_settings_are_the_recipes(path: Path, written: bytes) -> None:
    content = plain(written)
    whole = train("digits", SETTINGS, out=path.parent, resume=True)
    group = content["optimizer"]["param_groups"][0] | {
        "maximize": True,
        "momentum": 0.5,
        "weight_decay": 9.0,
    }
    other = content | {"optimizer": content["optimizer"] | {"param_groups": [group]}}
    path.write_bytes(checkpoint.signed(unsigned(other)))
    assert models.weights_hash(
        train("digits", SETTINGS, out=path.parent, resume=True)
    ) == models.weights_hash(whole)
    path.write_bytes(written)
    changed = SETTINGS.model_copy(update={"set": SETTINGS.set | {"momentum": 0.5}})
    other = train("digits", changed, out=path.parent, resume=True, accept_changes=True)
    assert models.weights_hash(other) != models.weights_hash(whole)
