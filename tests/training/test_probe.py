"""p_A is measured where the authors measure it: on images as training sees them, or on the plain ones if asked."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import Tensor, nn

from randsmooth import data, models
from randsmooth.certification.algorithm import Job, SampleRange, Steps
from randsmooth.data.images import TensorImages, augmented
from randsmooth.noise import Stream
from randsmooth.progress import Silent
from randsmooth.training import TrainingSettings, train
from randsmooth.training import probe as probes
from randsmooth.training.folder import CHECKPOINT, TEACHER
from randsmooth.training.predictions import make_probe, until_decided

CIFAR = data.DATASETS["cifar10"]
STREAM = Stream(0, "train/probe").at(3)


def images(number: int = 20) -> TensorImages:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (number, 3, 32, 32), dtype=torch.uint8, generator=generator)
    return TensorImages(CIFAR, "train", pixels, torch.arange(number) % 2)


def linear(classes: int, shape: tuple[int, ...]) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), classes))


def shown(m: int, monkeypatch: pytest.MonkeyPatch, *, augmented: bool = False) -> Tensor:
    """(20, C, H, W) the images of whose noisy copies a probe asks."""
    seen: dict[int, Tensor] = {}

    class Seen(Job[tuple[int, int]]):
        def __post_init__(self) -> None:
            super().__post_init__()
            seen[self.number] = self.x

    monkeypatch.setattr(probes, "Job", Seen)
    probe = make_probe(linear(2, (3, 32, 32)), images(), 0.5, STREAM, torch.device("cpu"))
    assert probe(torch.arange(20), m, augmented=augmented).max() <= m
    return torch.stack([seen[number] for number in range(20)])


@pytest.mark.parametrize("chunk", [256, 3])
def test_copies_are_of_one_version_that_training_could_see(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "IMAGES", chunk)
    asked, plain, split = shown(4, monkeypatch, augmented=True), shown(4, monkeypatch), images()
    for place, few in enumerate(torch.arange(20).split(chunk)):
        crop = STREAM.at(4, place, 1).torch()
        assert torch.equal(asked[few], augmented(split.pixels[few], "crop-flip", crop).float() / 255)
    moved = (asked != plain).flatten(1).any(dim=1)
    assert moved.sum() >= 17  # all but those that by chance are cut where they lay
    assert torch.equal(plain, split.pixels.float() / 255)


def test_every_question_has_crops_of_its_own_and_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    again, other = (shown(m, monkeypatch, augmented=True) for m in (16, 100))
    assert torch.equal(shown(16, monkeypatch, augmented=True), again)
    assert not torch.equal(other, again)


def all_of(name: str, label: int, m: int, enough: int) -> Steps[tuple[int, int]]:
    """As `until_decided`, but all copies are asked about."""
    first = min(enough, m - enough + 1)
    counts = yield [SampleRange(name, 0, first), SampleRange(f"{name} more", 0, m - first, probes.MORE)]
    return int(counts[:, label].sum()), m


def test_an_image_is_asked_about_until_it_is_decided_as_all_copies_decide_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On 200 digits, of p_A from 0 to 1."""
    split, model = data.load("digits").subset(torch.arange(200)), linear(10, (1, 8, 8))
    with torch.no_grad():  # a network that knows as much as the nearest mean
        x, y = split.batch(torch.arange(200))
        means = torch.stack([x[y == k].mean(dim=0) for k in range(10)]).flatten(1)
        model[1].weight.copy_(means), model[1].bias.copy_(-means.square().sum(dim=1) / 2)  # type: ignore[index]
    for m, enough in ((100, 40), (100, 75), (5, 0)):
        copies: list[int] = []
        probe = make_probe(model, split, 0.7, STREAM, torch.device("cpu"), told=copies.append)
        found = probe(torch.arange(200), m, enough=enough)
        with monkeypatch.context() as patch:
            patch.setattr(probes, "until_decided", all_of)
            every = make_probe(model, split, 0.7, STREAM, torch.device("cpu"))(torch.arange(200), m, enough=enough)
        assert torch.equal(found >= enough, every >= enough)
        assert (m, enough) != (100, 75) or 20 < (every >= enough).sum() < 180
        assert len(copies) == 200 and max(copies) <= m
        if (m, enough) == (100, 40):
            assert min(copies) >= 40 and statistics.mean(copies) < 70


def test_no_copy_is_asked_about_that_cannot_decide() -> None:
    """Whatever the answers: at most a block more than it takes one by one, and never more than m."""
    draw = random.Random(0)
    for _ in range(2_000):
        m = draw.randint(1, 60)
        enough, share = draw.randint(1, m), draw.random()
        answers = [draw.random() < share for _ in range(m)]
        steps, at, end = until_decided("a", 1, m, enough), 0, None
        asked = next(steps)
        while end is None:
            stop = at + sum(each.stop - each.start for each in asked)
            right, wrong = sum(answers[at:stop]), stop - at - sum(answers[at:stop])
            try:
                at = stop
                asked = steps.send(np.array([[wrong, right]]))
            except StopIteration as done:
                end = done.value
        needed = next(n for n in range(m + 1) if sum(answers[:n]) >= enough or n - sum(answers[:n]) > m - enough)
        assert (end[0] >= enough) == (sum(answers) >= enough)
        assert needed <= end[1] == at <= min(m, needed + probes.MORE - 1)


FLIPPED = replace(data.DATASETS["digits"], augment="crop-flip")
AMPLIFY = TrainingSettings(
    method="amplify",
    sigma=0.25,
    epochs=4,
    take=96,
    set={"E_t": 1, "reweight_every": 2, "p_t": 0.1, "T": 2, "discard_noises": 8},
)


def plainly(settings: TrainingSettings, key: str) -> TrainingSettings:
    return settings.replace(set=settings.set | {key: False})


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


class Recorder(Silent):
    """What was reported; `Cut` is raised once `left` images are done."""

    def __init__(self, left: int = 10**9) -> None:
        self.total, self.left, self.done = 0, left, 0
        self.asked, self.lines = 0, list[str]()

    @contextmanager
    def __call__(self, title: str, total: int, unit: str) -> Iterator[Recorder]:
        self.total = total
        yield self

    def advance(self, steps: int, info: str = "") -> None:
        self.done, self.asked = self.done + steps, self.asked + steps * ("asking" in info)
        if self.done >= self.left:
            raise Cut

    def skip(self, steps: int) -> None:
        self.done += steps

    def say(self, line: str) -> None:
        self.lines.append(line)


@pytest.mark.parametrize("after", [97, 2 * 96 + 1, 3 * 96 + 1])
def test_a_resumed_run_measures_the_same_crops(after: int, flipped: None, tmp_path: Path) -> None:
    whole = train("digits", AMPLIFY, out=tmp_path / "whole")
    with pytest.raises(Cut):
        train("digits", AMPLIFY, out=tmp_path / "m", progress=Recorder(left=after))
    assert models.weights_hash(train("digits", AMPLIFY, out=tmp_path / "m", resume=True)) == models.weights_hash(whole)


def test_what_is_asked_before_an_epoch_is_told_beforehand_and_reported(tmp_path: Path) -> None:
    plain, whole, first = 4 * 96, Recorder(), Recorder(left=3 * 96 + 40)
    train("digits", AMPLIFY, out=tmp_path / "whole", progress=whole)
    asked = 96 * (1 + 16) // 12 + 96 * 16 // 12  # 1 and 16 copies before epoch 1, 16 before epoch 3, in passes
    assert whole.total == whole.done == plain + asked and whole.asked > asked / 4  # some images are discarded
    assert any(f"{asked:,} images" in line for line in whole.lines)
    with pytest.raises(Cut):
        train("digits", AMPLIFY, out=tmp_path / "cut", progress=first)
    rest = Recorder()
    train("digits", AMPLIFY, out=tmp_path / "cut", progress=rest, resume=True)
    assert rest.total == rest.done == whole.total
    none = Recorder()
    train("digits", sigma=0.25, epochs=1, take=96, out=tmp_path / "gaussian", progress=none)
    assert none.total == none.done == 96 and not any("asks about" in line for line in none.lines)


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
