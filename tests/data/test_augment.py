from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from randsmooth.data.dataset_spec import Fit
from randsmooth.data.decode import crop_draws, cut_centre, random_resized_crop, scaled
from randsmooth.data.images import PADDING, augmented, random_crop, random_flip


def seeded(seed: int = 0) -> Any:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def x() -> Any:
    return torch.randint(1, 256, (64, 3, 8, 8), generator=seeded(), dtype=torch.uint8)


def test_a_crop_is_a_window_of_the_padded_image(x: torch.Tensor) -> None:
    """Each image is found again, by a slow search, at one of the 81 places."""
    padded = torch.nn.functional.pad(x, (PADDING,) * 4)
    places = set()
    for whole, cut in zip(padded, random_crop(x, seeded(1)), strict=True):
        windows = [(i, j) for i in range(9) for j in range(9) if whole[:, i : i + 8, j : j + 8].equal(cut)]
        assert len(windows) == 1
        places.update(windows)
    assert len(places) > 30


def test_a_flip_mirrors_some_images(x: torch.Tensor) -> None:
    y = random_flip(x, seeded(1))
    kept = (y == x).flatten(1).all(1)
    mirrored = (y == x.flip(-1)).flatten(1).all(1)
    assert (kept ^ mirrored).all()
    assert 16 < mirrored.sum() < 48


@pytest.mark.cuda
def test_a_cpu_generator_gives_the_same_on_cuda(x: torch.Tensor) -> None:
    assert torch.equal(augmented(x.cuda(), "crop-flip", seeded()).cpu(), augmented(x, "crop-flip", seeded()))
    assert augmented(x.cuda(), "crop-flip", torch.Generator("cuda").manual_seed(0)).is_cuda


def gradient(width: int, height: int) -> Any:
    """A photograph whose red is the column, in 0..255, and whose green is the row."""
    red, green = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([red, green, red * 0], -1).astype(np.uint8))


def test_central_crop() -> None:
    """The middle of the photograph is the middle of the crop."""
    for width, height in ((300, 400), (500, 260), (256, 256), (100, 90)):
        whole = scaled(gradient(width, height), Fit(256).scaled((height, width)))
        cut = np.asarray(cut_centre(whole, (224, 224)), dtype=float)
        assert cut.shape == (224, 224, 3)
        np.testing.assert_allclose(cut[..., :2].mean((0, 1)), 127, atol=1.5)


def test_random_resized_crop() -> None:
    for size in ((1000, 20), (3, 90), (1, 1), (300, 400)):
        image = gradient(*size)
        crops = [np.asarray(random_resized_crop(image, row, (32, 32))) for row in crop_draws(40, seeded())]
        assert {crop.shape for crop in crops} == {(32, 32, 3)}
    red = np.stack([crop[16, :, 0].astype(int) for crop in crops])
    green = np.stack([crop[:, 16, 1].astype(int) for crop in crops])
    # Area 8% to 100% and ratio at most 4/3, so a side spans at least a quarter of the photograph.
    assert 0.2 < (red[:, -1] < red[:, 0]).mean() < 0.8
    assert np.ptp(red, axis=1).min() > 50 and (np.ptp(green, axis=1) > 50).all()
    assert len({tuple(row) for row in red}) == 40
