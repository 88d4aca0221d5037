"""Tables of plain arrays, of columns by name and of pandas DataFrames, and as DataFrames.

A DataFrame holds the evidence and what follows from it, and the header in `DataFrame.attrs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.certificates.counts import lump, whole_numbers
from randsmooth.certificates.header import Header
from randsmooth.certificates.table import ABSTAIN, Certificates, Floats, Ints, from_evidence, marked
from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown

if TYPE_CHECKING:
    import pandas as pd

# What the metrics take for a table: one, or columns by name (also a DataFrame), or certified radii alone.
CertificatesLike = Certificates | Mapping[str, Any] | ArrayLike
RADII = ("radius", "correct", "label", "predict", "idx", "sigma", "n", "alpha", "name")  # columns and facts
ATTRS = "randsmooth"  # the key in a frame's attrs
LOG = ("idx", "label", "predict", "radius", "seconds")  # columns of a table without counts


def as_certificates(given: CertificatesLike) -> Certificates:
    """The table that is meant by `given`, as every function of `rs.metrics` takes it; a table is returned as it is.

    Args:
        given: a table; or a DataFrame of `Certificates.to_pandas`; or columns by name, of N images each:

            - radius: certified L2 radii, in units of pixels in [0, 1]; 0 where nothing was certified.
            - correct: whether the certified class is right; or label and predict, the classes, -1 for an abstention.
              Without them, every radius above 0 is that of a right image. An image that is not correct abstained if
              its radius is 0.
            - idx: positions of the images; without it two tables are about the same images in the same order.

            with the facts sigma, n and alpha, which metrics of p_A need, and a name. An array alone is taken for the
            radius. Of counts, `from_counts` makes a table.

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
    return from_radii(**_columns(given))


def _columns(given: Any) -> dict[str, Any]:
    """The known columns by name. A mapping may hold no others, for they are misspelt ones; a DataFrame may."""
    if not (isinstance(given, Mapping) or hasattr(given, "columns")):
        return {"radius": given}
    names = [*(given if isinstance(given, Mapping) else given.columns)]
    if isinstance(given, Mapping) and (odd := [name for name in names if name not in RADII]):
        raise unknown("column", odd[0], RADII)
    if "radius" not in names:
        raise InputError(f"radius is missing in the columns {', '.join(map(str, names))}; of counts, see from_counts")
    return {name: given[name] for name in names if name in RADII}


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
    """The table of N images whose radii another program certified, as though they were read from its log.

    Args:
        radius: (N,) certified L2 radii in units of pixels in [0, 1], 0 where nothing was certified.
        correct: (N,) whether the certified class is right, where `predict` does not say it. By default every radius
            above 0 is that of a right image. An image that is not correct abstained if its radius is 0.
        label: (N,) true classes; class 0 if not given.
        predict: (N,) certified classes, or ABSTAIN (-1).
        idx: (N,) positions of the images; 0..N-1 if not given.
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
    try:
        reach: Floats = np.atleast_1d(np.asarray(radius, np.float64))
    except (TypeError, ValueError):  # also several tables, of which a metric takes one, and a single one for a list
        raise InputError(f"{shown(repr(radius))} is no array of radii: expected numbers, a table or columns") from None
    right = reach > 0.0 if correct is None else np.asarray(correct)
    if right.shape != reach.shape or not np.isin(right, (0, 1)).all():
        raise InputError(f"correct must hold True or False for each of {reach.size} radii; got {right.tolist()}")
    classes = np.zeros(reach.shape, np.int64) if label is None else _classes("label", label, reach.shape)
    other = np.where(reach > 0.0, classes + 1, ABSTAIN)
    answers = np.where(right, classes, other) if predict is None else _classes("predict", predict, reach.shape)
    wrong = ~((reach >= 0.0) & np.isfinite(reach)) | (classes < 0) | (answers < ABSTAIN)
    wrong |= (answers == ABSTAIN) & (reach > 0.0)
    if np.any(wrong):
        row = int(np.argmax(wrong))
        said = f"radius={reach[row]}, label={classes[row]}, predict={answers[row]} in row {row}"
        raise InputError(f"{said}: expected a finite radius, 0 where predict=-1 abstains, and classes from 0")
    places = np.arange(len(reach)) if idx is None else whole_numbers("idx", idx, len(reach))
    header = Header(sigma=sigma, n=n, alpha=alpha)
    return Certificates(header, places, classes, answers, reach, np.zeros(len(reach)), name=name)


def _classes(what: str, values: ArrayLike, shape: tuple[int, ...]) -> Ints:
    found = np.asarray(values)
    if found.shape != shape or (found.size and found.dtype.kind not in "iu"):
        raise InputError(f"{what} must hold one whole number for each of {shape[0]} radii; got {found.tolist()}")
    return found.astype(np.int64)


def to_frame(table: Certificates) -> pd.DataFrame:
    """The frame of a table; see `Certificates.to_pandas`."""
    import pandas as pd  # here, since it takes long to load

    log = {name: getattr(table, name) for name in (*LOG[:-1], "correct", "seconds")}
    frame = pd.DataFrame(log if table.is_log else _counted(table))
    header = json.loads(table.header.model_dump_json())
    frame.attrs[ATTRS] = {"header": header, "name": table.name, "num_classes": table.num_classes}
    return frame


def _counted(table: Certificates) -> dict[str, Any]:
    """The columns of a table with counts. Those that only mark the class, or all other answers, are left out.

    Read elsewhere, they would be taken for samples; and so would the class that the samples themselves picked be taken
    for one that was picked without them, if it had the same name.
    """
    counts0, counts = table.evidence()
    columns: dict[str, Any] = {"idx": table.idx, "label": table.label} | table.derived()
    if table.header.bound == "any-class":
        columns["most_frequent"] = columns.pop("picked")
    if table.paths is not None:
        columns["path"] = [path.tolist() for path in table.paths]
    if table.header.n0:
        columns["counts0"] = counts0[:, : table.num_classes].tolist()
    columns |= {"n": counts.sum(axis=1)} if table.header.lumped else {"counts": counts.tolist()}
    made = {"seconds": table.seconds, "machine": table.machine, "u": table.u}
    return columns | {name: values for name, values in made.items() if values is not None}


def from_frame(frame: pd.DataFrame) -> Certificates:
    """The table of a frame that `to_frame` made, or of some of its rows; see `Certificates.from_pandas`."""
    about = frame.attrs.get(ATTRS)
    if about is None:
        said = "the DataFrame has lost its attrs, which some operations of pandas drop: copy them (frame.attrs = ...)"
        raise InputError(f"{said}, or judge again: from_counts(frame, sigma=...). rs.merge puts shards together")
    header, name, K = Header(**about["header"]), str(about["name"]), int(about["num_classes"])
    columns: dict[str, Any] = {str(column): frame[column].to_numpy() for column in frame.columns}
    try:
        if "path" not in columns:
            return Certificates(header, **{column: columns[column] for column in LOG}, name=name)
        picked = columns["most_frequent" if header.bound == "any-class" else "picked"]
        counts0 = whole_numbers("counts0", columns["counts0"], None, K) if header.n0 else marked(picked, K)
        if header.lumped:
            counts = lump(picked, columns["n_A"], columns["n"], K)
        else:
            counts = whole_numbers("counts", columns["counts"], None, K)
        paths = [whole_numbers("path", path, None) for path in columns["path"]]
        kept = {column: columns[column] for column in ("idx", "label", "seconds")}
    except KeyError as missing:
        raise InputError(f"the DataFrame lacks the column {missing}") from None
    kept |= {column: columns.get(column) for column in ("machine", "u")}
    counts0 = np.pad(counts0, ((0, 0), (0, int(header.lumped))))
    return from_evidence(header, **kept, counts0=counts0, counts=counts, paths=paths, name=name)
