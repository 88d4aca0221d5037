"""Who was given up: the images that each table lost and won against the baseline, by class, and pictures of some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsmooth.extras import needs
from randsmooth.metrics import GivenUp
from randsmooth.report import web
from randsmooth.report.page.panels import PageContent, PanelView

SIDE = 64  # pixels: larger pictures are made smaller


class Change(NamedTuple):
    """How many images one table lost and won at one radius; `worst` says which class paid most."""

    lost: int
    won: int
    worst: str


class ByClass(NamedTuple):
    """At radius `r`: the classes, how many images each has, and (lost, won) as [class][table]; None without images."""

    r: float
    names: list[str]
    images: list[int]
    cells: list[list[tuple[int, int] | None]]


class Picture(NamedTuple):
    """One lost image: where it is, what it shows, and its pixels as a data URI."""

    idx: int
    label: str
    uri: str


def view(content: PageContent) -> PanelView | None:
    """Changes, by class too, and pictures where they can be had; None without a baseline."""
    if not content.against:
        return None
    return PanelView(
        {
            "reference": content.sheet.tables[content.sheet.baseline or 0],
            "against": content.against,
            "changes": changes(content),
            "by_class": by_class(content),
            "gallery": gallery(content),
            "scope": content.against[0].comparison.scope,
        }
    )


def changes(content: PageContent) -> list[list[Change]]:
    """For each table against the baseline, a change at each radius of its `given_up`."""
    names = content.sheet.class_names
    return [[Change(len(at.lost), len(at.won), _worst(names, at)) for at in one.given_up] for one in content.against]


def _worst(class_names: dict[int, str], at: GivenUp) -> str:
    place = list(at.classes).index(at.worst_class)
    net = int(at.lost_by_class[place] - at.won_by_class[place])
    return f"{class_names[at.worst_class]}: {net:,} of {int(at.images[place]):,}" if net > 0 else "none"


def by_class(content: PageContent) -> list[ByClass]:
    """One view for each radius; classes are those that occur among the images compared."""
    at_each_radius = zip(*(one.given_up for one in content.against), strict=True)
    return [_by_class(content.sheet.class_names, changed) for changed in at_each_radius]


def _by_class(class_names: dict[int, str], changed: Sequence[GivenUp]) -> ByClass:
    labels = sorted({int(label) for at in changed for label in at.classes})
    columns = [_of_classes(at) for at in changed]
    most = [max(column[label][0] for column in columns if label in column) for label in labels]
    cells = [[column[label][1:] if label in column else None for column in columns] for label in labels]
    return ByClass(changed[0].r, [class_names[label] for label in labels], most, cells)


def _of_classes(at: GivenUp) -> dict[int, tuple[int, int, int]]:
    """For each label, how many images there are, were lost, and were won."""
    counted = np.stack([at.images, at.lost_by_class, at.won_by_class], axis=1).tolist()
    return {int(label): (row[0], row[1], row[2]) for label, row in zip(at.classes, counted, strict=True)}


def gallery(content: PageContent) -> list[list[Picture]]:
    """For each table against the baseline the pictures of its `pictured` images; empty lists without `pictures`."""
    wanted = sorted({idx for one in content.against for idx in one.pictured})
    if content.pictures is None or not wanted:
        return [[] for _ in content.against]
    uris = dict(zip(wanted, map(data_uri, content.pictures(wanted)), strict=True))
    reference = content.sheet.tables[content.sheet.baseline or 0]
    label = dict(zip(reference.idx.tolist(), reference.label.tolist(), strict=True))
    names = content.sheet.class_names
    return [[Picture(idx, names[label[idx]], uris[idx]) for idx in one.pictured] for one in content.against]


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """(H, W, 1 or 3) as a PNG of at most SIDE by SIDE, inlined."""
    with needs("a picture of an image"):
        from PIL import Image

    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    image.thumbnail((SIDE, SIDE))
    return web.data_uri(image, "png", optimize=True)
