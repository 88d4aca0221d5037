"""Who was given up: images lost and won by each method, by class, and pictures of some."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsmooth.metrics import GivenUp
from randsmooth.report.sheet.against_baseline import Versus
from randsmooth.report.sheet.content import Sheet
from randsmooth.report.sheet.naming import class_name

Pictures = Callable[[Sequence[int]], Sequence[NDArray[np.uint8]]]
"""Pixels (H, W, 1 or 3) of the images at the given positions of their split."""

SIDE = 64  # pixels: larger pictures are made smaller


class Change(NamedTuple):
    """What changed hands between the baseline and one method at one radius; `worst` says who paid most."""

    lost: int
    won: int
    worst: str


class ByClass(NamedTuple):
    """At radius `r`: the classes, how many images each has, and (lost, won) as [class][method]; None without images."""

    r: float
    names: list[str]
    images: list[int]
    cells: list[list[tuple[int, int] | None]]


class Picture(NamedTuple):
    """One lost image: where it is, what it shows, and its pixels as a data URI."""

    idx: int
    label: str
    uri: str


def changes(sheet: Sheet, one: Versus) -> list[Change]:
    """A change for each radius of `one.given_up`."""
    return [Change(len(at.lost), len(at.won), _worst(sheet, at)) for at in one.given_up]


def _worst(sheet: Sheet, at: GivenUp) -> str:
    place = list(at.classes).index(at.worst_class)
    net = int(at.lost_by_class[place] - at.won_by_class[place])
    return f"{class_name(sheet.tables, at.worst_class)}: {net:,} of {int(at.images[place]):,}" if net > 0 else "none"


def by_class(sheet: Sheet, compared: Sequence[Versus]) -> list[ByClass]:
    """One view a radius; classes are those that occur among the images compared."""
    return [_by_class(sheet, [one.given_up[i] for one in compared]) for i in range(len(compared[0].given_up))]


def _by_class(sheet: Sheet, changed: Sequence[GivenUp]) -> ByClass:
    labels = sorted({int(label) for at in changed for label in at.classes})
    columns = [_of_classes(at) for at in changed]
    most = [max(column[label][0] for column in columns if label in column) for label in labels]
    cells = [[column[label][1:] if label in column else None for column in columns] for label in labels]
    return ByClass(changed[0].r, [class_name(sheet.tables, label) for label in labels], most, cells)


def _of_classes(at: GivenUp) -> dict[int, tuple[int, int, int]]:
    """For each label, how many images there are, were lost, and were won."""
    counted = np.stack([at.images, at.lost_by_class, at.won_by_class], axis=1).tolist()
    return {int(label): (row[0], row[1], row[2]) for label, row in zip(at.classes, counted, strict=True)}


def gallery(sheet: Sheet, compared: Sequence[Versus], pictures: Pictures | None) -> list[list[Picture]]:
    """For each of `compared`, its `shown` images; empty lists without `pictures`."""
    wanted = sorted({idx for one in compared for idx in one.shown})
    if pictures is None or not wanted:
        return [[] for _ in compared]
    uris = dict(zip(wanted, map(data_uri, pictures(wanted)), strict=True))
    reference = sheet.tables[sheet.baseline or 0]
    label = dict(zip(reference.idx.tolist(), reference.label.tolist(), strict=True))
    return [[Picture(idx, class_name(sheet.tables, label[idx]), uris[idx]) for idx in one.shown] for one in compared]


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """(H, W, 1 or 3) as a PNG of at most SIDE by SIDE, inlined."""
    from PIL import Image

    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    image.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
