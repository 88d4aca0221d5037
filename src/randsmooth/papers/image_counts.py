"""How many images the papers' figures rest on, where their text, their figures or their released code and logs say."""

from __future__ import annotations

ALL = 10_000  # of the test sets of MNIST and CIFAR-10

# By paper and object; by paper alone for its other objects.
IMAGES: dict[tuple[str, ...], int] = {
    ("acr",): ALL,  # the released logs, which give the figures of table 2
    ("acr", "imagenet"): 500,  # likewise
    ("cat-rs",): ALL,  # the released logs
    **{("cat-rs", name): 500 for name in ("table3", "table5", "table6", "table7")},  # section 4.3
    ("macer",): 500,  # the default of the released code; the text does not say
}


def images_of(paper: str, object: str) -> int | None:
    """Images that the figures of `object` rest on; None where nothing says."""
    return IMAGES.get((paper, object), IMAGES.get((paper,)))
