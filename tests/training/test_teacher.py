"""CAT-RS as released: the teacher's predictions are found once, kept, resumed, and refused where they do not fit."""

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save

from randsmooth import data, models
from randsmooth.errors import InputError, Note
from randsmooth.noise import Stream, draw
from randsmooth.progress import Progress, Silent
from randsmooth.training import TrainingSettings, train
from randsmooth.training import teacher as teachers
from randsmooth.training.folder import TEACHER
from randsmooth.training.predictions import stored_predictions

NOISES, TAKE = 40, 24
DIGITS = TrainingSettings(sigma=0.5, epochs=2, take=TAKE)


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher") / "model"
    train("digits", DIGITS.model_copy(update={"sigma": 0.25, "epochs": 8, "take": 600}), out=folder)
    return folder


@pytest.fixture(scope="module")
def asked(teacher: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A teacher, and a run that has its answers."""
    run = tmp_path_factory.mktemp("asked") / "run"
    train("digits", taught(teacher), out=run)
    return teacher, run


def taught(teacher: Path, **changes: object) -> TrainingSettings:
    settings = {"variant": "released", "teacher": str(teacher), "teacher_noises": NOISES, "T": 2}
    return DIGITS.model_copy(update={"method": "cat-rs", "set": settings | changes})


def stored(folder: Path) -> tuple[torch.Tensor, dict[str, str]]:
    with safe_open(folder / TEACHER, "pt") as file:
        return file.get_tensor("counts"), file.metadata()


def test_the_predictions_are_the_teachers_counts_at_its_own_sigma(teacher: Path, tmp_path: Path) -> None:
    train("digits", taught(teacher), out=tmp_path / "m")
    counts, about = stored(tmp_path / "m")
    assert about["done"] == str(TAKE) and about["sigma"] == "0.25"
    assert counts.shape == (TAKE, 10) and (counts.sum(dim=1) == NOISES).all()
    images = data.load("digits", "train").subset(data.take(len(data.load("digits", "train")), TAKE))
    x, y = images.batch(torch.arange(TAKE))
    noise = draw((NOISES, *x.shape[1:]), 0.25, stream=Stream(0, "train/teacher").at(5).at(0))
    with torch.inference_mode():
        expected = models.load(teacher)(x[5] + noise).argmax(dim=1).bincount(minlength=10)
    assert torch.equal(counts[5], expected)
    assert (counts.argmax(dim=1) == y).float().mean() > 0.5  # the teacher has learnt something


class Cut(Exception):
    pass


def cutting_after(images: int, where: str = "") -> Progress:
    @contextmanager
    def progress(title: str, total: int, unit: str) -> Iterator[Silent]:
        class Reporter(Silent):
            left = images if where in title else 10**9

            def advance(self, steps: int, info: str = "") -> None:
                self.left -= steps
                if self.left <= 0:
                    raise Cut

        yield Reporter()

    return progress


def test_a_cut_question_goes_on_where_it_was(teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train("digits", taught(teacher), out=tmp_path / "whole")
    with monkeypatch.context() as patch, pytest.raises(Cut):
        patch.setattr(teachers, "SAVE_EVERY", 0.0)
        train("digits", taught(teacher), out=tmp_path / "m", progress=cutting_after(10))
    assert stored(tmp_path / "m")[1]["done"] == "9"
    resumed = train("digits", taught(teacher), out=tmp_path / "m", resume=True)
    assert torch.equal(stored(tmp_path / "m")[0], stored(tmp_path / "whole")[0])
    assert models.weights_hash(resumed) == models.weights_hash(whole)


def test_an_answered_teacher_is_not_asked_again(teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train("digits", taught(teacher), out=tmp_path / "m")
    monkeypatch.setattr(teachers.SmoothedTeacher, "_count", lambda *_: pytest.fail("asked again"))
    train("digits", taught(teacher, lbd=0.5), out=tmp_path / "m", overwrite=True)


def test_another_question_is_asked_anew(teacher: Path, tmp_path: Path) -> None:
    train("digits", taught(teacher), out=tmp_path / "m")
    train("digits", taught(teacher, teacher_noises=NOISES + 1), out=tmp_path / "m", overwrite=True)
    assert (stored(tmp_path / "m")[0].sum(dim=1) == NOISES + 1).all()


def test_a_run_resumes_with_the_teacher_it_began_with(teacher: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(teacher, tmp_path / "moved"))
    whole = train("digits", taught(teacher), out=tmp_path / "whole")
    with pytest.raises(Cut):
        train("digits", taught(teacher), out=tmp_path / "m", progress=cutting_after(TAKE + 1, "train"))
    other = tmp_path / "other"
    train("digits", DIGITS.model_copy(update={"sigma": 0.25, "seed": 7}), out=other)
    with pytest.raises(InputError, match=r"weights of teacher: 'sha256:\w{12}' in the file, 'sha256:\w{12}' asked for"):
        train("digits", taught(other), out=tmp_path / "m", resume=True)
    resumed = train("digits", taught(moved), out=tmp_path / "m", resume=True)
    assert models.weights_hash(resumed) == models.weights_hash(whole)


def test_another_method_leaves_no_answers_behind(teacher: Path, tmp_path: Path) -> None:
    train("digits", taught(teacher), out=tmp_path / "m")
    train("digits", DIGITS, out=tmp_path / "m", overwrite=True)
    assert not (tmp_path / "m" / TEACHER).exists()


def forged(path: Path, counts: torch.Tensor | None = None, signed: bool = False, **facts: str) -> None:
    """Other answers, or facts about them, under the digest of the right ones or, `signed`, of their own."""
    there, about = stored(path.parent)
    counts, facts = there if counts is None else counts, {k: v for k, v in about.items() if k != "digest"} | facts
    digest = teachers._digest(counts, facts) if signed else about["digest"]
    path.write_bytes(save({"counts": counts}, metadata=facts | {"digest": digest}))


def stray(counts: torch.Tensor) -> torch.Tensor:
    """One answer given to another class."""
    counts = counts.clone()
    counts[3, counts[3].argmax()] -= 1
    counts[3, counts[3].argmin()] += 1
    return counts


DAMAGES: dict[str, tuple[Callable[[Path, torch.Tensor], object], str]] = {
    "no file of tensors": (lambda path, counts: path.write_bytes(b"nothing of the kind"), "is damaged"),
    "empty": (lambda path, counts: path.write_bytes(b""), "is damaged"),
    "cut": (lambda path, counts: path.write_bytes(path.read_bytes()[:-8]), "is damaged"),
    "one answer": (lambda path, counts: forged(path, stray(counts)), "its digest is missing or differs"),
    "fewer done": (lambda path, counts: forged(path, done="5"), "its digest is missing or differs"),
    "signed, too large": (lambda path, counts: forged(path, counts * 2, signed=True), "cannot come from 40 answers"),
    "signed, negative": (lambda path, counts: forged(path, counts - 4, signed=True), "cannot come from 40 answers"),
    "signed, floats": (lambda path, counts: forged(path, counts.float(), signed=True), "holds no counts"),
    "signed, flat": (lambda path, counts: forged(path, counts[0], signed=True), "holds no counts"),
    "signed, done a word": (lambda path, counts: forged(path, signed=True, done="all"), "holds no counts"),
    "signed, done too many": (lambda path, counts: forged(path, signed=True, done="99"), "holds no counts"),
    "signed, done fewer": (lambda path, counts: forged(path, signed=True, done="5"), "cannot come from 40 answers"),
    "signed, n without end": (lambda path, counts: forged(path, signed=True, n="9" * 5000), "holds no counts"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_damaged_answers_are_named_and_found_anew(case: str, asked: tuple[Path, Path], tmp_path: Path) -> None:
    teacher, run = asked
    shutil.copytree(run, tmp_path / "m")
    path, (right, _) = tmp_path / "m" / TEACHER, stored(run)
    damage, message = DAMAGES[case]
    damage(path, right)
    with pytest.raises(InputError, match=rf"teacher.safetensors.*{message}"):
        stored_predictions(tmp_path / "m")
    with pytest.warns(Note, match=rf"teacher.safetensors .*{message}.*, so the teacher is asked anew"):
        train("digits", taught(teacher), out=tmp_path / "m", overwrite=True)
    assert torch.equal(stored(tmp_path / "m")[0], right)


def test_no_flipped_bit_of_the_answers_is_used(asked: tuple[Path, Path], tmp_path: Path) -> None:
    path, rng = tmp_path / TEACHER, random.Random(0)
    whole = (asked[1] / TEACHER).read_bytes()
    (tmp_path / TEACHER).write_bytes(whole)
    right = stored_predictions(tmp_path)
    assert right is not None
    for _ in range(400):
        changed = bytearray(whole)
        changed[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            found = stored_predictions(tmp_path)
            assert found is not None and torch.equal(found, right)  # a blank of the header
        except InputError as error:
            assert str(path) in str(error)


def test_a_teacher_made_for_other_data_is_refused(teacher: Path, tmp_path: Path) -> None:
    model = models.load(teacher)
    other = tmp_path / "other"
    classes = [{"3": "three"}.get(name, name) for name in model.classes]
    models.save(models.Classifier(**model.config | {"classes": classes}), other)
    with pytest.raises(InputError, match=r"teacher=.*made for digits, and its class 3 is 'three', not '3' as in d"):
        train("digits", taught(other), out=tmp_path / "m")
    with pytest.raises(InputError, match=r"its images have the shape \(1, 8, 8\), not \(1, 28, 28\) as in mnist"):
        train("mnist", taught(teacher), out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_teacher_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"teacher: .*nowhere"):
        train("digits", taught(tmp_path / "nowhere"), out=tmp_path / "m")
