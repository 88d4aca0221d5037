"""Classes are numbered by one rule, however images come in, and a model that numbers them otherwise is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

import randsmooth as rs
from randsmooth.certification import check_fit
from randsmooth.errors import InputError
from randsmooth.models import Classifier, EstimatorModel

NUMBERS = [str(k) for k in range(12)]
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def digits() -> tuple[Tensor, NDArray[np.int64]]:
    images = rs.data.load("digits", "train")
    x, y = images.batch(rs.data.take(len(images), 400))
    return x, y.numpy()


def fitted(labels: NDArray[np.generic]) -> LogisticRegression:
    return LogisticRegression(max_iter=200).fit(digits()[0].flatten(1).numpy(), labels)


def test_an_estimators_classes_are_matched_by_name_and_else_by_number() -> None:
    """Fitted on each of these labels, and asked about data of these classes, class k gets column places[k]."""
    known: list[tuple[Sequence[object], list[str] | None, list[int] | None]] = [
        (list(range(12)), NUMBERS, list(range(12))),
        (NUMBERS, NUMBERS, list(range(12))),
        (NUMBERS, None, list(range(12))),  # sorted by the estimator as 0, 1, 10, 11, 2, ...
        ([1, 2, 10], [str(k) for k in range(1, 11)], [0, 1, 9]),
        ([1, 2, 3], [str(k) for k in range(1, 11)], [0, 1, 2]),
        ([0, 1, 2], sorted(WORDS)[:3], [0, 1, 2]),
        (["one", "two"], ["two", "one"], [1, 0]),
        (["one", "three"], ["two", "one"], None),
        ([0, 3], ["two", "one"], None),
    ]
    for labels, classes, places in known:
        x = np.arange(len(labels), dtype=float)[:, None]
        model = EstimatorModel(LogisticRegression(C=1e6, max_iter=5000).fit(x, labels))
        if places is None:
            with pytest.raises(InputError, match="was fitted with the class"):
                model.for_classes(classes or ())
            continue
        told = model if classes is None else model.for_classes(classes)
        answered = told.answer(torch.from_numpy(x).float()[..., None, None]).argmax(dim=1)
        assert answered.tolist() == places, (labels, classes)


def test_a_model_whose_names_stand_under_other_numbers_is_refused(tmp_path: Path) -> None:
    shape = (1, 8, 8)
    for name in WORDS:
        (tmp_path / "folders" / name).mkdir(parents=True)
        Image.new("L", (8, 8)).save(tmp_path / "folders" / name / "1.png")
    folders = rs.data.load(str(tmp_path / "folders"), "test")
    for classes, refused in ((WORDS, True), (sorted(WORDS), False), (NUMBERS[:10], False)):
        model = Classifier(arch="small-cnn", classes=classes, shape=shape)
        if refused:
            with pytest.raises(InputError, match="class 0 of folders is 'eight', which the model numbers 8: give the"):
                check_fit(model, folders.spec)
        else:
            check_fit(model, folders.spec)


def test_a_model_that_only_guesses_without_noise_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fitted on numbers and asked about names, whose order is the alphabet's, it is right about few."""
    x, y = digits()
    names = np.array(WORDS)
    for labels, told in ((y, False), (names[y], True)):
        rs.certify(fitted(y), (x, labels), sigma=0.01, n=100, take=60, out=tmp_path / f"{told}.parquet", progress=True)
        said = " ".join(capsys.readouterr().out.split())
        assert ("hardly more often than guessing (10.0%)" in said) == told
        assert ("(0 eight, 1 five, 2 four, ...)" in said) == told


def test_few_images_or_none_with_labels_say_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = nn.Linear(64, 10)
    nn.init.zeros_(last.weight)
    blind = nn.Sequential(nn.Flatten(), last).eval()
    x, y = digits()
    for case, given in enumerate([(x[:19], y[:19]), x[:60], (x[:60], y[:60])]):
        rs.certify(blind, given, sigma=0.5, n=100, out=tmp_path / f"{case}.parquet", progress=True)
        assert ("than guessing" in capsys.readouterr().out) == (case == 2)
