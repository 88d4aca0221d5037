"""Lists of image files and their labels: CSV files, and JSON lines beside images.

The latter are what Hugging Face writes.
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

# What stands between the cells of a line, by suffix of the file; a list whose first
# line has one of the others instead is read with that one.
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
        lines: where each row stands, from 1 on.
        files: the cell of each row that names an image file.
        labels: the cell of each row with its label; empty where it has none.
        splits: the list's own name of each split -> its rows; WHOLE alone: it has no
            splits.
    """

    path: Path
    lines: list[int]
    files: list[str]
    labels: list[str]
    splits: dict[str, list[int]]

    def images(self, rows: Sequence[int]) -> Encoded:
        """Return the images of some rows, in their order.

        Names of classes are numbered over all rows, so that they are in each split.

        Raises:
            WrongData: a file that is missing, or a label that is none; the message
                names the line.
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
        """Return the rows of the splits that have labels.

        One may have none, as the test split of a competition.
        """
        labelled = list[int]()
        for rows in self.splits.values():
            if any(self.labels[row] for row in rows):
                labelled += rows
        return sorted(labelled)

    def places(
        self, rows: Sequence[int], among: Sequence[Path] | None = None
    ) -> list[Path]:
        """Return the files of some rows: where their paths lead.

        A name that is no such path means the only file below the folder that is called
        so, as a `Note` says.

        Args:
            rows: which ones.
            among: the only files that may be meant; None: any.

        Raises:
            WrongData: a row names no file, or a name without folder or suffix several;
                the message names the line.
        """
        folder = self.path.parent
        # No path has a zero byte, of which the system would complain.
        cells = [self.files[row].replace("\0", " ") for row in rows]
        files = self._files_at(cells, among)
        no_paths = [place for place, file in enumerate(files) if file is None]

        if among is None and any("/" not in cells[place] for place in no_paths):
            among = images_below(folder)
        by_name = _by_name(among or [])
        for place in no_paths:
            cell = cells[place]
            files[place] = self._file_called(cell, by_name, self._where(rows[place]))

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
        """Return the files to which the paths in cells lead; None: there is none."""
        paths = [self.path.parent / cell for cell in cells]
        if among is None:
            return [path if path.is_file() else None for path in paths]

        allowed = {_plain(path): path for path in among}
        return [allowed.get(_plain(path)) for path in paths]

    def _file_called(
        self, cell: str, by_name: dict[str, set[Path]], where: str
    ) -> Path:
        """Return the only file that is called as a cell says.

        Args:
            cell: a name or a path.
            by_name: the files that may be meant.
            where: names the row in errors.

        Raises:
            WrongData: there is none, or there are several.
        """
        folder = self.path.parent
        # Windows divides folders by backslashes.
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
        return f"line {self.lines[row]} of {self.path}"


def _by_name(images: Sequence[Path]) -> dict[str, set[Path]]:
    """Return the images by their paths, names, and names without suffix."""
    by_name = dict[str, set[Path]]()
    for image in images:
        for name in (str(_plain(image)), image.name, image.stem):
            by_name.setdefault(name, set()).add(image)
    return by_name


def _plain(path: Path) -> Path:
    """Return a path without "." and ".." in it."""
    return Path(os.path.normpath(path))


def read_list(path: Path, columns: ColumnNames = USUAL) -> ImageList:
    """Read the list at `path`.

    It is a CSV file whose first line names the columns, or has one JSON object a line.
    Labels are whole numbers, or names, which are numbered in alphabetical order.

    Raises:
        Problem: it is damaged, has no such column, or a row of another length; the
            message names the line.
    """
    (_, names), *rows = read_rows(path)
    cells = {name: [row[place] for _, row in rows] for place, name in enumerate(names)}
    about_splits = split_column(names, (columns.image, columns.label))
    telling_splits = saying(_some(cells, about_splits), str(path))
    image, label = columns.find(_other(names, telling_splits), str(path))
    if not telling_splits:
        # Any column may say splits, whatever it is called.
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
    """Return the cells of the columns of these names."""
    return {name: cells[name] for name in names}


def _other(names: Iterable[str], taken: Collection[str | None]) -> list[str]:
    """Return the names but those that are taken."""
    return [name for name in names if name not in taken]


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a list with their lines, the names of the columns first.

    Raises:
        Problem: it is damaged, holds no rows, or a row of another length; the message
            names the line.
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
    """Give the rows as `read_rows` returns them, of whatever length.

    No more is read than what is asked for.
    """
    read = _json_rows if path.suffix.lower() == JSON_LINES else _csv_rows
    with refused(f"{path} is no list in UTF-8", (csv.Error, UnicodeDecodeError)):
        yield from read(path)


def _csv_rows(path: Path) -> Iterator[Row]:
    """Give the lines of a CSV file that hold something, the names of columns first."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        delimiter = _delimiter(path, file.readline())
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        for row in reader:
            if row:
                yield reader.line_num, [cell.strip() for cell in row]


def _delimiter(path: Path, header: str) -> str:
    """Return the delimiter of a file with the first line `header`.

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
    """Give the values of each line, in the order of the first line's keys.

    These keys are the first row.
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
    """Return a value of JSON as a cell of a table; empty where there is none."""
    return "" if value is None else str(value).strip()
