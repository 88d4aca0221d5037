"""Lists of image files and their labels: CSV files, and the JSON lines that Hugging Face puts beside images."""

import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from randsmooth.data.decode import Encoded
from randsmooth.data.labels import USUAL, ColumnNames, from_texts, no_labels
from randsmooth.data.notes import tell
from randsmooth.data.splits import WHOLE, rows_of_splits, saying, split_column, telling
from randsmooth.data.walking import images_below
from randsmooth.documents import parse_json, refused, shown
from randsmooth.errors import WrongData
from randsmooth.notes import Note

# Of the cells of a line, by suffix; a list whose first line has one of the others instead is read with that one.
DELIMITERS = {".csv": ",", ".tsv": "\t"}
OTHERS = (",", ";", "\t", "|")
JSON_LINES = ".jsonl"
SUFFIXES = (*DELIMITERS, JSON_LINES)


@dataclass(frozen=True)
class ImageList:
    """The rows of a list of images, of which each split is a part.

    Attributes:
        path: of the list; paths in it are relative to its folder.
        lines: where each row stands, from 1 on.
        files, labels: the cells of each row; no text where a row has no label.
        splits: the list's own name of each split -> its rows; WHOLE alone: it has no splits.
    """

    path: Path
    lines: list[int]
    files: list[str]
    labels: list[str]
    splits: dict[str, list[int]]

    def images(self, rows: Sequence[int]) -> Encoded:
        """The images of some rows, in their order; names of classes are numbered over all rows.

        Raises:
            Problem: a file that is missing, or a label that is none; the message names the line.
        """
        places = self.places(rows)
        # A split may lack its labels, as of a competition; the others number the classes.
        labelled = [
            each
            for each in self.splits.values()
            if any(self.labels[row] for row in each)
        ]
        kept = sorted(row for each in labelled for row in each)
        found, classes = from_texts(
            [self.labels[row] for row in kept],
            lambda index: self._where(kept[index]),
            str(self.path),
        )
        labels = no_labels(len(self.labels))
        labels[torch.tensor(kept, dtype=torch.int64)] = found
        own = labels[torch.tensor(rows, dtype=torch.int64)]
        return Encoded(
            own,
            classes,
            str(self.path),
            places.__getitem__,
            places,
            alphabetical=classes is not None,
        )

    def places(
        self, rows: Sequence[int], among: Sequence[Path] | None = None
    ) -> list[Path]:
        """Return the files of some rows: where their paths lead, or the only ones below the folder that are called so.

        Args:
            rows: which ones.
            among: the only files that may be meant; None: any.

        Raises:
            Problem: a row names none, or a name without folder or suffix several; the message names the line.
        """
        folder = self.path.parent
        cells = [self.files[row].replace("\0", " ") for row in rows]
        if among is None:
            found = [
                folder / cell if (folder / cell).is_file() else None for cell in cells
            ]
        else:
            allowed = {_plain(path): path for path in among}
            found = [allowed.get(_plain(folder / cell)) for cell in cells]
        odd = [place for place, path in enumerate(found) if path is None]
        if among is None and any("/" not in cells[place] for place in odd):
            among = images_below(folder)
        named = self._named(among or [])
        for place in odd:
            cell = cells[place].replace("\\", "/")  # as Windows divides folders
            meant = named.get(str(_plain(folder / cell))) or named.get(cell, set())
            if len(meant) != 1:
                how = f"{len(meant)} images" if meant else "no image file"
                way = f"paths are relative to {folder}, the folder of the list"
                raise WrongData(
                    f"{self._where(rows[place])}: {how} at {shown(folder / cells[place])}; {way}"
                )
            (found[place],) = meant
        files = [path for path in found if path is not None]
        if odd:
            tell(
                Note(
                    "found_by_name",
                    path=str(self.path),
                    folder=str(folder),
                    cell=cells[odd[0]],
                    file=str(files[odd[0]].relative_to(folder)),
                )
            )
        return files

    def _named(self, images: Sequence[Path]) -> dict[str, set[Path]]:
        """The images by their paths, names, and names without suffix."""
        found = dict[str, set[Path]]()
        for image in images:
            for name in (str(_plain(image)), image.name, image.stem):
                found.setdefault(name, set()).add(image)
        return found

    def _where(self, row: int) -> str:
        return f"line {self.lines[row]} of {self.path}"


def _plain(path: Path) -> Path:
    return Path(os.path.normpath(path))


def read_list(path: Path, columns: ColumnNames = USUAL) -> ImageList:
    """Read the list at `path`: a CSV file whose first line names the columns, or one JSON object a line.

    Labels are whole numbers, or names, which are numbered in alphabetical order.

    Raises:
        Problem: it is damaged, no such column, or a row of another length; the message names the line.
    """
    rows = read_rows(path)
    names = rows[0][1]
    cells = {
        name: [row[place] for _, row in rows[1:]] for place, name in enumerate(names)
    }
    about = split_column(names, (columns.image, columns.label))
    said = saying({name: cells[name] for name in about}, str(path))
    image, label = columns.find([name for name in names if name not in said], str(path))
    said = said or telling(
        {name: cells[name] for name in names if name not in (image, label)}
    )
    labels = [""] * (len(rows) - 1) if label is None else cells[label]
    splits = {WHOLE: list(range(len(labels)))}
    if said:
        splits = rows_of_splits({name: cells[name] for name in said}, str(path))
    return ImageList(
        path, [number for number, _ in rows[1:]], cells[image], labels, splits
    )


def read_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows of a list with their lines, the names of the columns first.

    Raises:
        Problem: it is damaged, holds no rows, or a row of another length; the message names the line.
    """
    rows = list(rows_of(path))
    if len(rows) < 2:
        raise WrongData(
            f"no images in {path}: its first line must name the columns, such as path,label"
        )
    names = rows[0][1]
    for number, row in rows:
        if len(row) != len(names):
            raise WrongData(
                f"{path}, line {number} has {len(row)} cells; expected {len(names)}, as in line 1"
            )
    return rows


def rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows as `read_rows` returns them, as far as they are asked for, of whatever length."""
    with refused(f"{path} is no list in UTF-8", (csv.Error, UnicodeDecodeError)):
        yield from (
            _json_rows(path) if path.suffix.lower() == JSON_LINES else _csv_rows(path)
        )


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV file that hold something, with their numbers, the names of the columns first."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        delimiter = _delimiter(path, file.readline())
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        for row in reader:
            if row:
                yield reader.line_num, [cell.strip() for cell in row]


def _delimiter(path: Path, header: str) -> str:
    """What stands between the cells of a file whose first line is `header`.

    Raises:
        Problem: it could be one of several.
    """
    usual = DELIMITERS[path.suffix.lower()]
    found = [each for each in OTHERS if each in header]
    if usual in found or not found:
        return usual
    if len(found) > 1:
        raise WrongData(
            f"{path}: the first line, {shown(repr(header.strip()))}, has several delimiters: use {usual!r}"
        )
    return found[0]


def _json_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The values of each line, in the order of the first line's keys, which are the first row."""
    names: list[str] = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            values = parse_json(line, f"line {number} of {path}")
            if not isinstance(values, dict) or (names and set(values) != set(names)):
                expected = shown(", ".join(names)) or "an object"
                raise WrongData(
                    f"{path}, line {number} has other keys than the first: expected {expected}"
                )
            if not names:
                names = list(values)
                yield 0, names
            yield (
                number,
                [
                    "" if values[name] is None else str(values[name]).strip()
                    for name in names
                ],
            )
