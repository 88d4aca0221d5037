"""Tables of what is at hand as plain arrays: radii of another program, or whatever a metric is asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.certificates.count_columns import whole_numbers
from randsmooth.certificates.counts import from_counts
from randsmooth.certificates.frames import ATTRS
from randsmooth.certificates.header import Header
from randsmooth.certificates.table import ABSTAIN, Certificates, Floats
from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown

# What the metrics take for a table: one, or columns by name (also a DataFrame), or certified radii alone.
CertificatesLike = Certificates | Mapping[str, Any] | ArrayLike
RADII = ("radius", "correct", "label", "predict", "idx", "sigma", "n", "alpha", "name")  # columns and facts
COUNTS = ("counts", "counts0", "n_A", "picked", "path", "seconds", "rule", "bound", "classes")  # and those of counts


def as_certificates(given: CertificatesLike) -> Certificates:
    """The table that is meant by `given`, as every function of `rs.metrics` takes it; a table is returned as it is.

    Args:
        given: a table; or a DataFrame of `Certificates.to_pandas`; or columns by name, of N images each:

            - radius: certified L2 radii, in units of pixels in [0, 1]; 0 where nothing was certified.
            - correct: whether the certified class is right; or label and predict, the classes, -1 for an abstention.
              Without them, every radius above 0 is that of a right image. An image that is not correct abstained if
              its radius is 0.
            - idx: positions of the images; without it two tables are about the same images in the same order.

            with the facts sigma, n and alpha, which metrics of p_A need, and a name; or the columns and facts of
            `from_counts`. An array alone is taken for the radius.

    Raises:
        InputError: a column that is unknown, missing or impossible.

    Example:
        >>> table = as_certificates({"radius": [0.0, 0.4, 0.7], "correct": [False, True, False]})
        >>> table.correct.tolist(), table.predict.tolist()
        ([False, True, False], [-1, 0, 1])
        >>> as_certificates(table) is table
        True
    """
    if isinstance(given, Certificates):
        return given
    if ATTRS in getattr(given, "attrs", ()):
        return Certificates.from_pandas(given)
    columns = _columns(given)
    if columns.keys() & {"counts", "n_A", "path"}:
        facts = {
            key: columns.pop(key) for key in ("sigma", "alpha", "rule", "bound", "classes", "name") if key in columns
        }
        if "sigma" not in facts:
            raise InputError("sigma is missing: counts prove a radius only with the standard deviation of their noise")
        return from_counts(columns, **facts)
    if "radius" not in columns:
        raise InputError(f"radius is missing among the columns {', '.join(columns)}; or give counts (see from_counts)")
    return _of_radii(columns)


def _columns(given: Any) -> dict[str, Any]:
    """The known columns by name. A mapping may hold no others, for they are misspelt ones; a DataFrame may."""
    if isinstance(given, Mapping):
        for name in given:
            if name not in (*RADII, *COUNTS):
                raise unknown("column", name, (*RADII, *COUNTS))
        return dict(given)
    if hasattr(given, "columns"):
        return {name: given[name] for name in given.columns if name in (*RADII, *COUNTS)}
    return {"radius": given}


def _of_radii(columns: dict[str, Any]) -> Certificates:
    given = dict(columns)
    idx, correct = given.pop("idx", None), given.pop("correct", None)
    if correct is not None and "predict" not in given:
        given["predict"] = _predicted(correct, given.get("label"), given["radius"])
    table = from_radii(**given)
    return table if idx is None else replace(table, idx=whole_numbers("idx", idx, (len(table),)))


def _predicted(correct: ArrayLike, label: ArrayLike | None, radius: ArrayLike) -> np.ndarray:
    """(N,) the label where it is correct, ABSTAIN where it is not and the radius is 0, else another class."""
    right, reach = np.asarray(correct), _numbers(radius)
    if right.shape != reach.shape or not np.isin(right, (0, 1)).all():
        raise InputError(f"correct must hold True or False for each of {reach.size} radii; got {right.tolist()}")
    own = np.zeros(reach.shape, np.int64) if label is None else _classes("label", label, reach.shape)
    return np.where(right.astype(bool), own, np.where(reach > 0.0, own + 1, ABSTAIN))


def from_radii(
    radius: ArrayLike,
    *,
    label: ArrayLike | None = None,
    predict: ArrayLike | None = None,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
    name: str = "",
) -> Certificates:
    """The table of N images whose radii another program certified, as though they were read from its log.

    Args:
        radius: (N,) certified L2 radii in units of pixels in [0, 1], 0 where nothing was certified.
        label: (N,) true classes; class 0 if not given.
        predict: (N,) certified classes, or ABSTAIN (-1); the label where the radius is above 0 if not given.
        sigma, n, alpha: of the certification, as far as they are known.
        name: what to call the table in a comparison.

    Raises:
        InputError: arrays of several lengths, classes that are none, a radius that is negative or not finite, or one
            above 0 where the certification abstained.

    Example:
        >>> table = from_radii([0.0, 0.4, 0.7], label=[0, 0, 1], predict=[-1, 0, 0])
        >>> table.correct.tolist()
        [False, True, False]
    """
    radius = np.atleast_1d(_numbers(radius))
    classes = np.zeros(radius.shape, np.int64) if label is None else _classes("label", label, radius.shape)
    certified = np.where(radius > 0.0, classes, ABSTAIN)
    answers = certified if predict is None else _classes("predict", predict, radius.shape)
    wrong = ~((radius >= 0.0) & np.isfinite(radius)) | (classes < 0) | (answers < ABSTAIN)
    wrong |= (answers == ABSTAIN) & (radius > 0.0)
    if np.any(wrong):
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"radius={radius[row]}, label={classes[row]}, predict={answers[row]} in row {row} makes no sense: expected "
            "a finite radius, 0 where predict=-1 abstains, and classes from 0"
        )
    header = Header(sigma=sigma, n=n, alpha=alpha)
    return Certificates(header, np.arange(len(radius)), classes, answers, radius, np.zeros(len(radius)), name=name)


def _numbers(radius: ArrayLike) -> Floats:
    try:
        return np.asarray(radius, np.float64)
    except (TypeError, ValueError):  # also several tables, of which a metric takes one, and a single one for a list
        raise InputError(
            f"{shown(repr(radius))} is no array of certified radii: expected numbers, a table or columns by name"
        ) from None


def _classes(what: str, values: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    found = np.asarray(values)
    if found.shape != shape or (found.size and found.dtype.kind not in "iu"):
        raise InputError(f"{what} must hold one whole number for each of {shape[0]} radii; got {found.tolist()}")
    return found.astype(np.int64)
