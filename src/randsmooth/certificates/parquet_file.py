"""What all Parquet files of certificates have in common: digests, columns and limits.

Only columns of the expected names, types and sizes are read. The digests guard against
accidents: a flipped bit, a lost block, files mixed up. Whoever forges counts can forge
them as well.
"""

import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from randsmooth.certificates.evidence import ADDRESS, PUT_TOGETHER, Column
from randsmooth.documents import shown
from randsmooth.errors import Problem, TooLarge, WrongFile
from randsmooth.parquet_layout import Layout, layout_of, read_layout

ANOTHER_COPY = f"Take another copy or certify again; {PUT_TOGETHER}"

# Keys in the metadata of the Parquet file.
KEY = b"randsmooth"
DIGESTS = b"randsmooth.sha256"

NUMBERS = pa.list_(pa.int64())

# The most rows of a table: ImageNet has 1.28 million training images.
MOST_ROWS = 2 * 10**6

# The most numbers in a column: counts of 50,000 images in 5,000 classes, which take 2
# GiB of memory.
MOST_VALUES = 2**28

# The bytes of memory that columns may take whatever the size of their file.
ALWAYS_ALLOWED_BYTES = 2**28

# Beyond that, how many times the size of the file they may take: equal numbers take next
# to nothing in a file.
MOST_BYTES_PER_BYTE = 2000

# Column -> its arrays. `path` has two, the length of each list and the numbers of all
# lists; any other column has one.
Parts = dict[str, list[NDArray[Any]]]

# Column -> its kind.
Kinds = Mapping[str, Column]


def type_of(column: Column) -> pa.DataType:
    """Return the type of a column in a file."""
    if column.of in ("class", "look"):
        return NUMBERS
    if column.of == "byte":
        return pa.binary(ADDRESS)
    return pa.from_numpy_dtype(column.dtype)


def in_a_file(table: pa.Table) -> bytes:
    """Return the content of a Parquet file of `table`.

    It is compressed, unless equal values would make it so small that `_check_made`
    takes it for a forged file.
    """
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    if layout_of(buffer).made <= _most_bytes(buffer.tell()):
        return buffer.getvalue()
    buffer = io.BytesIO()
    pq.write_table(
        table,
        buffer,
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
    )
    return buffer.getvalue()


def digests(header: bytes, parts: Parts) -> bytes:
    """Return one line `name sha256` for the stored `header` and one for each column.

    Name, type and shape of each array are hashed with its little-endian bytes, so that
    numbers which change places change the digest.
    """
    lines = [f"header {hashlib.sha256(header).hexdigest()}"]
    for name, arrays in parts.items():
        hashed = hashlib.sha256()
        for array in arrays:
            little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            hashed.update(f"{name} {little.dtype.str} {little.shape}\n".encode())
            hashed.update(little.data)
        lines.append(f"{name} {hashed.hexdigest()}")
    return "\n".join(lines).encode()


def check_digests(metadata: Mapping[bytes, bytes], parts: Parts, path: Path) -> None:
    """Raise Problem unless header and columns are those that were written."""
    lines = digests(metadata[KEY], parts).split(b"\n")
    stored = metadata.get(DIGESTS, b"").split(b"\n")
    wrong = [line.partition(b" ")[0].decode() for line in lines if line not in stored]
    # If a column was lost, every line that is left may be right.
    if wrong or len(lines) != len(stored):
        changed = ", ".join(wrong) or "list of columns"
        raise WrongFile(
            f"{path} is damaged: not what was written, by sha256, is its {changed}. "
            f"{ANOTHER_COPY}",
            file=path,
        )


@contextmanager
def open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Open the Parquet file at `path`.

    Raises:
        Problem: the file is no Parquet file, is cut short, has a page with a wrong
            checksum, or states more bytes than a table of its size takes.
    """
    try:
        _check_made(read_layout(path), path)
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    # A Problem, also one of the block that reads the file, is a ValueError that says
    # enough.
    except Problem:
        raise
    except (
        pa.ArrowException,
        OSError,
        KeyError,
        ValueError,
        TypeError,
        RuntimeError,
        MemoryError,
    ) as error:
        raise WrongFile(
            f"{path} is not a readable Parquet file (damaged or cut short? "
            f"{shown(error)})",
            file=path,
        ) from error


def check_numeric(file: pq.ParquetFile, name: str, path: Path) -> None:
    """Raise Problem unless each value of a column is one number or truth value."""
    column_type = file.schema_arrow.field(name).type
    if not pa.types.is_primitive(column_type):
        raise broken(path, name, f"holds {column_type}, not numbers")


def parts_in(file: pq.ParquetFile, path: Path, kinds: Kinds, width: int) -> Parts:
    """Return the arrays of each column of evidence in `file`.

    Args:
        file: the open file.
        path: its path.
        kinds: the kind of each column that such a file has.
        width: how many numbers a list of classes has, by the header; 0 where it
            does not say.

    Raises:
        Problem: a column is missing, occurs twice, has another type, or is larger than
            that of any table.
    """
    schema = file.schema_arrow
    names = [
        name
        for name, column in kinds.items()
        if name in schema.names or not column.optional
    ]
    for name in names:
        # A name may stand in the file never, once or several times.
        indices = schema.get_all_field_indices(name)
        types = [schema.field(index).type for index in indices]
        expected = type_of(kinds[name])
        if types != [expected]:
            held = " and ".join(map(str, types)) or "nothing"
            raise broken(path, name, f"holds {held}, not {expected}")
    _check_numbers(read_layout(path, names), path, kinds, width)
    table = file.read(columns=names)
    columns = {name: table.column(name).combine_chunks() for name in names}
    return parts_of(columns, path, kinds, width)


def parts_of(
    columns: Mapping[str, pa.Array], path: Path | None, kinds: Kinds, width: int
) -> Parts:
    """Return the arrays of each column.

    Args:
        columns: name -> the values as Arrow stores them.
        path: the file that they were read from, for errors; None for a table that is to
            be written.
        kinds: the kind of each column.
        width: how many numbers the counts of an image are in a table without rows; 0
            where nothing says it. A table with rows has as many as its first row.
    """
    of_classes = [name for name, kind in kinds.items() if kind.of == "class"]
    first_lengths = columns[of_classes[-1]][:1].value_lengths().to_pylist()
    if first_lengths:
        # `from_evidence` checks later that the header tells as many classes.
        width = first_lengths[0] or 0
    # Counts without a class cannot be: a row that has none is refused as too short.
    width = max(1, width)
    return {
        name: from_arrow(name, column, kinds[name], width, path)
        for name, column in columns.items()
    }


def to_arrow(kind: Column, values: Any) -> pa.Array:
    """Return the values of a column of this kind as Arrow stores them."""
    arrow_type = type_of(kind)
    if kind.of == "byte":
        return pa.array(list(map(bytes, values)), arrow_type)
    if arrow_type != NUMBERS:
        return pa.array(values, arrow_type)
    # A list for each row: all their numbers in one array, and where each begins.
    offsets = np.cumsum([0, *map(len, values)])
    check_size(rows=len(values), numbers=int(offsets[-1]), what="the table")
    # The empty array stands first because `np.concatenate` takes no empty list.
    numbers = pa.array(np.concatenate([np.zeros(0, np.int64), *values]), pa.int64())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), numbers)


def from_arrow(
    name: str, column: pa.Array, kind: Column, width: int, path: Path | None
) -> list[NDArray[Any]]:
    """Return the arrays of one column.

    A column of looks has two, the length of each list and the numbers of all lists; any
    other has one, of shape (N,), (N, width) or (N, ADDRESS).
    """
    is_list = type_of(kind) == NUMBERS
    if column.null_count or (is_list and column.flatten().null_count):
        raise broken(path, name, "lacks a value")
    if kind.of == "byte":
        content = b"".join(column.to_pylist())
        return [np.frombuffer(content, np.uint8).reshape(len(column), ADDRESS)]
    if not is_list:
        # A copy, so that the table of Arrow is not kept in memory beside it.
        return [column.to_numpy().copy()]

    lengths = column.value_lengths().to_numpy().astype(np.int64)
    numbers = column.flatten().to_numpy().copy()
    if kind.of == "look":
        return [lengths, numbers]
    wrong = np.flatnonzero(lengths != width)
    if len(wrong):
        row = wrong[0]
        raise broken(
            path, name, f"counts {lengths[row]} classes in row {row + 1}, not {width}"
        )
    return [numbers.reshape(len(lengths), width)]


def _check_made(layout: Layout, path: Path) -> None:
    """Raise Problem where reading the file may take more memory than its size explains.

    A small forged file could else state gigabytes of equal numbers.
    """
    packed = path.stat().st_size
    most = _most_bytes(packed)
    if layout.made > most:
        states = f"{path} states {layout.made:,} bytes of numbers and takes {packed:,}"
        raise WrongFile(
            f"{states}; expected at most {most:,} in such a file. {ANOTHER_COPY}",
            file=path,
        )


def _most_bytes(packed: int) -> int:
    """Return the most bytes that the columns of a file of `packed` bytes may hold."""
    return max(ALWAYS_ALLOWED_BYTES, MOST_BYTES_PER_BYTE * packed)


def _check_numbers(layout: Layout, path: Path, kinds: Kinds, width: int) -> None:
    """Check how many rows and numbers the columns of evidence have, before they are
    read.

    Args:
        layout: the statements of the file about its columns.
        path: the path of the file.
        kinds: the kind of each column that such a file has.
        width: how many numbers the counts of an image are, by the header; 0 where it
            does not say.

    Raises:
        Problem: there are more rows or numbers than any table has, or more counts than
            the header allows.
    """
    numbers = {name: sum(chunk.values for chunk in layout.of([name])) for name in kinds}
    for name, stated in numbers.items():
        if kinds[name].of == "class" and width and stated > layout.rows * width:
            raise broken(
                path,
                name,
                f"states {stated:,} counts of {width:,} classes in {layout.rows:,} "
                "rows",
            )
    check_size(rows=layout.rows, numbers=max(numbers.values()), what=str(path))


def check_size(rows: int, numbers: int, what: str) -> None:
    """Raise Problem for more rows or numbers than any table holds.

    `what` holds them: the words of an error begin with it.
    """
    if rows > MOST_ROWS or numbers > MOST_VALUES:
        raise TooLarge(
            f"{what} holds {rows:,} rows with {numbers:,} counts; a table has at most "
            f"{MOST_ROWS:,} rows and {MOST_VALUES:,} counts: split it"
        )


def broken(path: Path | None, name: str, fault: str) -> Problem:
    """Return the error for a column; `path` is None for a table not written yet."""
    holder = "the table" if path is None else str(path)
    return WrongFile(f"{holder} is damaged: its column {name!r} {fault}", file=path)
