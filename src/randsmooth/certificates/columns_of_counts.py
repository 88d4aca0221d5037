"""The columns of counts that another program wrote: comma- or tab-separated values, JSON lines, or a DataFrame."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from randsmooth.certificates.logs.cells import Lines, read_text
from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError

NUMBERS = ("label", "idx", "picked", "n", "n_A", "seconds")  # one number an image
LISTS = ("counts0", "counts", "path")  # several
KNOWN = (*NUMBERS, *LISTS)
WIDE = re.compile(r"(counts0?)_(\d{1,6})", re.ASCII)  # a column for each class
WHOLE = re.compile(r"\d{1,20}(?:\.0{0,20})?", re.ASCII)
JSON_LINES = (".jsonl", ".ndjson", ".json")


def columns_in(counts: Any) -> tuple[dict[str, Any], str]:
    """The columns in what `from_counts` was given first, and the name of the file that they come from, if it is one.

    Raises:
        InputError: a file that cannot be read, or without any of the columns.
    """
    if counts is None:
        return {}, ""
    if isinstance(counts, str | Path):
        path = Path(counts)
        return read_columns_of_counts(path), path.name
    if isinstance(counts, Mapping) or hasattr(counts, "columns"):
        names = [str(name) for name in (counts if isinstance(counts, Mapping) else counts.columns)]
        return _gathered(names, lambda name: counts[name], "the table of counts"), ""
    return {"counts": counts}, ""


def read_columns_of_counts(path: Path) -> dict[str, Any]:
    """The columns in the file at `path`: JSON lines by its suffix, else values between tabs, commas or semicolons.

    Columns of other names are left out.

    Raises:
        InputError: it is no such file, or a cell holds something else than its column should; the line is named.
    """
    if path.suffix == ".parquet":
        raise InputError(
            f"{path} is a Parquet file; if it holds counts and no certificates, let pandas read it: "
            "from_counts(pandas.read_parquet(...))"
        )
    text = read_text(path)
    return _json_lines(text, path) if path.suffix in JSON_LINES else _delimited(text, path)


def _gathered(names: Sequence[str], of: Callable[[str], Any], where: object) -> dict[str, Any]:
    """The known columns among `names`, those of one class each put together as (N, K)."""
    found = {name: of(name) for name in names if name in KNOWN}
    for stem in ("counts0", "counts"):
        wide = sorted(int(match[2]) for name in names if (match := WIDE.fullmatch(name)) and match[1] == stem)
        if not wide:
            continue
        if wide != list(range(len(wide))):
            raise InputError(
                f"{where} has the columns {stem}_{wide[0]} to {stem}_{wide[-1]}, and not all from {stem}_0 on"
            )
        if stem in found:
            raise InputError(f"{where} holds {stem} twice: in one column, and in {stem}_0, ...")
        found[stem] = np.stack([np.asarray(of(f"{stem}_{k}")) for k in wide], axis=1)
    if not found.keys() & {"counts", "n_A", "path"}:
        raise InputError(
            f"{where} holds no counts: it has the columns {shown(', '.join(names))}; expected label, and counts_0, "
            "counts_1, ... (or counts, as a list, or n_A with picked and n)"
        )
    return found


def _delimited(text: str, path: Path) -> dict[str, Any]:
    head = text.partition("\n")[0]
    delimiter = next((mark for mark in ("\t", ",", ";") if mark in head), ",")
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    rows, places = [], []
    try:
        for row in reader:
            if row:
                rows.append(row)
                places.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {shown(error)}") from None
    lines = _lines(rows, places, path)
    return _gathered(list(lines.columns), lambda name: _column(lines, name), path)


def _lines(rows: list[list[str]], places: list[int], path: Path) -> Lines:
    if not rows:
        raise InputError(f"{path} is empty; expected a line of column names")
    names = [name.strip() for name in rows[0]]
    if len(set(names)) < len(names):
        raise InputError(f"{path} has a column twice: {shown(', '.join(names))}")
    for row, place in zip(rows, places, strict=True):
        if len(row) != len(names):
            raise InputError(f"{path}, line {place}: {len(row)} cells under {len(names)} column names")
    columns = zip(*rows[1:], strict=True) if rows[1:] else [()] * len(names)
    return Lines(path, dict(zip(names, columns, strict=True)), places[1:], True)


def _column(lines: Lines, name: str) -> Any:
    if name in LISTS:
        cells = lines.columns[name]
        found = [_list(cell) for cell in cells]
        lines.refuse(
            [not all(map(WHOLE.fullmatch, words)) for words in found],
            lambda row: f"{name}={shown(repr(cells[row]))} is no list of whole numbers such as [990, 10]",
        )
        return [[float(word) for word in words] for words in found]
    return lines.numbers(name)


def _list(cell: str) -> list[str]:
    """The words of a list that is written as [990, 10] or 990 10."""
    inner = cell.strip().removeprefix("[").removesuffix("]")
    return inner.replace(",", " ").split()


def _json_lines(text: str, path: Path) -> dict[str, Any]:
    rows = [(place, line) for place, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not rows:
        raise InputError(f"{path} is empty; expected a JSON object on each line")
    found = [_object(parse_json(line, f"{path}, line {place}"), path, place) for place, line in rows]
    names = list(found[0])
    for (place, _), row in zip(rows, found, strict=True):
        if row.keys() != found[0].keys():
            raise InputError(f"{path}, line {place}: it has other keys than the first line, {shown(', '.join(names))}")
    return _gathered(names, lambda name: [row[name] for row in found], path)


def _object(row: Any, path: Path, place: int) -> dict[str, Any]:
    """`row` if each of its known keys holds numbers, or a list of them where one is expected."""
    if not isinstance(row, dict):
        raise InputError(f'{path}, line {place}: expected a JSON object, such as {{"label": 3, "counts": [990, 10]}}')
    for name, value in row.items():
        several = value if name in LISTS and isinstance(value, list) else [value]
        known = name in KNOWN or WIDE.fullmatch(name)
        if known and not all(type(number) in (int, float) for number in several):
            raise InputError(f"{path}, line {place}: {name}={shown(repr(value))} is no number{'s' * (name in LISTS)}")
    return row
