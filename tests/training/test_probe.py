"""p_A is measured where the authors measure it: on images as training sees them, or on the plain ones if asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from torch import Tensor, nn

from randsmooth import data, models
from randsmooth.data.augment import augmented
from randsmooth.data.images import TensorImages
from randsmooth.noise import Stream
from randsmooth.progress import Progress, Silent
from randsmooth.training import TrainingSettings, train
from randsmooth.training import probe as probes
from randsmooth.training.folder import CHECKPOINT, TEACHER
from randsmooth.training.probe import make_probe

CIFAR = data.DATASETS["cifar10"]
STREAM = Stream(0, "train/probe").at(3)


class Seen(nn.Module):
    """Gives class 1 to all; keeps what it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.batches.append(x.clone())
        return torch.tensor([0.0, 1.0]).repeat(len(x), 1)


def images(number: int = 20) -> TensorImages:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (number, 3, 32, 32), dtype=torch.uint8, generator=generator)
    return TensorImages(CIFAR, "train", pixels, torch.arange(number) % 2)


def shown(m: int, *, augmented: bool = False) -> Tensor:
    """(m, 20, C, H, W) what a probe without noise shows of twenty images, a chunk after the other."""
    model, split = Seen(), images()
    counts = make_probe(model, split, 0.0, STREAM, torch.device("cpu"))(torch.arange(20), m, augmented=augmented)
    assert torch.equal(counts, m * (split.labels == 1))
    return torch.cat([batch.view(m, -1, 3, 32, 32) for batch in model.batches], dim=1)


@pytest.mark.parametrize("samples", [2048, 9])  # one chunk of images, ten chunks
def test_all_copies_are_of_one_version_that_training_could_see(samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "SAMPLES", samples)
    m = 4
    asked, plain = shown(m, augmented=True), shown(m)
    assert (asked == asked[:1]).all() and (plain == plain[:1]).all()
    split = images()
    for place, chunk in enumerate(torch.arange(20).split(samples // m)):
        crop = STREAM.at(m, place, 1).torch()
        expected = augmented(split.pixels[chunk], "crop-flip", crop).float() / 255
        assert torch.equal(asked[0, chunk], expected)
    moved = (asked[0] != plain[0]).flatten(1).any(dim=1)
    assert moved.sum() >= 17  # all but those that by chance are cut where they lay
    assert torch.equal(plain[0], split.pixels.float() / 255)


def test_every_question_has_crops_of_its_own_and_the_same_again() -> None:
    again, other = shown(16, augmented=True), shown(100, augmented=True)
    assert torch.equal(shown(16, augmented=True), again)
    assert not torch.equal(other[0], again[0])


FLIPPED = replace(data.DATASETS["digits"], augment="crop-flip")
AMPLIFY = TrainingSettings(
    method="amplify",
    sigma=0.25,
    epochs=4,
    take=96,
    set={"E_t": 1, "reweight_every": 2, "p_t": 0.1, "T": 2, "discard_noises": 8},
)


def plainly(settings: TrainingSettings, key: str) -> TrainingSettings:
    return settings.having(set=settings.set | {key: False})


@pytest.fixture
def flipped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Digits that training crops and flips."""
    monkeypatch.setitem(data.DATASETS._loaded, "digits", FLIPPED)
    yield


def weights(folder: Path) -> Tensor:
    state = torch.load(folder / CHECKPOINT, weights_only=True)["schedule"]
    return state["weights"]  # type: ignore[no-any-return]


def test_amplify_discards_and_weighs_by_the_training_transform(flipped: None, tmp_path: Path) -> None:
    train("digits", AMPLIFY, out=tmp_path / "theirs")
    train("digits", plainly(AMPLIFY, "p_A_augmented"), out=tmp_path / "plain")
    assert not torch.equal(weights(tmp_path / "theirs"), weights(tmp_path / "plain"))
    assert models.load(tmp_path / "plain").provenance["hyperparameters"]["p_A_augmented"] is False
    assert models.load(tmp_path / "theirs").provenance["hyperparameters"]["p_A_augmented"] is True


def test_where_training_changes_no_image_both_are_one(tmp_path: Path) -> None:
    first = train("digits", AMPLIFY, out=tmp_path / "theirs")
    second = train("digits", plainly(AMPLIFY, "p_A_augmented"), out=tmp_path / "plain")
    assert models.weights_hash(first) == models.weights_hash(second)


class Cut(Exception):
    pass


def cut_after(left: int) -> Progress:
    class Reporter(Silent):
        def advance(self, steps: int, info: str = "") -> None:
            nonlocal left
            left -= steps
            if left <= 0:
                raise Cut

    @contextmanager
    def progress(title: str, total: int, unit: str) -> Iterator[Reporter]:
        yield Reporter()

    return progress


@pytest.mark.parametrize("after", [97, 2 * 96 + 1, 3 * 96 + 1])
def test_a_resumed_run_measures_the_same_crops(after: int, flipped: None, tmp_path: Path) -> None:
    whole = train("digits", AMPLIFY, out=tmp_path / "whole")
    with pytest.raises(Cut):
        train("digits", AMPLIFY, out=tmp_path / "m", progress=cut_after(after))
    assert models.weights_hash(train("digits", AMPLIFY, out=tmp_path / "m", resume=True)) == models.weights_hash(whole)


def test_a_teacher_is_asked_about_what_training_sees(flipped: None, tmp_path: Path) -> None:
    folder = tmp_path / "teacher"
    train("digits", TrainingSettings(sigma=0.25, epochs=3, take=200), out=folder)
    values = {"variant": "released", "teacher": str(folder), "teacher_noises": 20, "T": 1}
    asked = TrainingSettings(method="cat-rs", sigma=0.5, epochs=1, take=16, set=values)

    def answer(settings: TrainingSettings) -> tuple[Tensor, dict[str, str]]:
        train("digits", settings, out=tmp_path / "m", overwrite=True)
        with safe_open(tmp_path / "m" / TEACHER, "pt") as file:
            facts = file.metadata()
            return file.get_tensor("counts"), {key: facts[key] for key in facts if key != "digest"}

    theirs, about = answer(asked)
    plain, about_plain = answer(plainly(asked, "teacher_augmented"))  # the first answer is not taken for this one
    assert (about.pop("augment"), about_plain.pop("augment")) == ("crop-flip", "none") and about == about_plain
    assert not torch.equal(theirs, plain)
    assert torch.equal(answer(asked)[0], theirs)
