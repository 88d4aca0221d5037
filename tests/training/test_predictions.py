"""What models predict for noisy copies of training images: p_A as training sees them, and a teacher's answers."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from randsmooth import data, models
from randsmooth.data.augmentation import Draws, augmented
from randsmooth.data.images import TensorImages
from randsmooth.errors import Problem
from randsmooth.noise import Gaussian, Stream, draw
from randsmooth.training import TrainingSettings, predictions, train
from randsmooth.training.checkpoint import read_signed, write_signed
from randsmooth.training.devices import ALONE
from randsmooth.training.folder import TEACHER
from randsmooth.training.predictions import Answers, ModelProbe, stored_predictions
from training.test_devices import together
from training.test_loop import Interrupted, stopping_after
from values import noted

STREAM = Stream(0, "train/probe").at(3)
CPU = torch.device("cpu")


def images(number: int = 50) -> TensorImages:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(
        0, 256, (number, 3, 32, 32), dtype=torch.uint8, generator=generator
    )
    return TensorImages(
        data.DATASETS["cifar10"], "train", pixels, torch.arange(number) % 2
    )


def test_a_probe_counts_right_answers_on_copies_of_versions_that_training_could_see(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(predictions, "IMAGES_AT_ONCE", 20)
    torch.manual_seed(0)
    split, model = images(), nn.Sequential(nn.Flatten(), nn.Linear(3072, 2))
    probe = ModelProbe(model, split, Gaussian(0.5), STREAM, CPU)
    for cut in (False, True):
        expected = torch.zeros(50, dtype=torch.int64)
        for chunk, some in enumerate(torch.arange(50).split(20)):
            crop = STREAM.at(16, 1, chunk).torch()
            x = (
                augmented(split.pixels[some], "crop-flip", Draws(crop))
                if cut
                else split.pixels[some]
            ).float() / 255
            for copy in range(16):
                noise = draw(tuple(x.shape), 0.5, stream=STREAM.at(16, 0, chunk, copy))
                expected[some] += (model(x + noise).argmax(dim=1) == some % 2).long()
        assert (
            torch.equal(probe(torch.arange(50), 16, augmented=cut), expected)
            and len(expected.unique()) > 5
        )
        model.eval().requires_grad_(
            False
        )  # what `frozen` would set and give back at different times in two threads

        def probed(ranks: Any, cut: bool = cut) -> Tensor:
            return ModelProbe(model, split, Gaussian(0.5), STREAM, CPU, ranks)(
                torch.arange(50), 16, augmented=cut
            )

        assert all(torch.equal(found, probed(ALONE)) for found in together(3, probed))


class Asked:
    """A hook that counts the images that a network answers."""

    copies = 0

    def __call__(self, network: nn.Module, given: object, answers: Tensor) -> None:
        self.copies += len(answers)


def test_an_image_is_asked_about_until_it_is_decided_as_all_copies_decide_it() -> None:
    """On 200 digits of p_A from 0 to 1, beside a probe of all copies; whose p_A is clear takes the fewest there are."""
    split, model = (
        data.load("digits").subset(torch.arange(200)),
        nn.Sequential(nn.Flatten(), nn.Linear(64, 10)),
    )
    with torch.no_grad():  # a network that knows as much as the nearest mean
        x, y = split.batch(torch.arange(200))
        means = torch.stack([x[y == k].mean(dim=0) for k in range(10)]).flatten(1)
        (
            model[1].weight.copy_(means),  # type: ignore[operator]
            model[1].bias.copy_(-means.square().sum(dim=1) / 2),  # type: ignore[operator]
        )
    for m, enough in ((100, 40), (100, 75), (5, 0)):
        probe, asked = ModelProbe(model, split, Gaussian(0.7), STREAM, CPU), Asked()
        with model.register_forward_hook(asked):
            found = probe(torch.arange(200), m, enough=enough)
        mean = asked.copies / 200
        every = probe(torch.arange(200), m)
        assert torch.equal(found >= enough, every >= enough)
        decided = torch.where(every >= enough, found, m - enough + 1)
        assert (found[every >= enough] == enough).all() and (decided <= m).all()
        if enough:
            assert (
                20 < (every >= enough).sum() < 200
                and min(enough, m - enough + 1) <= mean < 0.8 * m
            ), mean
        else:
            assert mean == 0


NOISES, TAKE = 40, 24
DIGITS = TrainingSettings(sigma=0.5, epochs=2, take=TAKE)


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher") / "model"
    train(
        "digits",
        DIGITS.replace(sigma=0.25, epochs=8, take=600),
        out=folder,
    )
    return folder


@pytest.fixture(scope="module")
def asked(teacher: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has the teacher's answers."""
    run = tmp_path_factory.mktemp("asked") / "run"
    train("digits", taught(teacher), out=run)
    return run


def taught(teacher: Path, **changes: object) -> TrainingSettings:
    settings = {
        "variant": "released",
        "teacher": str(teacher),
        "teacher_noises": NOISES,
        "T": 2,
    }
    return DIGITS.model_copy(update={"method": "cat-rs", "set": settings | changes})


def stored(folder: Path) -> Answers:
    return read_signed(folder / TEACHER, Answers)


def test_the_predictions_are_the_teachers_counts_at_its_own_sigma(
    teacher: Path, asked: Path
) -> None:
    answers = stored(asked)
    counts = answers.counts
    assert answers.done == TAKE and answers.about["sigma"] == "0.25"
    assert counts.shape == (TAKE, 10) and (counts.sum(dim=1) == NOISES).all()
    split = data.load("digits", "train")
    x, y = split.subset(data.take(len(split), TAKE)).batch(torch.arange(TAKE))
    noise = draw(
        (NOISES, *x.shape[1:]), 0.25, stream=Stream(0, "train/teacher").at(5).at(0)
    )
    with torch.inference_mode():
        expected = (
            models.load(teacher)(x[5] + noise).argmax(dim=1).bincount(minlength=10)
        )
    assert torch.equal(counts[5], expected)
    assert (
        counts.argmax(dim=1) == y
    ).float().mean() > 0.5  # the teacher has learnt something


def test_a_cut_question_goes_on_where_it_was_and_is_asked_once(
    teacher: Path, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(predictions, "SECONDS_BETWEEN_SAVES", 0.0)
        train(
            "digits", taught(teacher), out=tmp_path / "m", progress=stopping_after(10)
        )
    assert stored(tmp_path / "m").done == 9
    resumed = train("digits", taught(teacher), out=tmp_path / "m", resume=True)
    assert torch.equal(stored(tmp_path / "m").counts, stored(asked).counts)
    assert models.weights_hash(resumed) == models.weights_hash(models.load(asked))
    with monkeypatch.context() as patch:
        patch.setattr(
            predictions.SmoothedTeacher, "_count", lambda *_: pytest.fail("asked again")
        )
        train("digits", taught(teacher, lbd=0.5), out=tmp_path / "m", overwrite=True)
    train(
        "digits",
        taught(teacher, teacher_noises=NOISES + 1),
        out=tmp_path / "m",
        overwrite=True,
    )
    assert (stored(tmp_path / "m").counts.sum(dim=1) == NOISES + 1).all()
    train("digits", DIGITS, out=tmp_path / "m", overwrite=True)
    assert not (
        tmp_path / "m" / TEACHER
    ).exists()  # another method leaves no answers behind


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no file of tensors": lambda path: path.write_bytes(b"nothing of the kind"),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-8]),
    "a byte": lambda path: path.write_bytes(
        path.read_bytes().replace(b"sigma", b"sigme", 1)
    ),
    "no answers": lambda path: write_signed(path, {"counts": torch.ones(3)}),
}


def test_damaged_answers_are_named_and_found_anew(
    teacher: Path, asked: Path, tmp_path: Path
) -> None:
    for damage in DAMAGES.values():
        path = (
            Path(shutil.copytree(asked, tmp_path / "m", dirs_exist_ok=True)) / TEACHER
        )
        damage(path)
        with pytest.raises(Problem, match=TEACHER):
            stored_predictions(tmp_path / "m")
        with noted("teacher_asked_anew"):
            train("digits", taught(teacher), out=tmp_path / "m", overwrite=True)
        assert torch.equal(stored(tmp_path / "m").counts, stored(asked).counts)


def test_a_teacher_made_for_other_data_or_none_is_refused(
    teacher: Path, tmp_path: Path
) -> None:
    model = models.load(teacher)
    classes = [{"3": "three"}.get(name, name) for name in model.classes]
    models.save(
        models.Classifier(**model.config | {"classes": classes}), tmp_path / "other"
    )
    for dataset, folder, words in (
        ("digits", tmp_path / "other", "'three'"),
        ("mnist", teacher, "[1, 28, 28]"),
        ("digits", tmp_path / "nowhere", "teacher: "),
    ):
        with pytest.raises(Problem) as refused:
            train(dataset, taught(folder), out=tmp_path / "m")
        assert words in str(refused.value)
    assert not (tmp_path / "m").exists()
