"""The counts that another program wrote, in whatever form they are given, as arrays
that agree in their lengths.
"""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.certificates.evidence import ABSTAIN, NO_LABEL, Ints
from randsmooth.certificates.logs.text import read_text
from randsmooth.documents import shown
from randsmooth.errors import BadValue, MissingValue, WrongFile
from randsmooth.rules import MOST_SAMPLES

# Columns of one number an image, and of several.
NUMBERS = ("label", "idx", "picked", "n", "n_A", "seconds", "words")
LISTS = ("counts0", "counts", "path")

# A column for each class: counts_0, counts_1, ...
COLUMN_OF_CLASS = re.compile(r"(counts0?)_(0|[1-9]\d{0,5})", re.ASCII)

# In a shape: an axis may have any length.
ANY_LENGTH = None

SEPARATORS = "\t,;"
JSON_LINES = (".jsonl", ".ndjson", ".json")

# Columns in which a number below 0 says that there is none.
NO_CLASS = {"label": NO_LABEL, "predict": ABSTAIN}


def columns_given(counts: Any) -> tuple[dict[str, Any], str]:
    """Return the known columns in the first argument of `from_counts`, and the name of
    their file; the name is empty where they are in none.

    Nothing is known where the argument is None. An array alone is the column `counts`.

    Raises:
        Problem: a file that cannot be read, or holds something else than its columns
            should; or no counts.
    """
    if counts is None:
        return {}, ""
    if isinstance(counts, str | Path):
        path = Path(counts)
        if path.suffix == ".parquet":
            raise WrongFile(
                f"{path} is a Parquet file; let pandas read it: "
                "from_counts(pandas.read_parquet(...))",
                file=path,
            )
        columns = _columns_of_file(path)
        return _known_columns(columns, columns.keys(), str(path)), path.name
    if isinstance(counts, Mapping):
        return _known_columns(counts, counts.keys(), "the table of counts"), ""
    if hasattr(counts, "columns"):
        return _known_columns(counts, counts.columns, "the table of counts"), ""
    return {"counts": counts}, ""


def _known_columns(table: Any, keys: Iterable[Any], where: str) -> dict[str, Any]:
    """Return the columns of a `table` that are known here, by name.

    Columns of single classes (counts_0, counts_1, ...) are put together.

    Args:
        table: a mapping, or a DataFrame.
        keys: the names of all its columns.
        where: the words for the table in errors.
    """
    names = [str(key) for key in keys]
    known = {name: table[name] for name in names if name in (*NUMBERS, *LISTS)}
    for stem in ("counts0", "counts"):
        classes = _classes_in_columns(names, stem)
        if not classes:
            continue
        if classes != list(range(len(classes))) or stem in known:
            raise BadValue(
                f"{where} has columns up to {stem}_{classes[-1]}, "
                f"not all from {stem}_0 on, "
                f"or {stem} too"
            )
        columns = [np.asarray(table[f"{stem}_{k}"]) for k in classes]
        # K columns (N,) make the counts (N, K).
        known[stem] = np.stack(columns, axis=1)
    if not known.keys() & {"counts", "n_A", "path"}:
        raise BadValue(
            f"{where} holds no counts but {shown(', '.join(names))}; "
            "expected label and "
            "counts, or n_A"
        )
    return known


def _classes_in_columns(names: Iterable[str], stem: str) -> list[int]:
    """Return the classes, ascending, that have a column of their own such as
    `counts_3`.
    """
    matches = [COLUMN_OF_CLASS.fullmatch(name) for name in names]
    return sorted(int(match[2]) for match in matches if match and match[1] == stem)


def _columns_of_file(path: Path) -> dict[str, Any]:
    """Return the columns of comma-, tab- or semicolon-separated values, or of JSON
    lines, as pandas reads them.
    """
    text = read_text(path)
    json_lines = path.suffix in JSON_LINES
    first_line = text.partition("\n")[0]
    # Without any, there is one column, and every separator will do.
    separator = next((mark for mark in SEPARATORS if mark in first_line), ",")
    if not json_lines:
        # pandas renames equal names, and takes long where there are many.
        _check_each_name_once(path, first_line.split(separator))

    # Imported here, since pandas takes long to load.
    import pandas as pd

    file = io.StringIO(text)
    try:
        # A row with more cells than there are names is an error.
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
            if json_lines:
                frame = pd.read_json(file, lines=True, dtype=False, precise_float=True)
            else:
                frame = pd.read_csv(file, sep=separator, index_col=False)
    except (TypeError, ValueError, OverflowError, pd.errors.ParserWarning) as error:
        raise WrongFile(
            f"{path} cannot be read as a table of counts: {shown(error)}", file=path
        ) from None
    return {str(name).strip(): frame[name].tolist() for name in frame.columns}


def _check_each_name_once(path: Path, names: Iterable[str]) -> None:
    """Raise WrongFile for a name that two columns have."""
    for name, times in Counter(names).items():
        if times > 1:
            raise WrongFile(
                f"{path} has more than one column {shown(repr(name))}: "
                "keep one of them",
                file=path,
            )


def arrays_given(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given columns of N images as arrays that agree in their lengths.

    `counts` is (N, K), or (N,) of the picked class. `path` is a list of N arrays.
    `seconds` is 0 for every image if it is not given.

    Raises:
        Problem: there are no counts, or a column is impossible.
    """
    arrays: dict[str, Any] = {}
    if "path" in given:
        arrays["path"] = [
            whole_numbers("path", path, ANY_LENGTH) for path in given["path"]
        ]
    arrays["counts"] = _counts_array(given, arrays.get("path"))

    N = len(arrays["counts"])
    for name in ("label", "idx", "picked", "words"):
        if name in given:
            arrays[name] = whole_numbers(name, given[name], N)
    if "counts0" in given:
        arrays["counts0"] = whole_numbers("counts0", given["counts0"], N, ANY_LENGTH)
    if "n" in given:
        # One number for all images, or one for each: they must be equal (`_budget`).
        arrays["n"] = whole_numbers("n", np.atleast_1d(given["n"]), ANY_LENGTH)
    try:
        arrays["seconds"] = np.asarray(given.get("seconds", np.zeros(N)), np.float64)
    except (TypeError, ValueError):
        raise BadValue(
            f"seconds must hold the times of {N} images; leave it out"
        ) from None
    return arrays


def _counts_array(given: Mapping[str, Any], paths: list[Ints] | None) -> Ints:
    """Return the counts (N, K) of every class, or (N,) of the picked class alone.

    Where only `paths` are given, the last look of each says how often the picked class
    came out.
    """
    name = next((name for name in ("counts", "n_A") if name in given), None)
    if name is not None:
        values = given[name]
        first_row = next(iter(values), 0) if np.iterable(values) else 0
        # A text can be iterated over, and is no row of counts.
        of_each_class = np.iterable(first_row) and not isinstance(first_row, str)
        shape = (ANY_LENGTH, ANY_LENGTH) if of_each_class else (ANY_LENGTH,)
        return whole_numbers(name, values, *shape)
    if paths is not None:
        return np.array([path[-1] if len(path) else 0 for path in paths], np.int64)
    raise MissingValue(
        "counts are missing: how often each class came out, or n_A, how often the picked "
        "class did",
        field="counts",
    )


def whole_numbers(name: str, values: ArrayLike, *shape: int | None) -> Ints:
    """Return the values of a column as an array of whole numbers.

    Floats without a fraction are whole numbers: another program may have written 990.0.

    Args:
        name: the name of the column, by which it is known whether a number below 0 may
            say that there is no class.
        values: the values.
        shape: the length of each axis, or ANY_LENGTH; no axis for a single number.

    Raises:
        Problem: they have another shape, or one is no number, has a fraction, or lies
            outside 0..MOST_SAMPLES (from -1 for a class that may be absent).
    """
    least = NO_CLASS.get(name, 0)
    try:
        array = np.asarray(values)
        if array.dtype == object and array.ndim == 1:
            # Each row is a list of its own, as in a DataFrame.
            array = np.array([np.asarray(row) for row in array])
    except ValueError:
        raise BadValue(f"{name} has rows of different lengths") from None

    if not _has_shape(array, shape):
        expected = ", ".join("any" if n is ANY_LENGTH else str(n) for n in shape)
        raise BadValue(f"{name} has shape {array.shape}; expected ({expected})")
    if array.size and array.dtype.kind not in "iuf":
        raise BadValue(
            f"{name} holds {shown(array.flat[0])!r}; "
            f"expected whole numbers from {least}"
        )
    # NumPy warns of infinity % 1, which is no number.
    with np.errstate(invalid="ignore"):
        possible = (array >= least) & (array <= MOST_SAMPLES) & (array % 1 == 0)
    wrong = np.argwhere(~possible)
    if len(wrong):
        value = array[tuple(wrong[0])]
        row = f" in row {wrong[0][0]}" if shape else ""
        raise BadValue(
            f"{name} holds {value}{row}: expected whole numbers, "
            f"{least} to {MOST_SAMPLES:,}"
        )
    return array.astype(np.int64)


def _has_shape(array: np.ndarray[Any, Any], shape: tuple[int | None, ...]) -> bool:
    """Return whether an array has this shape, in which an axis may be ANY_LENGTH."""
    if array.ndim != len(shape):
        return False
    return all(
        expected in (ANY_LENGTH, length)
        for expected, length in zip(shape, array.shape, strict=True)
    )
