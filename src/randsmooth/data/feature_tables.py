"""Tables of features: DataFrames, and CSV and Parquet files of numbers.

Each row of a table is an input.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from randsmooth.data.arrays import column_names, from_arrays
from randsmooth.data.columns import IMAGE_NAMES, ColumnNames
from randsmooth.data.dataset_spec import Categories
from randsmooth.data.images import TensorImages
from randsmooth.data.labels import WHOLE_NUMBER, Where
from randsmooth.data.lists import DELIMITERS, Row, read_rows, rows_of
from randsmooth.data.notes import tell
from randsmooth.data.parquet_images import read_frame, scalar_columns
from randsmooth.data.request import Request
from randsmooth.data.split_columns import (
    rows_of_splits,
    saying,
    split_column,
    telling,
)
from randsmooth.data.splits import chosen
from randsmooth.data.walking import SUFFIXES
from randsmooth.documents import shown
from randsmooth.errors import Problem, Setting, WrongData
from randsmooth.notes import Note

PARQUET = ".parquet"
# NumPy's kinds of types of numbers: truth values, whole numbers with and without sign, floats.
KINDS_OF_NUMBERS = "biuf"

# Cells without a value, in small letters.
MISSING = ("", "na", "nan", "null", "none")

# Words in the names of columns of images, in small letters.
WORDS_FOR_IMAGES = {"image", "img", "file", "filename", "path"}
# Usual names of such columns.
USUAL_IMAGE_NAMES = {name for group in IMAGE_NAMES for name in group}

# How many rows are looked at, to tell a table of features from a list of images.
ROWS_LOOKED_AT = 20

# Bytes of the code of a category. float32 holds whole numbers of so many bytes exactly.
CODE_BYTES = 3


def is_feature_table(path: Path, columns: ColumnNames) -> bool:
    """Return whether `path` is a CSV or Parquet file of numbers, and not of images.

    It is one if the user names no column of images, if no column is called like one
    (image_id), if columns with usual names such as "x" hold numbers alone, and if no cell
    looks like the name of an image file.

    Args:
        path: a file.
        columns: the columns that the user names.
    """
    if columns.image is not None:
        return False
    suffix = path.suffix.lower()
    if suffix == PARQUET:
        return _is_parquet_of_features(path)
    if suffix in DELIMITERS:
        return _is_csv_of_features(path)
    return False


def _is_parquet_of_features(path: Path) -> bool:
    """Return whether a Parquet file is a table of features, by its schema."""
    # Empty for a table with a column of anything but numbers, texts and dates.
    holds_numbers = scalar_columns(path)
    if not holds_numbers or _names_images(holds_numbers):
        return False
    usual = USUAL_IMAGE_NAMES.intersection(holds_numbers)
    return all(holds_numbers[name] for name in usual)


def _is_csv_of_features(path: Path) -> bool:
    """Return whether a CSV file is a table of features, by its first rows."""
    lines = [row for _, row in islice(rows_of(path), 1 + ROWS_LOOKED_AT)]
    if len(lines) < 2:
        return False
    names, *rows = lines
    # Rows of another length are reported where the file is read as a list.
    if any(len(row) != len(names) for row in rows) or _names_images(names):
        return False

    if any(Path(cell).suffix.lower() in SUFFIXES for row in rows for cell in row):
        return False
    for place, name in enumerate(names):
        cells = [row[place] for row in rows]
        if name in USUAL_IMAGE_NAMES and _numbers(cells) is None:
            return False
    return True


def _names_images(names: Collection[str]) -> bool:
    """Return whether the name of a column has a word for images or their paths in it."""
    words = [re.split(r"[\W_]+", name.casefold()) for name in names]
    return any(not WORDS_FOR_IMAGES.isdisjoint(parts) for parts in words)


def read_feature_table(path: Path, request: Request) -> TensorImages:
    """Return the rows of a CSV or Parquet file as features.

    The file has a column of labels beside them, and perhaps one that tells splits.

    Raises:
        Problem: it is not clear which column holds the labels, or a column of features
            holds something else than numbers; the message names the line.
    """
    if path.suffix.lower() == PARQUET:
        return from_table(
            read_frame(path, list(scalar_columns(path))),
            request,
            name=str(path),
            where=lambda row: f"row {row + 1} of {path}",
            called=path.name,
        )

    header, *rows = read_rows(path)
    lines = [number for number, _ in rows]
    return from_table(
        frame_of_list(path, header, rows),
        request,
        name=str(path),
        where=lambda row: f"line {lines[row]} of {path}",
        called=path.name,
    )


def frame_of_list(path: Path, header: Row, rows: Sequence[Row]) -> Any:
    """Return the rows of a CSV file as a DataFrame.

    Args:
        path: the file, for errors.
        header: the first row, with the names of the columns.
        rows: the other rows.

    Raises:
        WrongData: a column has no name.
    """
    # pandas takes long to load.
    import pandas as pd

    _, names = header
    # The index of each column -> its cells.
    cells = {index: [row[index] for _, row in rows] for index in range(len(names))}
    # pandas writes the index of a table as a first column without a name.
    if names[0] == "" and _numbers_rows(cells[0]):
        tell(Note("numbering_column", path=str(path)))
        del cells[0]

    for index in cells:
        if not names[index]:
            raise WrongData(
                f"{path} has no name for column {index + 1}",
                fix="write one into its first line",
            )
    # Columns get their names afterwards: of two with one name, a dictionary would drop one.
    frame = pd.DataFrame({index: _values(column) for index, column in cells.items()})
    frame.columns = pd.Index([names[index] for index in cells])
    return frame


def _numbers_rows(cells: Sequence[str]) -> bool:
    """Return whether a column has a different whole number in each row."""
    return len(set(cells)) == len(cells) and all(cell.isdigit() for cell in cells)


@dataclass(frozen=True)
class Roles:
    """Which columns of a table hold labels and splits; all others are features.

    Attributes:
        label: the column of labels; None: there is none.
        splits: the name of each column that tells splits -> its cells.
    """

    label: str | None
    splits: dict[str, list[Any]]


def from_table(
    frame: Any,
    request: Request,
    labels: Any = None,
    name: str = "the DataFrame",
    where: Where | None = None,
    called: str = "arrays",
) -> TensorImages:
    """Return the rows of a DataFrame of numbers as features.

    The column of labels has a usual name, or the one that the user asks for. A column may
    tell the split of each row. All other columns are features.

    Args:
        frame: the table.
        request: the split and the columns that the user asks for.
        labels: (N,), where they are given beside the table; None: a column holds them.
        name: the name for the table in errors.
        where: names a row in errors.
        called: the name for the data set.

    Raises:
        Problem: no column is known to hold the labels, or another holds something else
            than numbers.
    """
    where = where or (lambda row: f"row {row} of {name}")
    roles = roles_of(frame, request, labels is not None, name)
    names = [str(column) for column in frame.columns]
    if roles.label is not None:
        # By a mask: the label is a text, and the names of columns need not be texts.
        labels = frame.loc[:, [column == roles.label for column in names]].iloc[:, 0]

    others = [column != roles.label and column not in roles.splits for column in names]
    table = frame.loc[:, np.array(others, dtype=bool)]
    values, held = _numbers_of(table, request.categories, name, where)
    whole = from_arrays(
        values, labels, name, request, source=called, as_features=True, where=where
    )
    spec = replace(whole.spec, columns=column_names(table), held=held)
    if not roles.splits:
        return TensorImages(spec, whole.split, whole.pixels, whole.labels, whole.device)

    rows_by_name = rows_of_splits(roles.splits, name)
    split, rows = chosen(rows_by_name, request.split, name)
    part = whole.subset(torch.tensor(rows[split]))
    spec = replace(spec, sizes={other: len(places) for other, places in rows.items()})
    return TensorImages(spec, split, part.pixels, part.labels, part.device)


def roles_of(frame: Any, request: Request, labels_given: bool, name: str) -> Roles:
    """Return which columns of a table hold labels and splits.

    Args:
        frame: the table.
        request: the split and the columns that the user asks for.
        labels_given: whether the labels are given beside the table, or there are none.
        name: the name for the table in errors.
    """
    names = [str(column) for column in frame.columns]
    about_splits = split_column(names, (request.columns.label,))
    cells = _cells(frame, about_splits)
    splits = saying(cells, name)

    label = None
    if not labels_given:
        others = [column for column in names if column not in splits]
        label = request.columns.label_among(others, name)
    if not splits:
        # A column of texts may tell splits by its cells, whatever it is called.
        types = zip(names, frame.dtypes, strict=True)
        texts = [column for column, dtype in types if dtype.kind == "O"]
        cells = _cells(frame, [column for column in texts if column != label])
        splits = telling(cells)
    return Roles(label, {column: cells[column] for column in splits})


def _cells(frame: Any, columns: Sequence[str]) -> dict[str, list[Any]]:
    """Return the name of each column -> its cells, without names that several columns have."""
    times = Counter(map(str, frame.columns))
    return {column: frame[column].tolist() for column in columns if times[column] == 1}


def _numbers_of(
    table: Any, categories: bool, name: str, where: Where
) -> tuple[NDArray[np.float64], tuple[Categories, ...]]:
    """Return the numbers (N, d) in a table of features, and what its codes stand for.

    Args:
        table: columns of features alone.
        categories: whether columns without numbers are taken as codes.
        name: the name for the table in errors.
        where: names a row in errors.

    Raises:
        WrongData: a column holds no numbers, and `categories` is False.
    """
    kinds = [dtype.kind for dtype in table.dtypes]
    numeric = [index for index, kind in enumerate(kinds) if kind in KINDS_OF_NUMBERS]
    coded = [index for index, kind in enumerate(kinds) if kind not in KINDS_OF_NUMBERS]
    held = tuple(_categories(table, place) for place in coded)
    if held and not categories:
        raise _no_numbers(table, held[0], name, where)

    values = np.empty(table.shape)
    values[:, numeric] = table.iloc[:, numeric].to_numpy(np.float64, na_value=np.nan)
    for column in held:
        values[:, column.place] = _coded(table.iloc[:, column.place], column)
    return values, held


def _no_numbers(table: Any, column: Categories, name: str, where: Where) -> Problem:
    """Return the error for a column of a table that holds no numbers.

    Args:
        table: columns of features.
        column: the column.
        name: the name for the table.
        where: names a row.
    """
    cells = table.iloc[:, column.place].tolist()
    # The example is a cell that is no number. There may be none, as in a column of texts all
    # of which are numbers: then it is the first cell.
    no_number = [row for row, cell in enumerate(cells) if _numbers([str(cell)]) is None]
    example = "nothing"
    if cells:
        row = no_number[0] if no_number else 0
        example = f"{shown(repr(cells[row]))} in {where(row)}"
    return WrongData(
        f"the column {shown(repr(column.name))} of {name} holds values that are "
        f"not numbers, such as {example}",
        fix=("encode it, drop it, or name it as ", Setting("label_column")),
    )


def _categories(table: Any, place: int) -> Categories:
    """Return the categories of the column at a `place`.

    The code of a value is a hash of it. So it does not depend on which other values there
    are, and data with other values have other codes.
    """
    column = table.iloc[:, place]
    value_by_text = {repr(value): value for value in column.tolist()}
    value_by_code = dict[int, Any]()
    for text in sorted(value_by_text):
        digest = blake2b(text.encode("utf-8", "replace"), digest_size=CODE_BYTES)
        code = int.from_bytes(digest.digest())
        # Two values may have one hash: the later one takes the next free code.
        while code in value_by_code:
            code = (code + 1) % 256**CODE_BYTES
        value_by_code[code] = value_by_text[text]

    codes = sorted(value_by_code)
    return Categories(
        name=str(table.columns[place]),
        place=place,
        codes=tuple(map(float, codes)),
        values=tuple(value_by_code[code] for code in codes),
        dtype=column.dtype,
    )


def _coded(column: Any, categories: Categories) -> list[float]:
    """Return the codes of the values of a column."""
    pairs = zip(categories.values, categories.codes, strict=True)
    # Values are looked up by their texts, since NaN is not equal to itself.
    code_by_text = {repr(value): code for value, code in pairs}
    return [code_by_text[repr(value)] for value in column.tolist()]


def _numbers(cells: Sequence[str]) -> list[float] | None:
    """Return the numbers in cells, NaN for a cell without a value.

    The answer is None if a cell holds something else.
    """
    try:
        return [
            float("nan") if cell.casefold() in MISSING else float(cell)
            for cell in cells
        ]
    except ValueError:
        return None


def _values(cells: Sequence[str]) -> NDArray[Any] | list[str | None]:
    """Return the values of the cells of a column: whole numbers, floats, or texts.

    Among texts, a cell without a value is None. Numbers come as an array: pandas makes a
    table of a thousand arrays as fast as one Series.
    """
    if all(WHOLE_NUMBER.fullmatch(cell) for cell in cells):
        return np.array([int(cell) for cell in cells])
    numbers = _numbers(cells)
    if numbers is not None:
        return np.array(numbers)
    return [cell or None for cell in cells]
