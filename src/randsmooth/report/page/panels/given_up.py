"""Who was given up: the images that each table lost and won against the baseline, by class, and pictures of some."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates
from randsmooth.extras import needs
from randsmooth.metrics import GivenUp
from randsmooth.report import web
from randsmooth.report.page.panels import PageContent, PanelView

SIDE = 64  # pixels: larger pictures are made smaller
MOST_PICTURES = 12  # for each table


def view(content: PageContent) -> PanelView | None:
    """Changes, by class too, and pictures where they can be had; None without a baseline."""
    if not content.against:
        return None
    names, reference = (
        content.sheet.class_names,
        content.sheet.tables[content.sheet.baseline or 0],
    )
    printed = {
        "reference": reference,
        "against": content.against,
        "changes": [
            [(len(at.lost), len(at.won), worst(names, at)) for at in o.given_up]
            for o in content.against
        ],
        "by_class": by_class(content),
        "gallery": gallery(content, reference),
        "scope": content.against[0].comparison.scope,
    }
    return PanelView(printed)


def worst(class_names: dict[int, str], at: GivenUp) -> str:
    """Which class paid most: `cat: 12 of 100`."""
    place = list(at.classes).index(at.worst_class)
    net = int(at.lost_by_class[place] - at.won_by_class[place])
    return (
        f"{class_names[at.worst_class]}: {net:,} of {int(at.images[place]):,}"
        if net > 0
        else "none"
    )


def by_class(content: PageContent) -> list[dict[str, Any]]:
    """At each radius: the classes among the images compared, how many images each has, and (lost, won) by table."""
    views = []
    for changed in zip(*(one.given_up for one in content.against), strict=True):
        counts = [
            {
                k: rest
                for k, *rest in np.stack(
                    [at.classes, at.images, at.lost_by_class, at.won_by_class], 1
                ).tolist()
            }
            for at in changed
        ]
        labels = sorted(set().union(*counts))
        most = [max(of[label][0] for of in counts if label in of) for label in labels]
        cells = [
            [(of[label][1], of[label][2]) if label in of else None for of in counts]
            for label in labels
        ]
        names = [content.sheet.class_names[label] for label in labels]
        views.append(
            {"r": changed[0].r, "names": names, "images": most, "cells": cells}
        )
    return views


def gallery(
    content: PageContent, reference: Certificates
) -> list[tuple[float, list[dict[str, Any]]]]:
    """For each table a radius, the first at which images were lost, and pictures of those that reached farthest."""
    changed = [
        next((at for at in one.given_up if len(at.lost)), one.given_up[0])
        for one in content.against
    ]
    if content.pictures is None or not any(len(at.lost) for at in changed):
        return [(at.r, []) for at in changed]
    by_radius = reference.idx[np.argsort(-reference.radius, kind="stable")]
    farthest = [
        by_radius[np.isin(by_radius, at.lost)][:MOST_PICTURES].tolist()
        for at in changed
    ]
    wanted = sorted(set().union(*farthest))
    uris = dict(zip(wanted, map(data_uri, content.pictures(wanted)), strict=True))
    label = dict(zip(reference.idx.tolist(), reference.label.tolist(), strict=True))
    shown = {
        idx: {
            "idx": idx,
            "label": content.sheet.class_names[label[idx]],
            "uri": uris[idx],
        }
        for idx in wanted
    }
    return [
        (at.r, [shown[idx] for idx in images])
        for at, images in zip(changed, farthest, strict=True)
    ]


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """(H, W, 1 or 3) as a PNG of at most SIDE by SIDE, inlined."""
    with needs("a picture of an image"):
        from PIL import Image

    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    image.thumbnail((SIDE, SIDE))
    return web.data_uri(image, "png", optimize=True)
