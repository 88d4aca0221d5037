"""Each row of the table in docs/data.md: what becomes of grey, RGB, RGBA, palette, 16-bit, CMYK and turned images."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from data.making import refuses, write_folder
from models.refusing import problem_of
from randsmooth import data
from randsmooth.errors import BadValue, WrongData
from values import Refusal

GREY = np.array([[0, 51, 102], [153, 204, 255]], np.uint8)
COLOURS = np.stack([GREY, GREY[::-1], GREY[:, ::-1]], -1)


def stored(
    folder: Path, image: Image.Image, name: str = "a.png", **options: Any
) -> torch.Tensor:
    """The pixels (C, H, W) in 0..255 of the image as it is read from a flat folder of its own."""
    place = folder / name.partition(".")[0]
    place.mkdir(exist_ok=True)
    image.save(place / name, **options)
    x, _ = data.load(str(place)).batch(torch.tensor([0]))
    return (x[0] * 255).round().to(torch.uint8)


def palette() -> Image.Image:
    image = Image.fromarray(np.array([[0, 1, 2], [2, 1, 0]], np.uint8), "P")
    image.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
    return image


CONVERTED: dict[str, tuple[Image.Image, NDArray[np.uint8]]] = {
    "grey": (Image.fromarray(GREY), GREY[None]),
    "black and white": (
        Image.fromarray(GREY > 100),
        np.where(GREY > 100, 255, 0).astype(np.uint8)[None],
    ),
    "grey with opaque alpha": (
        Image.merge("LA", [Image.fromarray(GREY), Image.new("L", (3, 2), 255)]),
        GREY[None],
    ),
    "RGB": (Image.fromarray(COLOURS), COLOURS.transpose(2, 0, 1)),
    "opaque RGBA": (
        Image.fromarray(COLOURS).convert("RGBA"),
        COLOURS.transpose(2, 0, 1),
    ),
    "palette": (palette(), np.asarray(palette().convert("RGB")).transpose(2, 0, 1)),
    "16 bits": (Image.fromarray(GREY.astype(np.uint16) * 257), GREY[None]),
}


def test_what_is_converted(tmp_path: Path) -> None:
    for kind, (image, expected) in CONVERTED.items():
        assert np.array_equal(stored(tmp_path, image).numpy(), expected), kind
    values = np.array([[0, 255, 256, 65535]], np.uint16)
    assert stored(tmp_path, Image.fromarray(values), "deep.png").flatten().tolist() == [
        0,
        0,
        1,
        255,
    ]
    inks = np.zeros((2, 3, 4), np.uint8)
    inks[..., 1] = 255  # all magenta
    x = stored(tmp_path, Image.frombytes("CMYK", (3, 2), inks.tobytes()), "inks.tiff")
    assert x[:, 0, 0].tolist() == [255, 0, 255]


TRANSPARENT = Image.fromarray(
    np.dstack([COLOURS, np.full((2, 3), 254, np.uint8)]), "RGBA"
)
REFUSED: list[tuple[Image.Image, str, dict[str, Any], Refusal]] = [
    (TRANSPARENT, "a.png", {}, Refusal(WrongData)),
    (palette(), "b.png", {"transparency": 1}, Refusal(WrongData)),
    (
        Image.fromarray(np.full((2, 3), 4000, np.uint16)),
        "c.png",
        {},
        Refusal(WrongData, "4000"),
    ),
    (
        Image.fromarray(np.zeros((2, 3), np.float32)),
        "d.tiff",
        {},
        Refusal(WrongData, "modes F"),
    ),
]


def test_what_is_refused_by_name(tmp_path: Path) -> None:
    for image, name, options, told in REFUSED:
        told.check(
            problem_of(
                lambda row=(image, name, options): stored(
                    tmp_path, row[0], row[1], **row[2]
                )
            )
        )


def test_photographs_are_turned_upright(tmp_path: Path) -> None:
    wide = np.zeros((16, 32, 3), np.uint8)
    wide[:8, :16] = 255  # white where the first row and column are
    corners = {
        1: (0, 0),
        2: (0, -1),
        3: (-1, -1),
        4: (-1, 0),
        5: (0, 0),
        6: (0, -1),
        7: (-1, -1),
        8: (-1, 0),
    }
    for orientation, (row, column) in corners.items():
        exif = Image.Exif()
        exif[0x0112] = orientation
        x = stored(tmp_path, Image.fromarray(wide), "a.jpg", exif=exif, quality=100)
        assert x.shape == ((3, 32, 16) if orientation > 4 else (3, 16, 32)), orientation
        assert int(x[0, row, column]) > 240 and int(x[0, -1 - row, -1 - column]) < 15, (
            orientation
        )


def test_odd_ones_beyond_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("randsmooth.data.encoded_splits.SAMPLED_IMAGES", 1)
    for odd, told in (
        (COLOURS.transpose(2, 0, 1), Refusal(WrongData, "001.png", "mode RGB")),
        (
            np.zeros((1, 5, 6), np.uint8),
            Refusal(WrongData, "001.png", "5x6", "2x3", "resize="),
        ),
    ):
        write_folder(tmp_path, [GREY[None], odd], [".", "."])
        refuses(told, tmp_path)


def test_resizing_and_cropping(tmp_path: Path) -> None:
    Image.fromarray(COLOURS).save(tmp_path / "a.png")
    rows: list[tuple[Any, Any, tuple[int, int]]] = [
        (4, None, (4, 6)),
        ("6x4", None, (6, 4)),
        ((6, 4), 3, (3, 3)),
        (None, "1x2", (1, 2)),
        (8, (8, 10), (8, 10)),
    ]
    for resize, crop, shape in rows:
        forms = (
            str(tmp_path),
            COLOURS[None],
            [Image.fromarray(COLOURS)],
            COLOURS[None].astype(np.float32) / 255,
        )
        loaded = [data.load(form, resize=resize, crop=crop) for form in forms]
        xs = [images.batch(torch.tensor([0]))[0] for images in loaded]
        assert {loaded[0].spec.shape, tuple(xs[0].shape[1:])} == {(3, *shape)}
        assert torch.equal(xs[0], xs[1]) and torch.equal(xs[0], xs[2])
        assert (
            (xs[3] - xs[0]).abs().max() <= 1 / 255
            and xs[3].min() >= 0
            and xs[3].max() <= 1
        )
    for size in ("big", "0", "3x", 0, -1, 2.5, (1, 2, 3), "99999", True):
        refuses(
            Refusal(BadValue, "224x192", field="resize"), COLOURS[None], resize=size
        )
