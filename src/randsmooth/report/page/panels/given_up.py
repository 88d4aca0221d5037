"""Who was given up: the images that each table lost and won against the baseline.

A table lost an image that only the baseline certifies at a radius, and won one that only
it certifies. Images are counted by class, and some are shown.
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

# The longest side of a picture, in pixels; larger pictures are made smaller.
PICTURE_SIDE = 64
# The most pictures that are shown for each table.
MOST_PICTURES = 12


def view(content: PageContent) -> PanelView | None:
    """Return the changes, in all and by class, and pictures where they can be had.

    The answer is None where no table was compared with a baseline.
    """
    if not content.against:
        return None
    assert content.sheet.baseline is not None, "tables were compared with it"
    reference = content.sheet.tables[content.sheet.baseline]
    # [table][radius]
    changes = []
    for compared in content.against:
        changes.append(
            [_change(content.sheet.class_names, at) for at in compared.given_up]
        )
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
    """Return how many images were lost and won at a radius, and the worst class.

    Args:
        class_names: class -> its name.
        at: the changes at one radius.
    """
    return len(at.lost), len(at.won), worst(class_names, at)


def worst(class_names: Mapping[int, str], at: GivenUp) -> str:
    """Return the class with the largest net loss: "cat: 12 of 100"; "none" without one."""
    index = list(at.classes).index(at.worst_class)
    net_loss = int(at.lost_by_class[index] - at.won_by_class[index])
    if net_loss <= 0:
        return "none"
    images = int(at.images[index])
    return f"{class_names[at.worst_class]}: {net_loss:,} of {images:,}"


def by_class(content: PageContent) -> list[dict[str, Any]]:
    """Return the changes of all tables by class, a block for each radius.

    A block has the names that `given_up.html.j2` reads (see `_by_class`).
    """
    # All tables have changes at the same radii: here for each radius those of all tables.
    changes_at_radii = zip(
        *(compared.given_up for compared in content.against), strict=True
    )
    return [
        _by_class(content.sheet.class_names, of_tables)
        for of_tables in changes_at_radii
    ]


def _by_class(
    class_names: Mapping[int, str], given_up: Sequence[GivenUp]
) -> dict[str, Any]:
    """Return the changes at one radius by class.

    Args:
        class_names: class -> its name.
        given_up: the changes of each table at this radius.

    Returns:
        "r": the radius. "names": of the classes among the images compared. "images": the
        number of images of each class, the largest where tables differ. "cells":
        (lost, won) at [class][table], None where a table shares no image of the class
        with the baseline.
    """
    counts_of_tables = [_counts_of_class(at) for at in given_up]
    labels = sorted(set().union(*counts_of_tables))
    cells = []
    images = []
    for label in labels:
        of_tables = [counts.get(label) for counts in counts_of_tables]
        cells.append([None if known is None else known[1:] for known in of_tables])
        # A label comes from some table, so that one at least has counts of it.
        images.append(max(known[0] for known in of_tables if known is not None))
    return {
        "r": given_up[0].r,
        "names": [class_names[label] for label in labels],
        "images": images,
        "cells": cells,
    }


def _counts_of_class(at: GivenUp) -> dict[int, tuple[int, int, int]]:
    """Return class -> the numbers of its images, of those lost and of those won."""
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
    """Return for each table a radius, and pictures of images that it lost there.

    The radius is the first at which the table lost images. The pictures are of those
    that the reference certifies farthest; there are none where no images can be had.

    Args:
        reference: the baseline.
    """
    changed = [_first_loss(compared.given_up) for compared in content.against]
    if content.pictures is None or not any(len(at.lost) for at in changed):
        return [(at.r, []) for at in changed]

    farthest_first = reference.idx[np.argsort(-reference.radius, kind="stable")]
    shown = []
    for at in changed:
        lost = farthest_first[np.isin(farthest_first, at.lost)]
        shown.append(lost[:MOST_PICTURES].tolist())
    # Each image is looked for once, also where several tables lost it.
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
    """Return the changes at the first radius with images lost, or at the first of all."""
    return next((at for at in given_up if len(at.lost)), given_up[0])


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """Return pixels (H, W, 1 or 3) as the address of an inline PNG picture.

    It has at most PICTURE_SIDE by PICTURE_SIDE pixels.
    """
    # Pillow comes with an extra: where it is missing, the error names the extra.
    with needs("a picture of an image"):
        from PIL import Image

    is_grey = pixels.shape[2] == 1
    image = Image.fromarray(pixels[:, :, 0] if is_grey else pixels)
    image.thumbnail((PICTURE_SIDE, PICTURE_SIDE))
    return web.data_uri(image, "png", optimize=True)
