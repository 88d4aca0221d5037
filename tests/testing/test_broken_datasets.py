"""Data sets that break the contract are refused, in words that say what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from randsmooth import testing
from randsmooth.data import DATASETS, DatasetSpec

PIXELS = np.random.default_rng(0).integers(0, 256, (8, 1, 8, 8), dtype=np.uint8)
LABELS = np.arange(8) % 2


def made(split: str) -> tuple[Any, Any]:
    return PIXELS, LABELS


STRIPES = replace(DATASETS["digits"], name="stripes", classes=("a", "b"), sizes={"train": 8, "test": 8}, read=made)


def test_a_data_set_that_makes_its_images() -> None:
    testing.check_dataset(STRIPES)


def reads(pixels: Any, labels: Any) -> DatasetSpec:
    return replace(STRIPES, read=lambda split: (pixels, labels))


DATA: list[tuple[Any, str]] = [
    ({}, "is a dict, expected data.DatasetSpec"),
    (replace(STRIPES, shape=(1, 8, 9)), "expected H = W"),
    (replace(STRIPES, shape=(8, 8)), r"expected \(C, H, W\)"),  # type: ignore[arg-type]
    (replace(STRIPES, shape=(2, 8, 8)), "has 2 channels"),
    (replace(STRIPES, classes=("a", "a")), "at least two classes, all different"),
    (replace(STRIPES, classes=("a",)), "at least two classes"),
    (replace(STRIPES, description="two\nlines"), "description of one line"),
    (replace(STRIPES, augment="blur"), "has augment='blur'"),  # type: ignore[arg-type]
    (replace(STRIPES, sizes={"train": 8}), r"has sizes of \['train'\]"),
    (replace(STRIPES, sizes={"train": 8, "test": 0}), "expected how many images"),
    (replace(STRIPES, mean=(0.5,)), "give both"),
    (replace(STRIPES, mean=(0.5, 0.5), std=(0.5, 0.5)), "expected 1 numbers"),
    (replace(STRIPES, mean=(128.0,), std=(64.0,)), r"mean=\(128.0,\)"),
    (replace(STRIPES, arch="vgg16"), "has the architecture 'vgg16', which does not do: .*unknown architecture"),
    (replace(STRIPES, arch="lenet"), "not 8x8"),
    (reads(PIXELS / 255, LABELS), "train pixels of another type"),
    (reads(PIXELS[:, 0], LABELS), "train pixels of another type or shape"),
    (reads(PIXELS, LABELS[:4]), "train labels of another type or shape"),
    (reads(PIXELS, LABELS.astype(float)), "train labels of another type"),
    (reads(PIXELS[:4], LABELS[:4]), "reads 4 train images, its sizes say 8"),
    (reads(PIXELS, np.zeros(8, np.int64)), r"has train labels \[0\], expected each of 0 to 1"),
    (
        replace(STRIPES, read=lambda split: (np.random.default_rng().integers(0, 256, PIXELS.shape, np.uint8), LABELS)),
        "reads other train images the second time",
    ),
    (replace(STRIPES, read=lambda split: made(["no file"][1])), "cannot read its train images: IndexError"),
]


def test_datasets() -> None:
    for dataset, message in DATA:
        with pytest.raises(AssertionError, match=message):
            testing.check_dataset(dataset)


def test_a_data_set_by_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATASETS._added, "zebras", STRIPES)
    with pytest.raises(AssertionError, match="data set 'zebras' calls itself 'stripes'"):
        testing.check_dataset("zebras")
