"""Which column, array or file of a data set holds the images, and which the labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from randsmooth.documents import shown
from randsmooth.errors import InputError

IMAGE_NAMES = ("image", "img", "x", "images", "path", "file", "file_name", "filename", "image_path", "pixel_values")
LABEL_NAMES = ("label", "fine_label", "labels", "y", "target", "class", "cls")
NONE = "none"  # given as the label column: there are no labels

# How a data set says which columns to read, for the end of an error.
WAY = "name them with image_column= and label_column= (--image-column NAME --label-column NAME)"


@dataclass(frozen=True)
class ColumnNames:
    """The columns that a user names; None: those with a usual name.

    Example:
        >>> ColumnNames().find(["img", "fine_label", "coarse_label"], "cifar100")
        ('img', 'fine_label')
        >>> ColumnNames(label="none").find(["img", "size"], "mine")
        ('img', None)
    """

    image: str | None = None
    label: str | None = None

    def find(self, names: Iterable[str], source: str) -> tuple[str, str | None]:
        """The names of the image and the label column; None for the latter if there are no labels.

        If there is an image column and nothing else, there are no labels. Else they must be found or be said to lack.

        Raises:
            InputError: a column that is not there, or not known to be the one; the message lists what there is.
        """
        names = list(names)
        image = _named("image", self.image, IMAGE_NAMES, names, source)
        if image is None:
            raise InputError(f"{source} has the columns {_listed(names)}, none called {IMAGE_NAMES[0]}: {WAY}")
        others = [name for name in names if name != image]
        if self.label == NONE and NONE not in names:
            return image, None
        label = _named("label", self.label, LABEL_NAMES, others, source)
        if label is None and others:
            raise InputError(
                f"{source} has the columns {_listed(names)}, none called {LABEL_NAMES[0]}: {WAY}; --label-column "
                f"{NONE} says that there are no labels"
            )
        return image, label


USUAL = ColumnNames()


def _named(what: str, asked: str | None, usual: tuple[str, ...], names: list[str], source: str) -> str | None:
    """The column `asked` for, else the first of the `usual` names that is there; None if none of them is."""
    if asked is not None and asked not in names:
        raise InputError(
            f"{source} has no {what} column {shown(repr(asked))} (--{what}-column); it has {_listed(names)}"
        )
    found = asked if asked is not None else next((name for name in usual if name in names), None)
    if found is not None and names.count(found) > 1:
        raise InputError(f"{source} has the column {found!r} twice: rename one of them")
    return found


def _listed(names: list[str]) -> str:
    return shown(", ".join(names)) or "no names"
