"""Labels as they come: whole numbers, class names, or none at all."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from unicodedata import category, normalize

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import WrongData

# The label of images that have none.
NO_LABEL = -1

# The names of two classes whose labels are -1 and 1.
SIGNS = ("-1", "1")

# The most classes of a data set.
MOST_CLASSES = 100_000

# The most characters of the name of a class.
LONGEST_NAME = 1000

WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
# Unicode's categories of control characters and of halves of characters.
UNPRINTABLE = ("Cc", "Cs")
# Types of pandas that stand for a missing value.
MISSING_TYPES = ("NAType", "NaTType")

# What to do about a label that is missing.
COMPLETE = "complete it, or leave all labels out"

# A function that returns how an error names the image with an index, such as "row 3 of a.csv".
Where = Callable[[int], str]

# The names of classes that the data themselves give; None: they number the classes.
Classes = tuple[str, ...] | None


def composed(name: str) -> str:
    """Return `name` with each accented letter as one character (Unicode NFC).

    Other systems store such a letter as two.

    Example:
        >>> len("Cafe\u0301"), len(composed("Cafe\u0301"))
        (5, 4)
    """
    return normalize("NFC", name)


def no_labels(total: int) -> Tensor:
    """Return the labels (N,) of N = `total` images without labels: NO_LABEL for each."""
    return torch.full((total,), NO_LABEL, dtype=torch.int64)


def labels_of(
    values: NDArray[Any], where: Where, source: str
) -> tuple[Tensor, Classes]:
    """Return labels (N,) int64 and class names from an array of numbers or of texts.

    If all numbers are -1, there are no labels. If both -1 and 1 occur and nothing else,
    these are the names of two classes. Texts are read as by `from_texts`.

    Args:
        values: (N,) or (N, 1).
        where: names an image in errors.
        source: names the data in errors.

    Raises:
        WrongData: another type or shape, or a number that is no label; the message says
            which image has it.
    """
    # Only floats and objects can be missing: NaN, None or NA.
    if values.dtype.kind in "fO" and _all_missing(values, where):
        return no_labels(len(values)), None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        way_out = "give one whole number an image"
        if values.ndim == 2:
            way_out = "take argmax(1) of one-hot labels"
        raise WrongData(f"labels have shape {values.shape}; expected (N,)", fix=way_out)

    if _are_texts(values):
        return from_texts(values.tolist(), where, source)
    if values.dtype.kind not in "iu":
        raise WrongData(
            f"the labels of {source} have type {values.dtype}; expected whole numbers "
            "from 0",
            fix="give y.astype(int), or names, one for each image",
        )
    return _of_numbers(torch.from_numpy(values.astype(np.int64)), where)


def _are_texts(values: NDArray[Any]) -> bool:
    """Return whether all values are texts."""
    if values.dtype.kind == "U":
        return True
    return values.dtype == object and all(isinstance(value, str) for value in values)


def _of_numbers(numbers: Tensor, where: Where) -> tuple[Tensor, Classes]:
    """Return labels (N,) from whole numbers, and class names where they are -1 and 1.

    The literature of support vector machines numbers two classes by -1 and 1.
    """
    if set(numbers.unique().tolist()) == {-1, 1}:
        return (numbers > 0).long(), SIGNS
    return check_labels(numbers, MOST_CLASSES, where), None


def _all_missing(values: NDArray[Any], where: Where) -> bool:
    """Return whether all labels are missing: None, NaN or NA.

    Raises:
        WrongData: only some are missing; the message names the first image without one.
    """
    if not values.size:
        return False

    # Labels may be (N, 1), or one-hot rows, of which the first number tells.
    first_of_each = values.reshape(len(values), -1)[:, 0]
    missing = [_is_missing(value) for value in first_of_each]
    if any(missing) and not all(missing):
        raise _lacks_label(missing.index(True), where)
    return all(missing)


def _is_missing(value: object) -> bool:
    """Return whether a label is None, NaN, or pandas' NA or NaT."""
    # pandas' types are known by their names, so that pandas is not loaded.
    if value is None or type(value).__name__ in MISSING_TYPES:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _lacks_label(index: int, where: Where) -> WrongData:
    """Return the problem of an image without a label, where others have one."""
    return WrongData(f"{where(index)} has no label, and others have", fix=COMPLETE)


def of_categories(
    values: Any, where: Where, source: str
) -> tuple[Tensor, Classes] | None:
    """Return labels (N,) and class names from values of pandas' type "category".

    Classes are numbered in the order of the categories, which a user may choose: "low",
    "mid" and "high" are 0, 1 and 2.

    Args:
        values: a Series, an Index or a Categorical of pandas, or anything else.
        where: names an image in errors.
        source: names the data in errors.

    Returns:
        None where `values` are of another type, or where the categories are no names but
        numbers: then the values themselves are labels.

    Raises:
        WrongData: only some values are missing, or a category cannot name a class.
    """
    # A Series has its categories under `cat`, the others have them directly.
    categorical = getattr(values, "cat", values)
    names = getattr(categorical, "categories", None)
    codes = getattr(categorical, "codes", None)
    if names is None or codes is None or not _name_classes(names):
        return None

    # pandas' code of a missing value is -1.
    places = np.asarray(codes, np.int64)
    missing = places < 0
    if missing.all():
        return no_labels(len(places)), None
    if missing.any():
        raise _lacks_label(int(places.argmin()), where)
    # The codes may be pandas' own, which must not be written to.
    return torch.from_numpy(places.copy()), check_names(list(names), source)


def _name_classes(categories: Iterable[object]) -> bool:
    """Return whether categories are names: texts, and not all of them labels themselves.

    A text of a whole number from 0 on is a label. One below 0 is none, so it is a name.
    """
    texts = [name for name in categories if isinstance(name, str)]
    if len(texts) < len(list(categories)):
        return False
    return not all(
        WHOLE_NUMBER.fullmatch(text) and not text.startswith("-") for text in texts
    )


def from_texts(
    values: Sequence[str], where: Where, source: str
) -> tuple[Tensor, Classes]:
    """Return labels (N,) and class names from texts.

    If all texts are whole numbers, they are the labels, or -1 and 1 as in `labels_of`. If
    not, they are names of classes, which are numbered in alphabetical order.

    Args:
        values: the texts.
        where: names an image in errors.
        source: names the data in errors.

    Raises:
        WrongData: only some texts are empty, a number is below 0, numbers are not whole,
            or a text cannot name a class.
    """
    cells = [composed(value.strip()) for value in values]
    if not any(cells):
        return no_labels(len(cells)), None
    if "" in cells:
        raise _lacks_label(cells.index(""), where)

    no_whole_number = [
        row for row, cell in enumerate(cells) if not WHOLE_NUMBER.fullmatch(cell)
    ]
    if not no_whole_number:
        return _of_numbers(torch.tensor([int(cell) for cell in cells]), where)

    # If all are numbers, such as 0.5, they are not labels, and most likely not names.
    if _are_numbers(cells):
        first = no_whole_number[0]
        raise WrongData(
            f"label {shown(cells[first])} of {where(first)}: labels must be whole "
            "numbers or names"
        )
    names, places = np.unique(np.array(cells, dtype=object), return_inverse=True)
    labels = torch.from_numpy(places.astype(np.int64))
    return labels, check_names(names.tolist(), source)


def _are_numbers(cells: Sequence[str]) -> bool:
    """Return whether all texts are numbers."""
    try:
        np.array(cells, dtype=np.float64)
    except ValueError:
        return False
    return True


def check_names(names: Sequence[object], source: str) -> tuple[str, ...]:
    """Check that `names` can be class names, and return them composed (see `composed`).

    Raises:
        WrongData: a name is no text, is too long, cannot be shown or occurs twice, or there
            are too many.
    """
    different = {composed(str(name)) for name in names}
    if len(names) > MOST_CLASSES or len(different) < len(names):
        raise WrongData(
            f"the {len(names)} class names of {source} must be different ones, at most "
            f"{MOST_CLASSES:,}"
        )
    for name in names:
        if not _can_name_a_class(name):
            raise WrongData(
                f"{shown(repr(name))} cannot be the name of a class of {source}: "
                f"expected at most {LONGEST_NAME:,} characters, no control characters "
                "among them"
            )
    return tuple(composed(str(name)) for name in names)


def _can_name_a_class(name: object) -> bool:
    """Return whether a name is a text that can be shown, and not too long."""
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        return False
    return not any(category(character) in UNPRINTABLE for character in name)


def in_class_order(names: Iterable[str]) -> list[str]:
    """Return class names in the order in which their classes are numbered.

    Whole numbers come by their size, other names as in the alphabet.

    Example:
        >>> in_class_order(["10", "9", "2"]), in_class_order(["10", "9", "cat"])
        (['2', '9', '10'], ['10', '9', 'cat'])
    """
    names = sorted(names)
    if all(name.isascii() and name.isdigit() for name in names):
        return sorted(names, key=int)
    return names


def check_labels(labels: Tensor, classes: int, where: Where) -> Tensor:
    """Check that numbers (N,) are labels of `classes` classes, and return them.

    Args:
        labels: the numbers. All of them may be NO_LABEL.
        classes: K.
        where: names an image in errors.

    Raises:
        WrongData: one lies outside 0..K-1, unless all are NO_LABEL.
    """
    wrong = torch.nonzero((labels < 0) | (labels >= classes)).flatten()
    are_all_missing = not bool((labels != NO_LABEL).any())
    if not len(wrong) or are_all_missing:
        return labels

    index = int(wrong[0])
    label = int(labels[index])
    message = f"label {label} of {where(index)} is not in 0..{classes - 1}"
    if label != NO_LABEL:
        raise WrongData(message)
    raise WrongData(
        message,
        fix="-1, for images without a label, must stand for all of them; where it is "
        "a class, give pd.Categorical(y.astype(str))",
    )


def guessing(labels: Tensor, classes: int) -> float:
    """Return the accuracy of an answer that is always the most frequent of `labels`.

    If all labels are of one class, this accuracy would be 1, which no model can exceed.
    Then 1 / K is returned, the accuracy of an answer by chance.

    Args:
        labels: (N,) int64, from 0 on.
        classes: K.

    Example:
        >>> guessing(torch.tensor([0, 0, 0, 1]), 2), guessing(torch.tensor([3, 3]), 10)
        (0.75, 0.1)
    """
    counts = labels.bincount()
    if int((counts > 0).sum()) == 1:
        return 1.0 / classes
    return int(counts.max()) / len(labels)


def numbered(labels: Tensor) -> tuple[str, ...]:
    """Return names for classes that are only numbered: "0", "1", ... up to the largest label.

    Images without labels have no classes.
    """
    # The largest of them is NO_LABEL, -1: then the range is empty.
    return tuple(str(k) for k in range(int(labels.max()) + 1))


def renumbered(labels: Tensor, classes: Sequence[str], others: Sequence[str]) -> Tensor:
    """Return labels (N,) that number `classes` as labels that number `others`.

    Args:
        labels: the labels; NO_LABEL stays as it is.
        classes: the names of the classes, in the order of the labels.
        others: the same names, and perhaps more, in the order of the new labels.

    Example:
        >>> classes = ["ant", "cat"]
        >>> others = ["ant", "bee", "cat"]
        >>> renumbered(torch.tensor([1, 0, NO_LABEL]), classes, others).tolist()
        [2, 0, -1]
    """
    new_label_of = {name: label for label, name in enumerate(others)}
    new_labels = [new_label_of[name] for name in classes]
    # NO_LABEL is -1, which as an index means the last entry.
    return torch.tensor([*new_labels, NO_LABEL])[labels]
