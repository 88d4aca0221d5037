"""Training augmentation: crops, flips and windows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from data.making import seeded
from randsmooth.data import DATASETS, read_picture
from randsmooth.data.augmentation import PADDING, Draws, random_crop, random_flip
from randsmooth.data.cropping import crop_draws, random_resized_crop

X = torch.randint(1, 256, (64, 3, 8, 8), generator=seeded(), dtype=torch.uint8)


def test_a_crop_is_a_window_of_the_padded_image() -> None:
    """Each image is found again, by a slow search, at one of the 81 places."""
    padded = torch.nn.functional.pad(X, (PADDING,) * 4)
    places = set()
    for whole, cut in zip(padded, random_crop(X, Draws(seeded(1))), strict=True):
        windows = [
            (i, j)
            for i in range(9)
            for j in range(9)
            if whole[:, i : i + 8, j : j + 8].equal(cut)
        ]
        assert len(windows) == 1
        places.update(windows)
    assert len(places) > 30


def test_a_flip_mirrors_some_images() -> None:
    y = random_flip(X, Draws(seeded(1)))
    kept = (y == X).flatten(1).all(1)
    mirrored = (y == X.flip(-1)).flatten(1).all(1)
    assert (kept ^ mirrored).all()
    assert 16 < mirrored.sum() < 48


def gradient(width: int, height: int) -> Any:
    """A photograph whose red is the column, in 0..255, and whose green is the row."""
    red, green = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([red, green, red * 0], -1).astype(np.uint8))


def test_random_resized_crop() -> None:
    for size in ((1000, 20), (3, 90), (1, 1), (300, 400)):
        image = gradient(*size)
        crops = [
            np.asarray(random_resized_crop(image, row, (32, 32)))
            for row in crop_draws(40, seeded())
        ]
        assert {crop.shape for crop in crops} == {(32, 32, 3)}
    red = np.stack([crop[16, :, 0].astype(int) for crop in crops])
    green = np.stack([crop[:, 16, 1].astype(int) for crop in crops])
    # Area 8% to 100% and ratio at most 4/3, so a side spans at least a quarter of the photograph.
    assert 0.2 < (red[:, -1] < red[:, 0]).mean() < 0.8
    assert np.ptp(red, axis=1).min() > 50 and (np.ptp(green, axis=1) > 50).all()
    assert len({tuple(row) for row in red}) == 40


def test_a_picture_of_another_size_covers_the_models_and_keeps_its_proportions(
    tmp_path: Path,
) -> None:
    path, spec = tmp_path / "a.png", replace(DATASETS["digits"], shape=(1, 48, 40))
    for (height, width), said in (
        (
            (90, 120),
            "brought from 90x120 to 48x40 before any noise (resize 48, crop 48x40, grey)",
        ),
        (
            (120, 90),
            "brought from 120x90 to 48x40 before any noise (resize 40, crop 48x40, grey)",
        ),
        ((48, 40), "turned grey before any noise"),
    ):
        Image.new("RGB", (width, height)).save(path)
        x, words = read_picture(path, spec)
        assert tuple(x.shape) == (1, 48, 40) and words == said, said
