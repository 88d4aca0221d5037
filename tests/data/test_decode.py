"""Small PNGs are decoded without PIL's search through the file: to the same pixels, and no others are."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from randsmooth.data import DATASETS
from randsmooth.data.dataset_spec import Fit
from randsmooth.data.decode import decode, plain_png
from randsmooth.errors import InputError

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
        with pytest.raises(InputError):
            decode(io.BytesIO(other[name]), GREY, name)
