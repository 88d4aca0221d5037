"""Refusals inside the vote: the class that stands for declined answers."""

from __future__ import annotations

from collections.abc import Sequence

from randsmooth.errors import BadValue, WrongData

# The value of `refusal` that adds a class to those of the data, and the name of that class.
ADDED = "class"
NAME_OF_ADDED = "declined"


def refusal_name(refusal: str | None) -> str | None:
    """Return the name of the class that `refusal` means; None where it is None.

    Raises:
        BadValue: it is no name.

    Example:
        >>> refusal_name("class"), refusal_name("none of these")
        ('declined', 'none of these')
    """
    if refusal is None:
        return None
    if not isinstance(refusal, str) or not refusal.strip():
        raise BadValue(
            field="refusal",
            value=refusal,
            expected="must be 'class', or the name of the class that means declined",
        )
    return NAME_OF_ADDED if refusal == ADDED else refusal


def with_refusal(classes: Sequence[str], name: str) -> tuple[str, ...]:
    """Return the names of classes, with `name` as the last one unless it is among them.

    Example:
        >>> with_refusal(["cat", "dog"], "declined")
        ('cat', 'dog', 'declined')
        >>> with_refusal(["none", "cat"], "none")
        ('none', 'cat')
    """
    return tuple(classes) if name in classes else (*classes, name)


def named_classes(
    classes: Sequence[str], largest_label: int, name: str | None
) -> tuple[tuple[str, ...], int | None]:
    """Return the names of all classes, and the number of that of declined answers.

    Where no class has its `name`, the last one gets it. A `name` of None changes nothing.

    Args:
        classes: the names of the classes that the model answers with.
        largest_label: the largest label of the images; NO_LABEL (-1) without labels.
        name: the name of the class of declined answers, or None.

    Raises:
        WrongData: an image has the last class as its label.

    Example:
        >>> named_classes(["0", "1", "2"], 1, "declined")
        (('0', '1', 'declined'), 2)
    """
    if name is None:
        return tuple(classes), None
    if name in classes:
        return tuple(classes), list(classes).index(name)
    last = len(classes) - 1
    if largest_label >= last:
        raise WrongData(
            f"the last class of the model, {last}, is to mean declined, and images have "
            "it as their label",
            field="refusal",
            value=name,
            fix="give a model with one class more than the labels, or the name of "
            "the class that means declined",
        )
    return (*classes[:-1], name), last
