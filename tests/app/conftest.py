"""A model of digits to serve, and an image of one."""

from pathlib import Path

import pytest
import torch
from PIL import Image

from randsmooth import data
from randsmooth.app import Limits, Served
from untrained import untrained


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an untrained model of digits."""
    place = tmp_path_factory.mktemp("serving") / "model"
    return untrained(
        place, [f"digit {i}" for i in range(10)], dataset="digits", sigma=0.25
    )


@pytest.fixture
def served(folder: Path) -> Served:
    return Served.of(
        str(folder),
        "digits & <others>",
        limits=Limits(samples=2000, upload_mb=0.2, pixels=10_000),
    )


@pytest.fixture
def digit(tmp_path: Path) -> Path:
    """A test image as a file."""
    (x,), _ = data.load("digits", "test").batch(torch.tensor([3]))
    path = tmp_path / "digit.png"
    Image.fromarray((x[0] * 255).round().byte().numpy()).save(path)
    return path
