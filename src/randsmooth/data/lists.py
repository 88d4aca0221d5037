"""Lists of image files and their labels: CSV files, and files of JSON lines.

Hugging Face writes JSON lines into the folder of the images.
"""

import csv
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from randsmooth.data.columns import USUAL, ColumnNames
from randsmooth.data.encoded import Encoded
from randsmooth.data.labels import from_texts, no_labels
from randsmooth.data.notes import tell
from randsmooth.data.split_columns import (
    rows_of_splits,
    saying,
    split_column,
    telling,
)
from randsmooth.data.split_words import WHOLE
from randsmooth.data.walking import images_below
from randsmooth.documents import parse_json, refused, shown
from randsmooth.errors import WrongData
from randsmooth.notes import Note

# The suffix of a file -> what stands between the cells of a line. If the first line has only
# another one of ANY_DELIMITER, that one is taken.
DELIMITERS = {".csv": ",", ".tsv": "\t"}
ANY_DELIMITER = (",", ";", "\t", "|")
JSON_LINES = ".jsonl"
LIST_SUFFIXES = (*DELIMITERS, JSON_LINES)

# A row of a list: the number of its line, and its cells.
Row = tuple[int, list[str]]


@dataclass(frozen=True)
class ImageList:
    """The rows of a list of images; each split is a part of them.

    Attributes:
        path: the path of the list; paths in it are relative to its folder.
        lines: the number of each row's line, from 1 on.
        files: the cell of each row that names an image file.
        labels: the cell of each row with its label; empty where it has none.
        splits: the list's own name of each split -> the indices of its rows; the only name
            WHOLE means that the list has no splits.
    """

    path: Path
    lines: list[int]
    files: list[str]
    labels: list[str]
    splits: dict[str, list[int]]

    def images(self, rows: Sequence[int]) -> Encoded:
        """Return the images of some rows, in their order.

        Classes are numbered over the rows of all splits, so that a class has the same number
        in each.

        Args:
            rows: the indices of the rows.

        Raises:
            WrongData: a file is missing, or a label cannot be used; the message names the
                line.
        """
        places = self.places(rows)
        labelled = self._labelled_rows()
        known, classes = from_texts(
            [self.labels[row] for row in labelled],
            lambda index: self._where(labelled[index]),
            str(self.path),
        )
        labels = no_labels(len(self.labels))
        labels[torch.tensor(labelled, dtype=torch.int64)] = known
        return Encoded(
            labels[torch.tensor(rows, dtype=torch.int64)],
            classes,
            str(self.path),
            places.__getitem__,
            places,
            alphabetical=classes is not None,
        )

    def _labelled_rows(self) -> list[int]:
        """Return the indices of the rows in splits that have labels, ascending.

        A split may have no labels, as the test split of a competition.
        """
        labelled = list[int]()
        for rows in self.splits.values():
            if any(self.labels[row] for row in rows):
                labelled += rows
        return sorted(labelled)

    def places(
        self, rows: Sequence[int], among: Sequence[Path] | None = None
    ) -> list[Path]:
        """Return the image files that some rows name.

        A cell is a path from the folder of the list. If it leads nowhere, it is taken for
        the name of a file anywhere below the folder, which a `Note` tells.

        Args:
            rows: the indices of the rows.
            among: the only files that a row may name; None: it may name any.

        Raises:
            WrongData: a row names no file, or a name that several files have; the message
                names the line.
        """
        folder = self.path.parent
        # The system would raise an error of its own for a zero byte.
        cells = [self.files[row].replace("\0", " ") for row in rows]
        files = self._files_at(cells, among)
        no_paths = [index for index, file in enumerate(files) if file is None]

        # Looking through all folders may take long, so it is done only for bare names.
        if among is None and any("/" not in cells[index] for index in no_paths):
            among = images_below(folder)
        by_name = _by_name(among or [])
        for index in no_paths:
            cell = cells[index]
            files[index] = self._file_called(cell, by_name, self._where(rows[index]))

        # No file is None by now.
        known = [file for file in files if file is not None]
        if no_paths:
            first = no_paths[0]
            note = Note(
                "found_by_name",
                path=str(self.path),
                folder=str(folder),
                cell=cells[first],
                file=str(known[first].relative_to(folder)),
            )
            tell(note)
        return known

    def _files_at(
        self, cells: Sequence[str], among: Sequence[Path] | None
    ) -> list[Path | None]:
        """Return for each cell the file to which its path leads; None: it leads to none.

        Arguments are those of `places`, with the cells of the rows.
        """
        paths = [self.path.parent / cell for cell in cells]
        if among is None:
            return [path if path.is_file() else None for path in paths]

        # "a/../b.png" and "b.png" lead to one file.
        allowed = {_plain(path): path for path in among}
        return [allowed.get(_plain(path)) for path in paths]

    def _file_called(
        self, cell: str, by_name: dict[str, set[Path]], where: str
    ) -> Path:
        """Return the only file with the name or the path in a cell.

        Args:
            cell: the name or path.
            by_name: name -> the files that have it, as `_by_name` returns it.
            where: names the row in errors.

        Raises:
            WrongData: there is no such file, or there are several.
        """
        folder = self.path.parent
        # A list from Windows has backslashes between folders.
        name = cell.replace("\\", "/")
        meant = by_name.get(str(_plain(folder / name))) or by_name.get(name, set())
        if len(meant) == 1:
            (file,) = meant
            return file

        number = f"{len(meant)} images" if meant else "no image file"
        raise WrongData(
            f"{where}: {number} at {shown(folder / cell)}",
            fix=f"paths are relative to {folder}, the folder of the list",
        )

    def _where(self, row: int) -> str:
        """Return the name of a row in an error."""
        return f"line {self.lines[row]} of {self.path}"


def _by_name(images: Sequence[Path]) -> dict[str, set[Path]]:
    """Return name -> the images that have it: the path, the name, the name without suffix."""
    by_name = dict[str, set[Path]]()
    for image in images:
        for name in (str(_plain(image)), image.name, image.stem):
            by_name.setdefault(name, set()).add(image)
    return by_name


def _plain(path: Path) -> Path:
    """Return a path without "." and "..", of which links are not followed."""
    return Path(os.path.normpath(path))


def read_list(path: Path, columns: ColumnNames = USUAL) -> ImageList:
    """Return the list at `path`.

    It is a CSV file whose first line names the columns, or a file with a JSON object in each
    line.

    Raises:
        Problem: it is damaged, lacks a column, or has a row of another length; the message
            names the line.
    """
    (_, names), *rows = read_rows(path)
    # The name of each column -> its cells.
    cells = {name: [row[place] for _, row in rows] for place, name in enumerate(names)}
    about_splits = split_column(names, (columns.image, columns.label))
    telling_splits = saying(_some(cells, about_splits), str(path))
    image, label = columns.find(_other(names, telling_splits), str(path))
    if not telling_splits:
        # A column with another name may tell splits too, by what its cells say.
        others = _other(names, (image, label))
        telling_splits = telling(_some(cells, others))

    splits = {WHOLE: list(range(len(rows)))}
    if telling_splits:
        splits = rows_of_splits(_some(cells, telling_splits), str(path))
    return ImageList(
        path=path,
        lines=[number for number, _ in rows],
        files=cells[image],
        labels=[""] * len(rows) if label is None else cells[label],
        splits=splits,
    )


def _some(cells: Mapping[str, list[str]], names: Iterable[str]) -> dict[str, list[str]]:
    """Return the cells of only those columns that have these `names`."""
    return {name: cells[name] for name in names}


def _other(names: Iterable[str], taken: Collection[str | None]) -> list[str]:
    """Return those names that are not taken."""
    return [name for name in names if name not in taken]


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a list; the first one holds the names of the columns.

    Raises:
        Problem: the list is damaged, holds no rows, or has a row of another length; the
            message names the line.
    """
    rows = list(rows_of(path))
    if len(rows) < 2:
        raise WrongData(
            f"no images in {path}: its first line must name the columns, such as "
            "path,label"
        )
    _, names = rows[0]
    for number, row in rows:
        if len(row) != len(names):
            raise WrongData(
                f"{path}, line {number} has {len(row)} cells; expected {len(names)}, "
                "as in line 1"
            )
    return rows


def rows_of(path: Path) -> Iterator[Row]:
    """Yield the rows as `read_rows` returns them, whatever their lengths.

    Only as much of the file is read as rows are asked for.
    """
    read = _json_rows if path.suffix.lower() == JSON_LINES else _csv_rows
    with refused(f"{path} is not a list in UTF-8", (csv.Error, UnicodeDecodeError)):
        yield from read(path)


def _csv_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a CSV file, the names of the columns first, without empty lines."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        delimiter = _delimiter(path, file.readline())
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        for row in reader:
            if row:
                yield reader.line_num, [cell.strip() for cell in row]


def _delimiter(path: Path, header: str) -> str:
    """Return the delimiter of the file at `path`, whose first line is `header`.

    Raises:
        WrongData: it could be one of several.
    """
    usual = DELIMITERS[path.suffix.lower()]
    in_header = [delimiter for delimiter in ANY_DELIMITER if delimiter in header]
    if usual in in_header or not in_header:
        return usual
    if len(in_header) > 1:
        raise WrongData(
            f"{path}: the first line, {shown(repr(header.strip()))}, has several "
            "delimiters",
            fix=f"use {usual!r}",
        )
    return in_header[0]


def _json_rows(path: Path) -> Iterator[Row]:
    """Yield the keys of the first line as names of columns, then the values of each line.

    Values come in the order of these keys. The names have the line number 0, since they
    have no line of their own.
    """
    names: list[str] = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            values = parse_json(line, f"line {number} of {path}")
            if not isinstance(values, dict) or (names and set(values) != set(names)):
                expected = shown(", ".join(names)) or "an object"
                raise WrongData(
                    f"{path}, line {number} has other keys than the first: expected "
                    f"{expected}"
                )
            if not names:
                names = list(values)
                yield 0, names
            yield number, [_cell(values[name]) for name in names]


def _cell(value: object) -> str:
    """Return a value of JSON as the text in a cell; null is an empty cell."""
    return "" if value is None else str(value).strip()
