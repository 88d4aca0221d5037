"""Everything of ours that can be chosen by name passes the contract that other packages run on theirs."""

import pytest

from randsmooth import testing
from randsmooth.data import DATASETS
from randsmooth.methods import METHODS
from randsmooth.models import ARCHITECTURES

GREY = {"small-cnn": 8, "lenet": 28}  # architectures that are published for grey images, and their side


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    testing.check_method(name)


@pytest.mark.parametrize("name", [*ARCHITECTURES, "resnet14"])
def test_architectures(name: str) -> None:
    testing.check_architecture(name)


@pytest.mark.parametrize("name", GREY)
def test_architectures_of_grey_images(name: str) -> None:
    testing.check_architecture(name, in_channels=1, image_size=GREY[name])


@pytest.mark.parametrize("name", DATASETS)
def test_datasets(name: str) -> None:
    testing.check_dataset(name)
