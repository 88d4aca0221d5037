"""Checkpoints: read as they were written, or refused by name; damage of all kinds, and strangers' files."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from randsmooth import models
from randsmooth.errors import InputError
from randsmooth.training import TrainingSettings, checkpoint, train
from randsmooth.training.folder import CHECKPOINT

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
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        real = checkpoint.save

        def save(content: checkpoint.Checkpoint, path: Path) -> None:
            real(content, path)
            if content["epoch"] == 2:
                raise Stop

        patch.setattr("randsmooth.training.loop.save", save)
        with pytest.raises(Stop):
            train("digits", SETTINGS, out=folder)
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


def same(one: object, other: object) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one, other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return isinstance(other, list | tuple) and len(one) == len(other) and all(map(same, one, other))
    return one == other


def test_it_is_read_as_written_and_stays_a_file_of_torch(path: Path) -> None:
    found = checkpoint.load(path)
    assert found["epoch"] == 2 and len(found["history"]) == 2
    assert same(found, plain(path.read_bytes()))
    assert zipfile.ZipFile(path).comment.startswith(b"randsmooth sha256:")
    assert checkpoint.check(path) == ("checkpoint: amplify after 2 epochs, all numbers finite; it is as it was written")


def test_one_without_its_digest_is_refused(path: Path, written: bytes) -> None:
    for content in (
        unsigned(plain(written)),
        written[:-1],
        written[: -checkpoint.TAIL],
        written + b"\0",
        written.replace(b"smooth", b"smoooh"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"checkpoint.pt is damaged .*digest"):
            checkpoint.load(path)


def flips(path: Path, count: int, seed: int) -> int:
    """How many of `count` damaged copies of a checkpoint are read; a bit, a run of bytes or a swap of two each."""
    rng = random.Random(seed)
    content, read = path.read_bytes(), 0
    for number in range(count):
        changed = bytearray(content)
        at, to = sorted(rng.randrange(len(content)) for _ in range(2))
        if number % 3 == 0:
            changed[at] ^= 1 << rng.randrange(8)
        elif number % 3 == 1:
            changed[at : at + 8] = rng.randbytes(len(changed[at : at + 8]))
        else:
            changed[at], changed[to] = changed[to], changed[at]
        path.write_bytes(changed)
        try:
            checkpoint.load(path)
        except InputError as error:
            assert str(path) in str(error)
        else:
            read += changed != content
    return read


def test_no_damage_is_read(path: Path) -> None:
    assert flips(path, 300, seed=0) == 0


@pytest.mark.slow
def test_none_of_thousands_of_damages_is_read(path: Path) -> None:
    assert flips(path, 5000, seed=1) == 0


def test_damage_under_a_digest_of_its_own_is_an_input_error_at_worst(path: Path) -> None:
    whole = unsigned(plain(path.read_bytes()))
    names = zipfile.ZipFile(io.BytesIO(whole)).getinfo("archive/data.pkl")
    rng = random.Random(2)
    for _ in range(300):
        changed = bytearray(whole)
        changed[names.header_offset + rng.randrange(names.file_size)] ^= 1 << rng.randrange(8)
        path.write_bytes(checkpoint._signed(bytes(changed)))
        try:
            found = checkpoint.load(path)
        except InputError:
            continue
        assert found.keys() == checkpoint.Checkpoint.__required_keys__


def deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


def doubled(times: int) -> list[Any]:
    """As small a file as `times` is, and 2^times values."""
    value: list[Any] = []
    for _ in range(times):
        value = [value, value]
    return value


FIELDS = {
    "epoch a word": ({"epoch": "2"}, "epoch=2 is not the number"),
    "epoch true": ({"epoch": True}, "epoch=True"),
    "epoch far": ({"epoch": 10**12}, "epoch=1000000000000"),
    "epoch negative": ({"epoch": -1}, "epoch=-1"),
    "history": ({"history": [1, 2]}, "history"),
    "history of words": ({"history": [{"a": "b"}] * 2}, "history"),
    "model": ({"model": [1]}, "its model is not a dictionary with text keys"),
    "model of words": ({"model": {"a": "b"}}, "something other than tensors"),
    "optimizer": ({"optimizer": 3}, "its optimizer is not a dictionary with text keys"),
    "schedule": ({"schedule": None}, "its schedule is not a dictionary with text keys"),
    "recipe": ({"recipe": {"dataset": "digits"}}, "recipe: epochs: Field required"),
    "deep": ({"schedule": {"kept": deep(50)}}, "deeper than 8"),
    "doubled": ({"schedule": {"kept": doubled(7), "weights": [doubled(5)] * 10**5}}, "more than 1,000,000 values"),
    "bytes": ({"schedule": {"kept": bytearray(3)}}, "it holds a bytearray\\)"),
    "text": ({"recipe": {"dataset": "d" * 10_001}}, "a text of 10,001"),
    "expanded": ({"schedule": {"kept": torch.ones(1).expand(10**12)}}, "not stored whole"),
    "sparse": ({"schedule": {"kept": torch.eye(3).to_sparse()}}, "not stored whole"),
    "meta": ({"schedule": {"kept": torch.ones(10**9, device="meta")}}, "not stored whole"),
    "not finite": ({"schedule": {"weights": torch.tensor([1.0, float("nan")])}}, "holds NaN or infinity"),
}


@pytest.mark.parametrize("case", FIELDS)
def test_a_field_of_another_kind_is_named(case: str, path: Path) -> None:
    change, message = FIELDS[case]
    path.write_bytes(checkpoint._signed(unsigned(plain(path.read_bytes()) | change)))
    with pytest.raises(InputError, match=rf"checkpoint.pt is damaged.*{message}"):
        checkpoint.load(path)


def test_a_file_of_torch_that_is_no_checkpoint_is_named(path: Path) -> None:
    for content in ({"epoch": 1}, [1], torch.ones(3)):
        path.write_bytes(checkpoint._signed(unsigned(content)))
        with pytest.raises(InputError, match=r"no checkpoint of randsmooth: it lacks .*history.*"):
            checkpoint.load(path)


def test_an_archive_larger_than_its_file_is_not_unpacked(path: Path, written: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb, zipfile.ZipFile(io.BytesIO(written)) as source:
        for entry in source.infolist():
            bomb.writestr(entry.filename, source.read(entry.filename))
        bomb.writestr("archive/data/999", bytes(2**24))
    path.write_bytes(checkpoint._signed(path.read_bytes()))
    with pytest.raises(InputError, match="larger than the file"):
        checkpoint.load(path)


def test_an_entry_that_claims_to_be_larger_is_refused(path: Path, written: bytes) -> None:
    old = unsigned(plain(written))
    at = old.rindex(b"PK\x01\x02")  # the last entry of the directory: sizes lie 20 and 24 bytes on
    changed = old[: at + 20] + struct.pack("<II", 2**31, 2**31) + old[at + 28 :]
    path.write_bytes(checkpoint._signed(changed))
    with pytest.raises(InputError, match=r"checkpoint.pt is damaged"):
        checkpoint.load(path)


def momenta(content: dict[str, Any], change: dict[Any, Any]) -> dict[str, Any]:
    return {"optimizer": content["optimizer"] | {"state": content["optimizer"]["state"] | change}}


MISFITS: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "names": (lambda c: {"model": {f"x{name}": t for name, t in c["model"].items()}}, "its weights have other names"),
    "types": (
        lambda c: {"model": {n: t.double() for n, t in c["model"].items()}},
        r"is torch.float64 \(.*, not torch.f",
    ),
    "shapes": (lambda c: {"model": {n: t[None] for n, t in c["model"].items()}}, r"is torch.float32 \(1, "),
    "no state": (lambda c: {"optimizer": {}}, "optimiser's state"),
    "state by name": (lambda c: momenta(c, {"a": {}}), "optimiser's state"),
    "state beyond": (lambda c: momenta(c, {999: {}}), "optimiser's state"),
    "another optimiser": (lambda c: momenta(c, {0: {"exp_avg": torch.ones(3)}}), "is not SGD"),
    "momentum": (lambda c: momenta(c, {0: {"momentum_buffer": torch.ones(3)}}), "the momentum of parameter 0 is"),
    "a word": (lambda c: momenta(c, {0: {"momentum_buffer": "none"}}), "the momentum of parameter 0 is str"),
    "kept": (lambda c: {"schedule": {"kept": torch.ones(3, dtype=torch.bool), "weights": None}}, "of 80 images"),
    "schedule": (lambda c: {"schedule": {}}, "its schedule is another run's"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_what_does_not_fit_the_run_is_named(case: str, path: Path) -> None:
    change, message = MISFITS[case]
    content = plain(path.read_bytes())
    path.write_bytes(checkpoint._signed(unsigned(content | change(content))))
    with pytest.raises(InputError, match=rf"checkpoint.pt does not fit: .*{message}"):
        train("digits", SETTINGS, out=path.parent, resume=True)


def test_the_optimisers_settings_are_the_recipes(path: Path) -> None:
    content = plain(path.read_bytes())
    whole = train("digits", SETTINGS, out=path.parent, resume=True)
    group = content["optimizer"]["param_groups"][0] | {"maximize": True, "momentum": 0.5, "weight_decay": 9.0}
    other = content | {"optimizer": content["optimizer"] | {"param_groups": [group]}}
    path.write_bytes(checkpoint._signed(unsigned(other)))
    assert models.weights_hash(train("digits", SETTINGS, out=path.parent, resume=True)) == models.weights_hash(whole)


def test_a_changed_momentum_takes_effect(path: Path, written: bytes) -> None:
    whole = train("digits", SETTINGS, out=path.parent, resume=True)
    path.write_bytes(written)
    changed = SETTINGS.model_copy(update={"set": SETTINGS.set | {"momentum": 0.5}})
    other = train("digits", changed, out=path.parent, resume=True, accept_changes=True)
    assert models.weights_hash(other) != models.weights_hash(whole)
