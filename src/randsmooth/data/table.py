"""Splits stored as a table in Hugging Face layout: Parquet files, or a data set of the `datasets` library."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from randsmooth.data.columns import USUAL, WAY, ColumnNames
from randsmooth.data.encoded import check_names
from randsmooth.data.labels import no_labels
from randsmooth.data.parquet_file import DAMAGED, READ_BYTES, open_parquet, rows_at_a_time, size_of, sizes
from randsmooth.data.row_groups import RowGroups
from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError
from randsmooth.extras import needs
from randsmooth.transfer import fetched
from randsmooth.urls import Place

# Up to so many compressed bytes, all are held in memory. Of larger files a few rows are, while images are asked for in
# order; once they are asked for at random, up to READ_BYTES are held, and of still larger ones Arrow files are mapped.
HELD_BYTES = 2**26
RANDOM = 64  # jumps back that no reader in order makes

# How large a file may become in memory: so many times its size, or so many bytes.
MOST_SWELLING, SMALL_BYTES = 64, 2**27


class ImageTable:
    """A split in an Arrow table, in memory or mapped from disk."""

    def __init__(self, table: pa.Table, source: str, columns: ColumnNames = USUAL) -> None:
        """`source` names the table in errors. Raises InputError for missing columns or labels."""
        image, label = _columns(table.schema, source, columns)
        self.source = source
        self.labels = no_labels(len(table)) if label is None else labels_of(table.column(label), source)
        self.classes = None if label is None else _classes(table.schema, label, source)
        self._bytes = pc.struct_field(table.column(image), "bytes")

    def open(self, index: int) -> IO[bytes]:
        return _image(self._bytes[index].as_py(), self.where(index))

    def where(self, index: int) -> str:
        return f"image {index} of {self.source}"


class StreamedTable:
    """A split in Parquet files, of which a few rows are in memory at a time while they are asked for in order."""

    def __init__(self, files: Sequence[Place], source: str, columns: ColumnNames = USUAL) -> None:
        """`source` names the files in errors. Raises InputError for missing columns or labels."""
        self.source = source
        self._files, self._columns = list(files), columns
        with open_parquet(files[0]) as first:
            schema = first.schema_arrow
        image, label = _columns(schema, source, columns)
        self._rows = RowGroups(files, image)
        self.labels = no_labels(self._rows.rows) if label is None else labels_of(_column(files, label), source)
        self.classes = None if label is None else _classes(schema, label, source)
        self._at_random: ImageTable | None = None
        self._lock = Lock()

    def open(self, index: int) -> IO[bytes]:
        if self._rows.jumps > RANDOM:
            with self._lock:
                self._at_random = self._at_random or _whole(self._files, self.source, self._columns)
            return self._at_random.open(index)
        return _image(self._rows.at(index), self.where(index))

    def where(self, index: int) -> str:
        return f"image {index} of {self.source}"


def read_parquet(files: Sequence[Place], columns: ColumnNames = USUAL) -> ImageTable | StreamedTable:
    """One split from its Parquet shards, in order. Raises InputError naming a file that cannot be used."""
    source = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    for file in files:
        with open_parquet(file) as parquet:
            _columns(parquet.schema_arrow, str(file), columns)
    large = sum(map(size_of, files)) > HELD_BYTES
    return StreamedTable(files, source, columns) if large else _whole(files, source, columns)


def _whole(places: Sequence[Place], source: str, columns: ColumnNames) -> ImageTable:
    """The shards as one table to be read at random: in memory, or where they are too large mapped from disk."""
    files = [fetched(place) for place in places]
    if sum(map(size_of, files)) > READ_BYTES:
        return ImageTable(mapped(files, columns), source, columns)
    tables = [_read(file, columns) for file in files]
    try:
        return ImageTable(pa.concat_tables(tables), source, columns)
    except pa.ArrowException as error:
        raise InputError(f"{source} have different columns, fetch them again: {shown(error)}") from error


def _image(data: bytes | None, where: str) -> IO[bytes]:
    if data is None:
        raise InputError(f"{where} has no bytes: store the image itself, not only its path")
    return io.BytesIO(data)


def _column(files: Sequence[Place], name: str) -> pa.ChunkedArray:
    """A column of all files, which holds little."""
    chunks = []
    for file in files:
        with open_parquet(file) as parquet:
            try:
                chunks.append(parquet.read([name]).column(name))
            except DAMAGED as error:
                raise InputError(f"{file} is a damaged Parquet file, fetch it again: {shown(error)}") from error
    return pa.chunked_array([chunk for column in chunks for chunk in column.chunks], chunks[0].type)


def mapped(files: list[Path], columns: ColumnNames = USUAL) -> pa.Table:
    """The shards as one table that stays on disk: `datasets` converts them to Arrow once, in its cache."""
    with needs(f"reading more than {READ_BYTES:,} bytes of Parquet files"):
        import datasets

    try:
        return plain(datasets.Dataset.from_parquet([str(file) for file in files]), columns)
    except InputError:
        raise
    except Exception as error:  # the library's own errors have no other base class in common
        raise InputError(f"{files[0]} cannot be read, fetch it again: {shown(error)}") from error


def plain(dataset: Any, columns: ColumnNames = USUAL) -> pa.Table:
    """The Arrow table of a `datasets.Dataset` all of whose rows are meant, its images still compressed."""
    import datasets

    image, _ = _columns(dataset.features.arrow_schema, "the data set", columns)
    dataset = dataset.cast_column(image, datasets.Image(decode=False))
    return dataset.data.table.replace_schema_metadata(dataset.features.arrow_schema.metadata)


def _read(file: Path, asked: ColumnNames) -> pa.Table:
    batches, size = [], 0
    parquet = open_parquet(file)
    columns = [name for name in _columns(parquet.schema_arrow, str(file), asked) if name is not None]
    try:
        _check_size(file, sum(sizes(parquet.metadata)))
        for batch in parquet.iter_batches(batch_size=rows_at_a_time(parquet.metadata), columns=columns):
            size += batch.nbytes
            _check_size(file, size)
            batches.append(batch)
        schema = batches[0].schema if batches else parquet.schema_arrow
        return (
            pa.Table.from_batches(batches, schema)
            .select(columns)
            .replace_schema_metadata(parquet.schema_arrow.metadata)
        )
    except InputError:
        raise
    except DAMAGED as error:
        raise InputError(f"{file} is a damaged Parquet file, fetch it again: {shown(error)}") from error


def _check_size(file: Path, size: int) -> None:
    """Raise InputError for too many bytes from a small file: images are compressed already, so a file grows little."""
    most = min(2 * READ_BYTES, max(SMALL_BYTES, MOST_SWELLING * file.stat().st_size))
    if size > most:
        raise InputError(f"{file} swells to more than {most:,} bytes of images; expected them compressed, once each")


def _columns(schema: pa.Schema, source: str, columns: ColumnNames) -> tuple[str, str | None]:
    """The names of the image and the label column, if there is one. Raises InputError if either is not clear."""
    image, label = columns.find(schema.names, source)
    if not _holds_bytes(schema.field(image).type):
        raise InputError(
            f"the column {shown(repr(image))} of {source} holds {shown(schema.field(image).type)}; needed are images "
            f"in Hugging Face layout (struct<bytes: binary, path: string>): {WAY}"
        )
    return image, label


def _holds_bytes(kind: pa.DataType) -> bool:
    if not pa.types.is_struct(kind) or (place := kind.get_field_index("bytes")) < 0:
        return False
    held = kind.field(place).type
    return bool(pa.types.is_binary(held) or pa.types.is_large_binary(held))


def labels_of(column: pa.ChunkedArray, source: str) -> Tensor:
    """The label column as (N,) int64."""
    if not pa.types.is_integer(column.type) or column.null_count:
        raise InputError(
            f"the labels of {source} must be integers from 0 to K - 1; found {shown(column.type)}"
            f"{' with gaps' if column.null_count else ''}: number them, as `class_encode_column` of datasets does"
        )
    try:
        return torch.tensor(column.cast(pa.int64()).to_numpy(), dtype=torch.int64)
    except pa.ArrowException as error:
        raise InputError(f"the labels of {source} must be integers from 0 to K - 1: {shown(error)}") from error


def _classes(schema: pa.Schema, label: str, source: str) -> tuple[str, ...] | None:
    """The class names that Hugging Face writes in the schema's metadata; InputError where they are no names."""
    metadata = (schema.metadata or {}).get(b"huggingface")
    found = parse_json(metadata, f"the metadata of {source}") if metadata else None
    for key in ("info", "features", label, "names"):
        found = found.get(key) if isinstance(found, dict) else None
    if not found:
        return None
    if not isinstance(found, list):
        raise InputError(f"the class names of {source} are a {type(found).__name__}, expected a list")
    return check_names(found, source)
