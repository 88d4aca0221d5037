"""Columns of Arrow's tables: the labels in one, and its cells by their names."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from randsmooth.data.encoded import Content, Encoded
from randsmooth.data.labels import check_names, labels_of, no_labels
from randsmooth.documents import refused

# Errors that Arrow raises for a file of another kind, or a damaged one.
DAMAGED = (OSError, ValueError, KeyError, OverflowError, MemoryError, pa.ArrowException)


def encoded_rows(
    rows: int,
    labels: pa.ChunkedArray | None,
    names: Any,
    source: str,
    content: Content,
) -> Encoded:
    """Return the compressed images in the rows of a table, with their labels.

    Args:
        rows: the number of rows.
        labels: the column of the labels; None: there are no labels.
        names: the names of the classes, where the table gives them; else None or empty.
        source: names the table in errors.
        content: returns the bytes of each image.

    Raises:
        Problem: the column holds something else than labels.
    """
    if labels is None:
        return Encoded(no_labels(rows), None, source, content)

    # Damaged labels may be indices beyond the dictionary of a column.
    with refused(f"the labels of {source} cannot be read", (IndexError, *DAMAGED)):
        values = labels.to_numpy()
    numbers, classes = labels_of(
        values, lambda index: f"image {index} of {source}", source
    )
    # Names that the table gives come in an order. Those that are found among the labels are
    # in the order of the alphabet.
    alphabetical = classes is not None and not names
    if names:
        classes = check_names(names, source)
    return Encoded(numbers, classes, source, content, alphabetical=alphabetical)


def named_cells(cells: list[Any], names: Sequence[str] | None) -> list[Any]:
    """Return the cells of a column, with the names for which its numbers stand.

    Args:
        cells: the cells.
        names: the names, of which a cell gives the index; None: the cells are no indices.

    Example:
        >>> named_cells([1, 0, 7], ["train", "test"])
        ['test', 'train', 7]
    """
    if not names:
        return cells
    return [
        names[cell] if isinstance(cell, int) and 0 <= cell < len(names) else cell
        for cell in cells
    ]
