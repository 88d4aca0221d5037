"""Labels as they come: whole numbers, class names, or none at all; and the columns that hold images and labels."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import category, normalize

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import NotFound, Setting, WrongData

NO_LABEL = -1  # in place of every label of images that have none
SIGNS = ("-1", "1")  # two classes that are told apart by a sign
MOST_CLASSES = 100_000
LONGEST_NAME = 1000  # characters of the name of a class
NUMBER = re.compile(r"-?[0-9]{1,18}")

COMPLETE = (
    "complete it, or leave all labels out"  # what to do about a label that is missing
)

Where = Callable[[int], str]  # what to call image `index` in an error
Classes = (
    tuple[str, ...] | None
)  # the names of classes that data give themselves; None: none

# Usual names of a column. The first group of which a name is there is meant; two names of it are asked about.
IMAGE_NAMES = (
    ("image", "img", "images", "pixel_values"),
    ("x", "X", "data", "path", "file", "file_name", "filename", "image_path"),
)
LABEL_NAMES = (
    ("label", "fine_label", "labels", "y", "target", "class", "cls", "Y", "targets"),
)
NONE = "none"  # given as the label column: there are no labels

# How a data set says which columns to read, for the end of an error.
WAY = (
    "name them as ",
    Setting("image_column"),
    " and ",
    Setting("label_column"),
    f"; {NONE} as the label column says that there are no labels",
)


def composed(name: str) -> str:
    """Return `name` with each accented letter as one character (Unicode NFC): other systems store it as two.

    Example:
        >>> len("Cafe\u0301"), len(composed("Cafe\u0301"))
        (5, 4)
    """
    return normalize("NFC", name)


def no_labels(total: int) -> Tensor:
    """(N,) NO_LABEL for each of `total` images."""
    return torch.full((total,), NO_LABEL, dtype=torch.int64)


def labels_of(found: NDArray[Any], where: Where, source: str) -> tuple[Tensor, Classes]:
    """Labels (N,) int64 from an array of whole numbers (N,) or (N, 1), or of texts (see `from_texts`), and their names.

    If all are -1, there are none. If all are -1 or 1, these are the names of two classes.

    Raises:
        Problem: another type or shape, or a number that is no label; the message says which image has it.
    """
    if found.dtype.kind in "fO" and _all_missing(found, where):
        return no_labels(len(found)), None
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        way = (
            "take argmax(1) of one-hot labels"
            if found.ndim == 2
            else "give one whole number an image"
        )
        raise WrongData(f"labels have shape {found.shape}; expected (N,): {way}")
    if found.dtype.kind == "U" or (
        found.dtype == object and all(isinstance(each, str) for each in found)
    ):
        return from_texts(found.tolist(), where, source)
    if found.dtype.kind not in "iu":
        way = "give y.astype(int), or names, one for each image"
        raise WrongData(
            f"the labels of {source} have type {found.dtype}; expected whole numbers from 0: {way}"
        )
    return _of_numbers(torch.from_numpy(found.astype(np.int64)), where)


def _of_numbers(numbers: Tensor, where: Where) -> tuple[Tensor, Classes]:
    """Labels (N,) from whole numbers; -1 and 1 are the names of two classes, as in the literature of SVMs."""
    if set(numbers.unique().tolist()) == {*map(int, SIGNS)}:
        return (numbers > 0).long(), SIGNS
    return check_labels(numbers, MOST_CLASSES, where), None


def _all_missing(values: NDArray[Any], where: Where) -> bool:
    """Return whether no image has a label: all are None, NaN or NA.

    Raises:
        Problem: some have none, and others have; the message names the first.
    """
    missing = (
        [_is_missing(value) for value in values.reshape(len(values), -1)[:, 0]]
        if values.size
        else []
    )
    if any(missing) and not all(missing):
        raise WrongData(
            f"{where(missing.index(True))} has no label, and others have: {COMPLETE}"
        )
    return any(missing)


def _is_missing(value: object) -> bool:
    nan = isinstance(value, float | np.floating) and bool(np.isnan(value))
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType")


def of_categories(
    values: Any, where: Where, source: str
) -> tuple[Tensor, Classes] | None:
    """Return labels (N,) and class names of pandas' categories, in the order of these; None for anything else.

    So "low", "mid" and "high" are 0, 1 and 2 where the user put them in that order. Categories of numbers are no names:
    the values themselves are the labels. Texts of numbers below 0, which are no labels, are names.

    Raises:
        Problem: a value is missing beside others, or a category cannot name a class.
    """
    categorical = getattr(values, "cat", values)
    names, codes = (
        getattr(categorical, "categories", None),
        getattr(categorical, "codes", None),
    )
    if names is None or codes is None:
        return None
    if not all(isinstance(name, str) for name in names) or all(
        NUMBER.fullmatch(name) and not name.startswith("-") for name in names
    ):
        return None
    places = np.asarray(codes, np.int64)
    if (places < 0).all():
        return no_labels(len(places)), None
    if (places < 0).any():
        raise WrongData(
            f"{where(int(places.argmin()))} has no label, and others have: {COMPLETE}"
        )
    return torch.from_numpy(places.copy()), check_names(list(names), source)


def from_texts(
    values: Sequence[str], where: Where, source: str
) -> tuple[Tensor, Classes]:
    """Labels (N,) from texts: numbers as they are; names as places in alphabetical order, with these names.

    -1 and 1 are names of two classes, too.

    Raises:
        Problem: an empty text beside others, a number below 0, or names that cannot name classes.
    """
    cells = [composed(value.strip()) for value in values]
    if not any(cells):
        return no_labels(len(cells)), None
    if "" in cells:
        raise WrongData(
            f"{where(cells.index(''))} has no label, and others have: {COMPLETE}"
        )
    odd = next(
        (row for row, cell in enumerate(cells) if not NUMBER.fullmatch(cell)), None
    )
    if odd is None:
        return _of_numbers(torch.tensor([int(cell) for cell in cells]), where)
    try:
        np.array(cells, dtype=np.float64)
    except ValueError:
        names, places = np.unique(np.array(cells, dtype=object), return_inverse=True)
        return torch.from_numpy(places.astype(np.int64)), check_names(
            names.tolist(), source
        )
    raise WrongData(
        f"label {shown(cells[odd])} of {where(odd)}: labels must be whole numbers or names"
    )


def check_names(names: Sequence[object], source: str) -> tuple[str, ...]:
    """Return the class `names`, composed and safe to be shown.

    Raises:
        Problem: one is no text, is too long, or occurs twice.
    """
    if len(names) > MOST_CLASSES or len({composed(str(name)) for name in names}) < len(
        names
    ):
        raise WrongData(
            f"the {len(names)} class names of {source} must be different ones, at most {MOST_CLASSES:,}"
        )
    for name in names:
        if (
            not isinstance(name, str)
            or len(name) > LONGEST_NAME
            or any(category(c) in ("Cc", "Cs") for c in name)
        ):
            limits = (
                f"at most {LONGEST_NAME:,} characters, no control characters among them"
            )
            raise WrongData(
                f"{shown(repr(name))} cannot be the name of a class of {source}: expected {limits}"
            )
    return tuple(composed(str(name)) for name in names)


def in_class_order(names: Iterable[str]) -> list[str]:
    """The order in which classes of these names are numbered: of whole numbers by their size, else the alphabet's.

    Example:
        >>> in_class_order(["10", "9", "2"]), in_class_order(["10", "9", "cat"])
        (['2', '9', '10'], ['10', '9', 'cat'])
    """
    names = sorted(names)
    return (
        sorted(names, key=int)
        if all(name.isascii() and name.isdigit() for name in names)
        else names
    )


def check_labels(labels: Tensor, classes: int, where: Where) -> Tensor:
    """`labels` (N,). Problem names the first outside 0..classes-1, unless all are NO_LABEL."""
    wrong = torch.nonzero((labels < 0) | (labels >= classes)).flatten()
    if len(wrong) and bool((labels != NO_LABEL).any()):
        index = int(wrong[0])
        why = (
            "; -1, for images without a label, must stand for all of them; where it is "
            "a class, give pd.Categorical(y.astype(str))"
            if labels[index] == NO_LABEL
            else ""
        )
        raise WrongData(
            f"label {int(labels[index])} of {where(index)} is not in 0..{classes - 1}{why}"
        )
    return labels


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
            Problem: a column that is not there, or not known to be the one; the message lists what there is.
        """
        names = list(names)
        image = _column(self.image, IMAGE_NAMES, names, source)
        return image, self.label_among(names, source, image)

    def label_among(
        self, names: list[str], source: str, image: str | None = None
    ) -> str | None:
        """The label column among `names` but `image`; None where there are no labels. Errors as `find`."""
        nothing_else = self.label is None and not {*names} - {image}
        if nothing_else or (self.label == NONE and NONE not in names):
            return None
        return _column(self.label, LABEL_NAMES, names, source, image)


USUAL = ColumnNames()


def _column(
    asked: str | None,
    usual: tuple[tuple[str, ...], ...],
    names: list[str],
    source: str,
    taken: str | None = None,
) -> str:
    """Return the column that is `asked` for, else the one with a `usual` name, and not the one `taken` already.

    Raises:
        Problem: there is none, or several could be meant.
    """
    left = [name for name in names if name != taken]
    groups = usual if asked is None else ((asked,),)
    found = next(filter(None, (_called(group, left) for group in groups)), [])
    if not found:
        there = shown(", ".join(names)) or "no names"
        raise NotFound(
            f"{source} has the columns {there}, none called {shown(repr(groups[0][0]))}",
            fix=WAY,
        )
    if len(found) > 1:
        raise _several(found, asked is not None, usual is LABEL_NAMES, source)
    return found[0]


def _called(group: Sequence[str], names: Sequence[str]) -> list[str]:
    """The `names` that are in the `group`, whichever way their letters are composed."""
    wanted = {composed(name) for name in group}
    return [name for name in names if composed(name) in wanted]


def _several(found: Sequence[str], asked: bool, labels: bool, source: str) -> WrongData:
    """Return the problem of columns of which each could be meant."""
    if asked or len(set(found)) == 1:
        return WrongData(
            f"{source} has the column {found[0]!r} twice", fix="rename one of them"
        )
    what, option = ("labels", "label_column") if labels else ("images", "image_column")
    either = " and ".join(repr(name) for name in found)
    return WrongData(
        f"{source} has the columns {either}, and either may hold the {what}",
        field=option,
        fix=("say which, such as ", Setting(option, found[0])),
    )
