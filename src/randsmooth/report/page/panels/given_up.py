"""Who was given up: the images that each table lost and won against the baseline.

They are counted by class, and some are shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates
from randsmooth.extras import needs
from randsmooth.metrics import GivenUp
from randsmooth.report import web
from randsmooth.report.page.panel import PageContent, PanelView

# Side of a picture in pixels; larger pictures are made smaller.
PICTURE_SIDE = 64
# Pictures that are shown for each table.
MOST_PICTURES = 12


def view(content: PageContent) -> PanelView | None:
    """Return changes, by class too, and pictures where they can be had.

    The answer is None without a baseline.
    """
    if not content.against:
        return None
    reference = content.sheet.tables[content.sheet.baseline or 0]
    changes = []
    for one in content.against:
        changes.append([_change(content.sheet.class_names, at) for at in one.given_up])
    printed = {
        "reference": reference,
        "against": content.against,
        "changes": changes,
        "by_class": by_class(content),
        "gallery": gallery(content, reference),
        "scope": content.against[0].comparison.scope,
    }
    return PanelView(printed, title="Who was given up")


def _change(class_names: Mapping[int, str], at: GivenUp) -> tuple[int, int, str]:
    """Return how many images were lost and won, and the class that paid most."""
    return len(at.lost), len(at.won), worst(class_names, at)


def worst(class_names: Mapping[int, str], at: GivenUp) -> str:
    """Say which class paid most: `cat: 12 of 100`."""
    place = list(at.classes).index(at.worst_class)
    net = int(at.lost_by_class[place] - at.won_by_class[place])
    if net <= 0:
        return "none"
    images = int(at.images[place])
    return f"{class_names[at.worst_class]}: {net:,} of {images:,}"


def by_class(content: PageContent) -> list[dict[str, Any]]:
    """Count changes by class at each radius.

    Returns:
        For each radius: the classes among the images compared, how many images each
        has, and (lost, won) of each class by table.
    """
    at_radii = zip(*(one.given_up for one in content.against), strict=True)
    return [_by_class(content.sheet.class_names, given_up) for given_up in at_radii]


def _by_class(
    class_names: Mapping[int, str], given_up: Sequence[GivenUp]
) -> dict[str, Any]:
    """Count changes by class at one radius, of each table."""
    counts = [_counts_of_class(at) for at in given_up]
    labels = sorted(set().union(*counts))
    cells = []
    images = []
    for label in labels:
        of_tables = [of_table.get(label) for of_table in counts]
        cells.append([None if known is None else known[1:] for known in of_tables])
        images.append(max(known[0] for known in of_tables if known is not None))
    return {
        "r": given_up[0].r,
        "names": [class_names[label] for label in labels],
        "images": images,
        "cells": cells,
    }


def _counts_of_class(at: GivenUp) -> dict[int, tuple[int, int, int]]:
    """Return class -> images, lost, won."""
    return {
        label: (images, lost, won)
        for label, images, lost, won in zip(
            at.classes.tolist(),
            at.images.tolist(),
            at.lost_by_class.tolist(),
            at.won_by_class.tolist(),
            strict=True,
        )
    }


def gallery(
    content: PageContent, reference: Certificates
) -> list[tuple[float, list[dict[str, Any]]]]:
    """Return for each table a radius and pictures of images that it lost there.

    The radius is the first at which images were lost; the pictures are of those that
    the reference certifies farthest.
    """
    changed = [_first_loss(one.given_up) for one in content.against]
    if content.pictures is None or not any(len(at.lost) for at in changed):
        return [(at.r, []) for at in changed]

    by_radius = reference.idx[np.argsort(-reference.radius, kind="stable")]
    shown = []
    for at in changed:
        lost = by_radius[np.isin(by_radius, at.lost)]
        shown.append(lost[:MOST_PICTURES].tolist())
    wanted = sorted(set().union(*shown))
    labels = dict(zip(reference.idx.tolist(), reference.label.tolist(), strict=True))
    pictures = {
        idx: {
            "idx": idx,
            "label": content.sheet.class_names[labels[idx]],
            "uri": data_uri(pixels),
        }
        for idx, pixels in zip(wanted, content.pictures(wanted), strict=True)
    }
    return [
        (at.r, [pictures[idx] for idx in images])
        for at, images in zip(changed, shown, strict=True)
    ]


def _first_loss(given_up: Sequence[GivenUp]) -> GivenUp:
    """Return what changed at the first radius at which images were lost, if any were."""
    return next((at for at in given_up if len(at.lost)), given_up[0])


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """Inline (H, W, 1 or 3) as a PNG of at most PICTURE_SIDE by PICTURE_SIDE."""
    with needs("a picture of an image"):
        from PIL import Image

    is_grey = pixels.shape[2] == 1
    image = Image.fromarray(pixels[:, :, 0] if is_grey else pixels)
    image.thumbnail((PICTURE_SIDE, PICTURE_SIDE))
    return web.data_uri(image, "png", optimize=True)
