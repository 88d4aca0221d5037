"""Tables of certificates that other programs made: radii alone, or columns by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.certificates.counts_given import whole_numbers
from randsmooth.certificates.evidence import ABSTAIN, Floats, Ints
from randsmooth.certificates.header import Header
from randsmooth.certificates.table import ATTRS, Certificates
from randsmooth.documents import shown
from randsmooth.errors import BadValue, MissingValue, check_known

# What the metrics take for a table: one, or columns by name (also a DataFrame), or
# certified radii alone.
CertificatesLike = Certificates | Mapping[str, Any] | ArrayLike
# The columns and facts of such a table, as they are named.
NAMES = (
    *("radius", "correct", "label", "predict", "idx"),
    *("sigma", "n", "alpha", "name"),
)


def as_certificates(given: CertificatesLike) -> Certificates:
    """Return the table that is meant by `given`, as every function of `rs.metrics`
    takes it.

    A table is returned as it is.

    Args:
        given: a table; or columns by name, also as a DataFrame, of N images each:

            - radius: certified L2 radii, in units of pixels in [0, 1]; 0 where nothing
                was certified.
            - correct: whether the certified class is right; or label and predict, the
              classes, -1 for an abstention. Without them, every radius above 0 is that
              of a right image. An image that is not correct abstained if its radius is
              0.
            - idx: positions of the images; without it two tables are about the same
                images in the same order.

            with the facts sigma, n and alpha, which metrics of p_A need, and a name. An
            array alone is taken for the radius. For counts, use `from_counts`.

    Raises:
        Problem: a column that is unknown, missing or impossible.

    Example:
        >>> columns = {"radius": [0.0, 0.4, 0.7], "correct": [False, True, False]}
        >>> table = as_certificates(columns)
        >>> table.correct.tolist(), table.predict.tolist()
        ([False, True, False], [-1, 0, 1])
        >>> as_certificates(table) is table
        True
    """
    if isinstance(given, Certificates):
        return given
    if ATTRS in getattr(given, "attrs", ()):
        raise BadValue(
            "this DataFrame was made of a table, and says less: give the table, "
            "or table.rows(...) of it"
        )
    if isinstance(given, Mapping):
        # A mapping is made for this: a name that is not known is misspelt.
        check_known("column", NAMES, *given)
        names = list(given)
    elif hasattr(given, "columns"):
        names = list(given.columns)
    else:
        return from_radii(given)
    if "radius" not in names:
        raise MissingValue(
            field="radius",
            expected=f"is missing in the columns {', '.join(map(str, names))}",
            fix="of counts, see from_counts",
        )
    columns: Any = given
    return from_radii(**{name: columns[name] for name in names if name in NAMES})


def from_radii(
    radius: ArrayLike,
    *,
    correct: ArrayLike | None = None,
    label: ArrayLike | None = None,
    predict: ArrayLike | None = None,
    idx: ArrayLike | None = None,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
    name: str = "",
) -> Certificates:
    """Return the table of N images whose radii another program certified.

    The table is the one that would be read from a log of these radii.

    Args:
        radius: (N,) certified L2 radii in units of pixels in [0, 1], 0 where nothing
            was certified.
        correct: (N,) whether the certified class is right; not used where `predict` is
            given. By default it is right for every radius above 0. An image that is not
            correct abstained if its radius is 0.
        label: (N,) true classes; class 0 if not given.
        predict: (N,) certified classes, or ABSTAIN (-1).
        idx: (N,) positions of the images; 0..N-1 if not given.
        sigma, n, alpha: the sigma, n and alpha of the certification, as far as they are
            known.
        name: the name for the table in a comparison.

    Raises:
        Problem: arrays of several lengths, classes that are none, a radius that is
            negative or not finite, or one above 0 where the certification abstained.

    Example:
        >>> table = from_radii([0.0, 0.4, 0.7], label=[0, 0, 1], predict=[-1, 0, 0])
        >>> table.correct.tolist()
        [False, True, False]
    """
    radii = _radii(radius)
    right = _right_images(correct, radii)
    labels = np.zeros(radii.shape, np.int64)
    if label is not None:
        labels = whole_numbers("label", label, *radii.shape)
    if predict is None:
        # Of a wrong answer it is known only that it is not the label: the next class
        # stands for it.
        wrong_answers = np.where(radii > 0.0, labels + 1, ABSTAIN)
        answers = np.where(right, labels, wrong_answers)
    else:
        answers = whole_numbers("predict", predict, *radii.shape)
    _check_possible(radii, labels, answers)
    positions = np.arange(len(radii))
    if idx is not None:
        positions = whole_numbers("idx", idx, len(radii))
    return Certificates(
        header=Header(sigma=sigma, n=n, alpha=alpha),
        idx=positions,
        label=labels,
        predict=answers,
        radius=radii,
        seconds=np.zeros(len(radii)),
        name=name,
    )


def _radii(radius: ArrayLike) -> Floats:
    """Return the given radii as an array (N,).

    Raises:
        Problem: it is no array of numbers, but a list of tables, say.
    """
    try:
        return np.atleast_1d(np.asarray(radius, np.float64))
    except (TypeError, ValueError):
        raise BadValue(
            f"{shown(repr(radius))} is not an array of radii: expected numbers, a "
            "table or columns",
            field="radius",
            value=radius,
        ) from None


def _right_images(correct: ArrayLike | None, radii: Floats) -> np.ndarray[Any, Any]:
    """Return (N,) whether each image is right: as given, or where its radius is above 0."""
    if correct is None:
        return radii > 0.0
    right = np.asarray(correct)
    if right.shape != radii.shape or not np.isin(right, (0, 1)).all():
        raise BadValue(
            f"correct must hold True or False for each of {radii.size} radii; "
            f"got {right.tolist()}",
            field="correct",
            value=right.tolist(),
        )
    return right


def _check_possible(radii: Floats, labels: Ints, answers: Ints) -> None:
    """Raise Problem for the first row that no certification can have given."""
    possible = (radii >= 0.0) & np.isfinite(radii) & (labels >= 0)
    wrong = ~possible | ((answers == ABSTAIN) & (radii > 0.0))
    if np.any(wrong):
        row = int(np.argmax(wrong))
        raise BadValue(
            f"radius={radii[row]}, label={labels[row]}, "
            f"predict={answers[row]} in row {row}: "
            "expected a finite radius, 0 where predict=-1 abstains, and classes from 0"
        )
