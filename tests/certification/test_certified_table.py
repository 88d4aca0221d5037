"""Images certified in memory become a table that says what a run over a data set would have said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import randsmooth as rs
from randsmooth import metrics
from randsmooth.certificates import write_parquet
from randsmooth.certification.header import fingerprint
from randsmooth.errors import InputError

INDICES = [3, 5, 8]
OF_THE_RUN = {"selection", "classes", "behaviour", "dataset", "split"}  # what a table made in memory does not know


@pytest.fixture(scope="module")
def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()


@pytest.fixture(scope="module")
def images() -> Any:
    return rs.data.load("digits", "test")


@pytest.mark.parametrize("rule", ["fixed", "grid"])
def test_it_is_the_table_of_a_run_over_the_data_set(model: nn.Module, images: Any, rule: str, tmp_path: Path) -> None:
    facts: dict[str, Any] = {"sigma": 0.25, "n": 320, "rule": rule, "seed": 0}
    every = rs.certify(model, "digits", out=tmp_path / "run.parquet", **facts).rows(np.array(INDICES))
    x, y = images.batch(torch.tensor(INDICES))
    table = rs.SmoothedClassifier(model, **facts).certify(x).table(y, idx=INDICES, name="mine")
    for column in ("idx", "label", "predict", "radius", "counts0", "counts"):
        assert np.array_equal(getattr(table, column), getattr(every, column)), column
    for name in set(type(table.header).model_fields) - OF_THE_RUN - {"data"}:
        assert getattr(table.header, name) == getattr(every.header, name), name
    assert table.header.data == fingerprint(images, INDICES)
    assert table.header.behaviour == {"made-up images": every.header.behaviour["made-up images"]}  # type: ignore[index]


def test_it_is_saved_read_judged_and_attacked(model: nn.Module, images: Any, tmp_path: Path) -> None:
    x, y = images.batch(torch.tensor(INDICES))
    table = rs.SmoothedClassifier(model, sigma=0.25, n=200).certify(x).table(y, dataset="digits", split="test")
    write_parquet(table, tmp_path / "t.parquet")
    read = rs.read(tmp_path / "t.parquet")
    assert read.header == table.header and np.array_equal(read.radius, table.radius)
    assert metrics.acr(read) == metrics.acr(table)
    again = rs.SmoothedClassifier(model, rs.certification.certified_as(read), n=200, seed=table.header.seed)
    assert np.array_equal(again.certify(x).counts, table.evidence()[1])


def test_without_labels_nothing_is_said_of_accuracy(model: nn.Module, images: Any) -> None:
    x, _ = images.batch(torch.tensor(INDICES))
    certified = rs.SmoothedClassifier(model, sigma=0.25, n=200).certify(x)
    assert not certified.table().labelled and np.array_equal(certified.table().radius, certified.radius)


def test_the_randomised_bound_keeps_its_numbers_wherever_the_images_stand(model: nn.Module, images: Any) -> None:
    x, y = images.batch(torch.tensor(INDICES))
    certified = rs.SmoothedClassifier(model, sigma=0.25, n=200, seed=0).certify(x, bound="randomised")
    table = certified.table(y)
    assert np.array_equal(table.radius, certified.radius)
    assert np.array_equal(certified.table(y, idx=INDICES).radius, certified.radius)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": [0, 1]}, "labels must be one whole number for each of 3 images"),
        ({"labels": [0.5, 1.0, 2.0]}, "labels must be one whole number"),
        ({"labels": [0, 1, 10]}, "label 10 of image 2 is not among the 10"),
        ({"labels": [0, 1, 2], "idx": [4, 4, 5]}, "image 4 twice"),
    ],
)
def test_labels_that_do_not_fit_are_refused(model: nn.Module, images: Any, given: Any, message: str) -> None:
    x, _ = images.batch(torch.tensor(INDICES))
    with pytest.raises(InputError, match=message):
        rs.SmoothedClassifier(model, sigma=0.25, n=200).certify(x).table(**given)


def test_samples_that_were_stopped_by_hand_are_a_table_by_the_rule_that_holds_anywhere_alone(
    model: nn.Module, images: Any
) -> None:
    x, y = images.batch(torch.tensor(INDICES))
    smoothed = rs.SmoothedClassifier(model, sigma=0.25, n=1000)
    with pytest.raises(InputError, match="stopped by until="):
        smoothed.certify(x, rule="grid", until=lambda claim, samples: True).table(y)
    anywhere = smoothed.certify(x, rule="anytime", until=lambda claim, samples: True)
    assert np.array_equal(anywhere.table(y).radius, anywhere.radius)
