"""A CSV file of paths to images, and their labels if it has any."""

from __future__ import annotations

import csv
from pathlib import Path

from randsmooth.data.columns import USUAL, ColumnNames
from randsmooth.data.encoded import ImageFiles
from randsmooth.data.labels import from_texts, no_labels
from randsmooth.documents import shown
from randsmooth.errors import InputError

MOST_BYTES = 2**30
DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read_csv(path: Path, columns: ColumnNames = USUAL) -> ImageFiles:
    """The images that the rows of `path` name, relative to its folder or absolute, in their order.

    Its first line names the columns. Labels are whole numbers, or names, which are numbered in alphabetical order.

    Raises:
        InputError: no such column, a row of another length, a file that is missing, or a label that is none; the
            message names the line.
    """
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"{path} is larger than {MOST_BYTES:,} bytes: split it")
    names, rows, lines = _rows(path)
    image, label = columns.find(names, str(path))
    files = [path.parent / row[names.index(image)].strip() for row in rows]
    missing = [row for row, file in enumerate(files) if not _is_file(file)]
    if missing:
        raise InputError(
            f"{path}, line {lines[missing[0]]}: no image file at {shown(files[missing[0]])}, and so for "
            f"{len(missing):,} of {len(files):,} rows; paths are relative to {path.parent}, the folder of the CSV file"
        )
    if label is None:
        return ImageFiles(files, no_labels(len(files)))
    cells = [row[names.index(label)] for row in rows]
    return ImageFiles(files, *from_texts(cells, lambda row: f"line {lines[row]} of {path}", str(path)))


def _rows(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    """The names of the columns, the rows, and the line that each is on. Empty lines are left out."""
    rows, lines = [], []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=DELIMITERS[path.suffix.lower()], strict=True)
            for row in reader:
                if row:
                    rows.append(row)
                    lines.append(reader.line_num)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no CSV file in UTF-8: {shown(error)}") from error
    if len(rows) < 2:
        raise InputError(
            f"no images in {path}: its first line names the columns, such as path,label, the others hold them"
        )
    names = [name.strip() for name in rows[0]]
    odd = next((row for row, cells in enumerate(rows) if len(cells) != len(names)), None)
    if odd is not None:
        raise InputError(f"{path}, line {lines[odd]} has {len(rows[odd])} cells; expected {len(names)}, as line 1 has")
    return names, rows[1:], lines[1:]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except ValueError:  # a character that no path has
        return False
