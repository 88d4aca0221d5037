"""The columns of counts that users bring: arrays, a DataFrame, comma- or tab-separated values, or JSON lines."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.certificates.logs.tsv import read_text
from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError
from randsmooth.rules import MOST_SAMPLES

NUMBERS = ("label", "idx", "picked", "n", "n_A", "seconds")  # one number an image
LISTS = ("counts0", "counts", "path")  # several
WIDE = re.compile(r"(counts0?)_(\d{1,6})", re.ASCII)  # a column for each class
JSON_LINES = (".jsonl", ".ndjson", ".json")


def columns_in(counts: Any) -> tuple[dict[str, Any], str]:
    """The columns in what `from_counts` was given first, and the name of the file that they come from, if it is one.

    Columns of other names are left out.

    Raises:
        InputError: a file that cannot be read, or holds something else than its columns should; or no counts.
    """
    if counts is None:
        return {}, ""
    if isinstance(counts, str | Path):
        path = Path(counts)
        if path.suffix == ".parquet":
            raise InputError(f"{path} is a Parquet file; let pandas read it: from_counts(pandas.read_parquet(...))")
        columns = _columns_of_file(path)
        return _gathered([*columns], lambda name: columns[name], path), path.name
    if isinstance(counts, Mapping) or hasattr(counts, "columns"):
        names = [str(name) for name in (counts if isinstance(counts, Mapping) else counts.columns)]
        return _gathered(names, lambda name: counts[name], "the table of counts"), ""
    return {"counts": counts}, ""


def _gathered(names: Sequence[str], of: Callable[[str], Any], where: object) -> dict[str, Any]:
    """The known columns among `names`, those of one class each put together as (N, K)."""
    found = {name: of(name) for name in names if name in (*NUMBERS, *LISTS)}
    for stem in ("counts0", "counts"):
        wide = sorted(int(match[2]) for name in names if (match := WIDE.fullmatch(name)) and match[1] == stem)
        if wide and (wide != list(range(len(wide))) or stem in found):
            raise InputError(
                f"{where} has columns up to {stem}_{wide[-1]}, and not all from {stem}_0 on, or {stem} too"
            )
        if wide:
            found[stem] = np.stack([np.asarray(of(f"{stem}_{k}")) for k in wide], axis=1)
    if not found.keys() & {"counts", "n_A", "path"}:
        raise InputError(
            f"{where} holds no counts: it has the columns {shown(', '.join(names))}; expected label, and counts_0, "
            "counts_1, ... (or counts, as a list, or n_A with picked and n)"
        )
    return found


def _columns_of_file(path: Path) -> dict[str, Any]:
    """The columns of comma-, tab- or semicolon-separated values, or of JSON lines, as pandas reads them."""
    import pandas as pd  # here, since it takes long to load

    text = read_text(path)
    if path.suffix in JSON_LINES:
        lines = [(place, line) for place, line in enumerate(text.split("\n"), start=1) if line.strip()]
        rows = [parse_json(line, f"{path}, line {place}") for place, line in lines]
        if not all(isinstance(row, dict) for row in rows):
            raise InputError(f'{path} holds no object on each line, such as {{"label": 3, "counts": [990, 10]}}')
        frame = pd.DataFrame(rows)
    else:
        mark = next((mark for mark in "\t,;" if mark in text.partition("\n")[0]), ",")
        try:
            with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):  # more cells than names
                frame = pd.read_csv(io.StringIO(text), sep=mark, index_col=False)
        except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
            raise InputError(f"{path} cannot be read as a table of counts: {shown(error)}") from None
    columns = {str(name).strip(): frame[name].tolist() for name in frame.columns}
    return columns | {name: [_list(name, cell) for cell in columns[name]] for name in LISTS if name in columns}


def _list(name: str, cell: Any) -> Any:
    """What a cell of several numbers says: a list, or one that is written as [990, 10] or 990 10."""
    if not isinstance(cell, str):
        return cell
    try:
        return [float(word) for word in cell.strip().removeprefix("[").removesuffix("]").replace(",", " ").split()]
    except ValueError:
        raise InputError(f"{name}={shown(repr(cell))} is no list of whole numbers such as [990, 10]") from None


def whole_numbers(name: str, values: ArrayLike, shape: Sequence[int | None]) -> NDArray[np.int64]:
    """`values` as whole numbers from 0 in the given `shape`, in which None stands for any length.

    Floats without a fraction are whole numbers: another program may have written 990.0.

    Raises:
        InputError: they have another shape, or one is no number, has a fraction, or lies outside 0..MOST_SAMPLES.
    """
    try:
        found = np.asarray(values)
        if found.dtype == object and found.ndim == 1:  # each row a list of its own, as in a DataFrame
            found = np.array([np.asarray(row) for row in found])
    except ValueError:
        raise InputError(f"{name} has rows of different lengths") from None
    if found.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True)):
        expected = "one number" if not shape else f"({', '.join('any' if n is None else str(n) for n in shape)})"
        raise InputError(f"{name} has shape {found.shape}; expected {expected}")
    if not found.size:
        return found.astype(np.int64)
    if found.dtype.kind not in "iuf":
        raise InputError(f"{name} holds {shown(found.flat[0])!r}; expected whole numbers from 0")
    with np.errstate(invalid="ignore"):  # of infinity
        wrong = np.argwhere(~((found >= 0) & (found <= MOST_SAMPLES) & (found % 1 == 0)))
    if len(wrong):
        place = tuple(wrong[0])
        where = f" in row {place[0]}" if place else ""
        raise InputError(f"{name} holds {found[place]}{where}; expected whole numbers from 0 to {MOST_SAMPLES:,}")
    return found.astype(np.int64)
