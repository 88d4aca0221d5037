"""The data sets that have a name (see tests/testing for what all have in common)."""

import math
from dataclasses import replace

import pytest
import torch

from data.refusing import pixels_of
from randsmooth import data
from randsmooth.errors import InputError

SHAPES = {
    "digits": ((1, 8, 8), 10, "small-cnn"),
    "mnist": ((1, 28, 28), 10, "lenet"),
    "fashion-mnist": ((1, 28, 28), 10, "lenet"),
    "cifar10": ((3, 32, 32), 10, "resnet110"),
    "cifar10-jpeg": ((3, 32, 32), 10, "resnet110"),
    "cifar100": ((3, 32, 32), 100, "resnet110"),
    "svhn": ((3, 32, 32), 10, "resnet110"),
    "imagenet": ((3, 224, 224), 1000, "resnet50"),
    "imagenet32": ((3, 32, 32), 1000, "resnet110"),
}


def test_names() -> None:
    assert list(data.DATASETS) == sorted(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_facts(name: str) -> None:
    spec = data.DATASETS[name]
    assert (spec.shape, spec.num_classes, spec.arch) == SHAPES[name]
    assert spec.streams == (name == "imagenet")
    assert data.describe(name) is spec


def test_a_large_set_streams() -> None:
    cifar = data.DATASETS["cifar10"]
    fits = 4 * 2**30 // math.prod(cifar.shape)
    assert not replace(cifar, sizes={"train": fits}).streams
    assert replace(cifar, sizes={"train": fits + 1}).streams


def test_a_name_is_registered_once() -> None:
    with pytest.raises(InputError, match="'mnist' is registered already"):
        data.DATASETS.add("mnist", data.DATASETS["mnist"])


@pytest.mark.parametrize("split", data.SPLITS)
def test_digits(split: str) -> None:
    images = data.load("digits", split)
    x, y = images.batch(torch.arange(len(images)))
    assert len(images) == images.spec.sizes[split]
    assert x.shape == (len(images), 1, 8, 8) and x.dtype == torch.float32
    assert x.min() == 0 and x.max() == 1
    assert torch.equal(y, images.labels) and y.dtype == torch.int64
    counts = images.labels.bincount()
    assert len(counts) == 10 and counts.max() - counts.min() <= 7


def test_digits_splits_do_not_overlap() -> None:
    """Every image of scikit-learn's set is in one split, once."""
    from sklearn.datasets import load_digits

    parts = torch.cat([pixels_of(data.load("digits", split)).flatten(1) for split in data.SPLITS])
    whole = torch.from_numpy(load_digits().data * 255 / 16).round().to(torch.uint8)
    assert sorted(parts.tolist()) == sorted(whole.tolist())
