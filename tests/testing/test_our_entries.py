"""Everything of ours that can be chosen by name passes the contract that other packages run on theirs."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from randsmooth import testing
from randsmooth.certification.backends import BACKENDS
from randsmooth.data import DATASETS
from randsmooth.methods import METHODS
from randsmooth.models import ARCHITECTURES, FunctionModel, OnnxModel, wrap
from randsmooth.noise import NOISES, GaussianPerCoordinate, PerFeature
from randsmooth.report import PANELS

LARGE = {"wrn28-10", "wrn40-2", "resnet50", "cifar-resnet50", "resnet56", "resnet110"}
GREY = {
    "small-cnn": 8,
    "lenet": 28,
}  # architectures that are published for grey images, and their side


def test_methods() -> None:
    for name in METHODS:
        testing.check_method(name)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LARGE else [])
        for name in ARCHITECTURES
    ]
    + ["resnet14"],
)
def test_architectures(name: str) -> None:
    testing.check_architecture(name)


def test_architectures_of_grey_images() -> None:
    for name in GREY:
        testing.check_architecture(name, in_channels=1, image_size=GREY[name])


def test_datasets() -> None:
    for name in DATASETS:
        testing.check_dataset(name)


def test_panels() -> None:
    for name in PANELS:
        testing.check_panel(name)


def test_noises() -> None:
    for noise in (
        "gaussian=0.5",
        "uniform=0.6",
        "laplace=0.3",
        "splitting=0.5",
        "ablation=3",
    ):
        testing.check_noise(noise)
    testing.check_noise(GaussianPerCoordinate(np.array([0.1, 2.0, 30.0])), shape=(3,))
    testing.check_noise(PerFeature(np.array([0.1, 2.0, 30.0]), 0.25), shape=(3,))
    testing.check_noise("ablation=2", shape=(3, 4, 4))
    assert {
        "gaussian",
        "gaussian-per-coordinate",
        "uniform",
        "laplace",
        "splitting",
        "ablation",
    } == {*NOISES}


FOREIGN = {"onnx", "python", "mixed"}  # run no torch modules
SLOW = {
    "compile",
    "openvino",
}  # compiling and converting take longer than a quick test may


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else [])
        for name in BACKENDS
        if name not in FOREIGN
    ],
)
def test_backends(name: str) -> None:
    testing.check_backend(name)


@pytest.mark.parametrize("name", ["onnx", "openvino"])
def test_backends_of_onnx_files(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    with pytest.warns(
        DeprecationWarning
    ):  # the exporter that takes a second, where the new one takes ten
        torch.onnx.export(
            network, (torch.zeros(16, 1, 8, 8),), tmp_path / "net.onnx", dynamo=False
        )
    testing.check_backend(name, OnnxModel(tmp_path / "net.onnx"))


def linear(x: NDArray[np.float32]) -> NDArray[np.float64]:
    answer: NDArray[np.float64] = x.reshape(len(x), 64) @ np.random.default_rng(
        0
    ).normal(size=(64, 10))
    return answer


def test_backends_of_models_in_python_and_of_parts_of_other_kinds() -> None:
    testing.check_backend("python", FunctionModel(linear))
    testing.check_backend("mixed", wrap(FunctionModel(linear), mean=0.5, std=0.25))
