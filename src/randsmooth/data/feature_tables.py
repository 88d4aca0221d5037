"""Tables of features: DataFrames, and CSV and Parquet files of numbers; each row is an input."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from randsmooth.data.arrays import column_names, from_arrays
from randsmooth.data.dataset_spec import Categories
from randsmooth.data.images import Request, TensorImages
from randsmooth.data.labels import IMAGE_NAMES, NUMBER, ColumnNames, Where
from randsmooth.data.lists import DELIMITERS, read_rows, rows_of
from randsmooth.data.notes import tell
from randsmooth.data.splits import chosen, rows_of_splits, saying, split_column, telling
from randsmooth.data.tables import read_frame, scalar_columns
from randsmooth.data.walking import SUFFIXES
from randsmooth.documents import shown
from randsmooth.errors import Problem, Setting, WrongData
from randsmooth.notes import Note

MISSING = ("", "na", "nan", "null", "none")  # cells without a value, in small letters
OF_IMAGES = {
    "image",
    "img",
    "file",
    "filename",
    "path",
}  # words in the name of a column of images, in small letters
USUAL = {name for group in IMAGE_NAMES for name in group}  # of columns of images
PARQUET = ".parquet"
CODE_BYTES = 3  # of a code: float32 holds all whole numbers of so many exactly
LOOKED_AT = 20  # rows that tell a table of features from a list of images


def is_feature_table(path: Path, columns: ColumnNames) -> bool:
    """Return whether `path` is a CSV or Parquet file of numbers, and not one of images or of paths to images.

    That is where no column is asked for as that of the images, none is called so (image_id), none with a usual name
    holds anything but numbers, and no cell looks like an image file.
    """
    if columns.image is not None:
        return False
    if path.suffix.lower() == PARQUET:
        known = scalar_columns(path)
        texts = {name for name, numbers in known.items() if not numbers}
        return bool(known) and not _names_images([*known]) and not texts & USUAL
    if path.suffix.lower() not in DELIMITERS:
        return False
    (names, *rows) = [row for _, row in islice(rows_of(path), 1 + LOOKED_AT)] or [[]]
    if not rows or any(len(row) != len(names) for row in rows):
        return False
    if _names_images(names):
        return False
    cells = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    if any(Path(cell).suffix.lower() in SUFFIXES for row in rows for cell in row):
        return False
    return all(_numbers(cells[name]) is not None for name in names if name in USUAL)


def _names_images(names: Sequence[str]) -> bool:
    """Return whether a column is called as one of images or of their paths is."""
    words = (set(re.split(r"[\W_]+", name.casefold())) for name in names)
    return any(OF_IMAGES & each for each in words)


def read_feature_table(path: Path, request: Request) -> TensorImages:
    """The rows of a CSV or Parquet file as features; a column of labels, and perhaps one of splits, beside numbers.

    Raises:
        Problem: a column that is not clear, or holds something else than numbers; the message names the line.
    """
    import pandas as pd  # here, since it takes long to load

    if path.suffix.lower() == PARQUET:
        frame = read_frame(path, [*scalar_columns(path)])
        return from_table(
            frame,
            request,
            None,
            str(path),
            lambda row: f"row {row + 1} of {path}",
            path.name,
        )
    (_, names), *rows = read_rows(path)
    cells = {place: [row[place] for _, row in rows] for place in range(len(names))}
    if (
        names[0] == ""
        and len(set(cells[0])) == len(rows)
        and all(cell.isdigit() for cell in cells[0])
    ):
        # As pandas writes an index.
        tell(Note("numbering_column", path=str(path)))
        del cells[0]
    if nameless := [place for place in cells if not names[place]]:
        raise WrongData(
            f"{path} has no name for column {nameless[0] + 1}: write one into its first line"
        )
    frame = pd.DataFrame({place: _values(column) for place, column in cells.items()})
    frame.columns = pd.Index([names[place] for place in cells])
    lines = [number for number, _ in rows]
    return from_table(
        frame,
        request,
        None,
        str(path),
        lambda row: f"line {lines[row]} of {path}",
        path.name,
    )


def from_table(
    frame: Any,
    request: Request,
    labels: Any = None,
    name: str = "the DataFrame",
    where: Where | None = None,
    called: str = "arrays",
) -> TensorImages:
    """A DataFrame of numbers: a column of labels by its usual name or the one that is asked for, the others features.

    A column that says "train" or "test" of each row is heard.

    Args:
        frame: the table.
        request: what is asked of it.
        labels: (N,) where the table does not hold them.
        name: what to call the table in errors.
        where: what to call a row in errors.
        called: what to call the data set.

    Raises:
        Problem: no column is known to hold the labels, or another holds something else than numbers.
    """
    where = where or (lambda row: f"row {row} of {name}")
    names = [str(each) for each in frame.columns]
    about = [
        each
        for each in split_column(names, (request.columns.label,))
        if names.count(each) == 1
    ]
    cells = {each: frame[each].tolist() for each in about}
    said = saying(cells, name)
    label = None
    if labels is None:
        label = request.columns.label_among(
            [each for each in names if each not in said], name
        )
    if not said:
        typed = zip(names, frame.dtypes, strict=True)
        others = [each for each, dtype in typed if dtype.kind == "O" and each != label]
        times = Counter(names)
        texts = [each for each in others if times[each] == 1]
        cells = {each: frame[each].tolist() for each in texts}
        said = telling(cells)
    kept = np.array([each != label and each not in said for each in names])
    x = frame.loc[:, kept]
    kinds = [dtype.kind for dtype in x.dtypes]
    coded = [place for place, kind in enumerate(kinds) if kind not in "biuf"]
    numeric = [place for place, kind in enumerate(kinds) if kind in "biuf"]
    held = tuple(_categories(x, place) for place in coded)
    if held and not request.categories:
        raise _no_numbers(x, held[0], name, where)
    if label is not None:
        labels = frame.loc[:, [each == label for each in names]].iloc[:, 0]
    values = np.empty(x.shape)
    values[:, numeric] = x.iloc[:, numeric].to_numpy(np.float64, na_value=np.nan)
    for each in held:
        values[:, each.place] = _coded(x.iloc[:, each.place], each)
    found = from_arrays(
        values, labels, name, request, source=called, as_features=True, where=where
    )
    whole = replace(found.spec, columns=column_names(x), held=held)
    images = TensorImages(whole, found.split, found.pixels, found.labels, found.device)
    if not said:
        return images
    split, rows = chosen(
        rows_of_splits({each: cells[each] for each in said}, name), request.split, name
    )
    part = images.subset(torch.tensor(rows[split]))
    spec = replace(whole, sizes={each: len(of) for each, of in rows.items()})
    return TensorImages(spec, split, part.pixels, part.labels, part.device)


def _no_numbers(x: Any, column: Categories, name: str, where: Where) -> Problem:
    """The error for a column of a table that holds something else than numbers."""
    cells = x.iloc[:, column.place].tolist()
    odd = next(
        (row for row, cell in enumerate(cells) if _numbers([str(cell)]) is None), 0
    )
    example = f"{shown(repr(cells[odd]))} in {where(odd)}" if cells else "nothing"
    said = f"the column {shown(repr(column.name))} of {name} holds no numbers, as {example}"
    return WrongData(
        said,
        fix=("encode it, drop it, or name it as ", Setting("label_column")),
    )


def _categories(x: Any, place: int) -> Categories:
    """The categories of a column: codes depend on the values alone, so that other values are other inputs."""
    column = x.iloc[:, place]
    values = {repr(value): value for value in column.tolist()}
    codes = dict[int, Any]()
    for text in sorted(values):
        code = int.from_bytes(
            blake2b(text.encode("utf-8", "replace"), digest_size=CODE_BYTES).digest()
        )
        while code in codes:
            code = (code + 1) % 256**CODE_BYTES
        codes[code] = values[text]
    ascending = sorted(codes)
    known = tuple(codes[code] for code in ascending)
    return Categories(
        str(x.columns[place]), place, tuple(map(float, ascending)), known, column.dtype
    )


def _coded(column: Any, categories: Categories) -> list[float]:
    """The codes of the values of a column."""
    codes = {
        repr(value): code
        for code, value in zip(categories.codes, categories.values, strict=True)
    }
    return [codes[repr(value)] for value in column.tolist()]


def _numbers(cells: Sequence[str]) -> list[float] | None:
    """The numbers that cells hold, NaN of those without a value; None where a cell holds something else."""
    try:
        return [
            float("nan") if cell.casefold() in MISSING else float(cell)
            for cell in cells
        ]
    except ValueError:
        return None


def _values(cells: Sequence[str]) -> NDArray[Any] | list[str | None]:
    """What the cells of a column hold: whole numbers, numbers, or texts, None where there is no value.

    Numbers come as an array, which a table takes a thousand of as fast as one Series.
    """
    if all(NUMBER.fullmatch(cell) for cell in cells):
        return np.array([int(cell) for cell in cells])
    numbers = _numbers(cells)
    return [cell or None for cell in cells] if numbers is None else np.array(numbers)
