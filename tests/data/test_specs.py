"""The data sets that have a name (tests/testing has what all have in common), and the choice of some images."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from data.making import pixels_of
from models.refusing import refusal
from randsmooth import data
from randsmooth.errors import BadValue


def test_what_is_large_is_streamed_and_names_are_taken_once() -> None:
    assert [name for name in data.DATASETS if data.DATASETS[name].streams] == [
        "imagenet"
    ]
    assert replace(
        data.DATASETS["cifar10"], sizes={"train": 4 * 2**30 // 3072 + 1}
    ).streams
    assert "'mnist' is registered already" in refusal(
        lambda: data.DATASETS.add("mnist", data.DATASETS["cifar10"])
    )


def test_digits() -> None:
    """Every image of scikit-learn's set is in one split, once."""
    from sklearn.datasets import load_digits

    for split in data.SPLITS:
        counts = data.load("digits", split).labels.bincount()
        assert len(counts) == 10 and counts.max() - counts.min() <= 7
    parts = torch.cat(
        [pixels_of(data.load("digits", split)).flatten(1) for split in data.SPLITS]
    )
    whole = torch.from_numpy(load_digits().data * 255 / 16).round().to(torch.uint8)
    assert sorted(parts.tolist()) == sorted(whole.tolist())


def test_the_real_sets_where_they_are() -> None:
    sets = {
        "mnist": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
        "cifar10-jpeg": [1000] * 10,
    }
    there = [
        name
        for name in sets
        if Path(os.environ.get("RANDSMOOTH_DATA", "none"), name).is_dir()
    ]
    if not there:
        pytest.skip(
            "set RANDSMOOTH_DATA to a folder that has mnist/test.parquet or cifar10-jpeg/test.parquet"
        )
    for name in there:
        images = data.load(name, "test")
        assert images.spec == data.DATASETS[name]
        assert images.labels.bincount().tolist() == sets[name], name
        x, _ = images.batch(torch.arange(1000))
        assert x.shape == (1000, *images.spec.shape) and (
            float(x.min()),
            float(x.max()),
        ) == (0, 1), name


def test_take_and_skip() -> None:
    assert (
        data.skip(10_000, 20).tolist() == data.take(10_000, 500).tolist()
    )  # the literature's 500 of CIFAR-10
    for n in (0, -1, 11):
        with pytest.raises(BadValue) as refused:
            data.take(10, n)
        assert (refused.value.field, refused.value.value) == ("take", n)
    for every in (0, -2):
        with pytest.raises(BadValue) as refused:
            data.skip(10, every)
        assert (refused.value.field, refused.value.value) == ("skip", every)
