"""Small PNGs are decoded without PIL's search through the file, to the same pixels; crops, flips and windows."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import numpy as np
import torch
from PIL import Image, PngImagePlugin

from data.making import seeded
from models.refusing import refusal
from randsmooth.data import DATASETS
from randsmooth.data.dataset_spec import Fit
from randsmooth.data.decode import crop_draws, decode, plain_png, random_resized_crop
from randsmooth.data.images import PADDING, random_crop, random_flip

RNG = np.random.default_rng(0)
GREY = dataclasses.replace(DATASETS["mnist"], shape=(1, 20, 31))
RGB = dataclasses.replace(GREY, shape=(3, 20, 31))
OF_GREY = RNG.integers(0, 255, (20, 31), np.uint8)
OF_RGB = np.cumsum(RNG.integers(0, 9, (20, 31, 3)), axis=1).astype(np.uint8)  # smooth: its rows are filtered
TEXT = PngImagePlugin.PngInfo()
TEXT.add_text("made", "here")


def _png(pixels: Any, **options: Any) -> bytes:
    held = io.BytesIO()
    Image.fromarray(pixels).save(held, "PNG", **options)
    return held.getvalue()


PLAIN = _png(OF_GREY)
LARGE = np.cumsum(RNG.integers(0, 9, (300, 400, 3)), axis=0).astype(np.uint8)  # more than a chunk of pixels


def test_a_plain_png_has_the_pixels_that_pil_sees() -> None:
    for spec, pixels in ((GREY, OF_GREY), (RGB, OF_RGB), (dataclasses.replace(RGB, shape=(3, 300, 400)), LARGE)):
        for level in (0, 1, 9):
            found = plain_png(io.BytesIO(_png(pixels, compress_level=level)), spec)
            assert found is not None and np.array_equal(found, np.atleast_3d(pixels).transpose(2, 0, 1))


def test_any_other_file_is_left_to_pil() -> None:
    cut = PLAIN[:-30], PLAIN[:-1], PLAIN[:33], PLAIN[:20], b"", b"text"
    bits = [PLAIN[:at] + bytes([PLAIN[at] ^ 1]) + PLAIN[at + 1 :] for at in (9, 20, 25, 30, 36, 40, 60, len(PLAIN) - 2)]
    other = {
        "see-through": _png(OF_GREY, transparency=3),
        "words": _png(OF_GREY, pnginfo=TEXT),
        "bits": _png(OF_GREY > 99),
        "16 bits": _png(OF_GREY.astype(np.uint16)),
        "size": _png(OF_GREY.T.copy()),
        "bytes after the end": PLAIN + b"more",
    }
    for content in (*cut, *bits, *other.values(), _png(OF_RGB)):
        stream = io.BytesIO(content)
        assert plain_png(stream, GREY) is None and stream.tell() == 0
    assert plain_png(io.BytesIO(PLAIN), dataclasses.replace(GREY, fit=Fit(20, (20, 20)))) is None
    for name in ("see-through", "words", "bytes after the end"):
        assert np.array_equal(decode(io.BytesIO(other[name]), GREY, name), OF_GREY[None])
    for name in ("bits", "16 bits", "size"):
        assert name in refusal(lambda name=name: decode(io.BytesIO(other[name]), GREY, name))  # type: ignore[misc]


X = torch.randint(1, 256, (64, 3, 8, 8), generator=seeded(), dtype=torch.uint8)


def test_a_crop_is_a_window_of_the_padded_image() -> None:
    """Each image is found again, by a slow search, at one of the 81 places."""
    padded = torch.nn.functional.pad(X, (PADDING,) * 4)
    places = set()
    for whole, cut in zip(padded, random_crop(X, seeded(1)), strict=True):
        windows = [(i, j) for i in range(9) for j in range(9) if whole[:, i : i + 8, j : j + 8].equal(cut)]
        assert len(windows) == 1
        places.update(windows)
    assert len(places) > 30


def test_a_flip_mirrors_some_images() -> None:
    y = random_flip(X, seeded(1))
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
        crops = [np.asarray(random_resized_crop(image, row, (32, 32))) for row in crop_draws(40, seeded())]
        assert {crop.shape for crop in crops} == {(32, 32, 3)}
    red = np.stack([crop[16, :, 0].astype(int) for crop in crops])
    green = np.stack([crop[:, 16, 1].astype(int) for crop in crops])
    # Area 8% to 100% and ratio at most 4/3, so a side spans at least a quarter of the photograph.
    assert 0.2 < (red[:, -1] < red[:, 0]).mean() < 0.8
    assert np.ptp(red, axis=1).min() > 50 and (np.ptp(green, axis=1) > 50).all()
    assert len({tuple(row) for row in red}) == 40
