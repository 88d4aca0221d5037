"""Splits stored as a table in Hugging Face layout: Parquet files, or a data set of the `datasets` library."""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from torch import Tensor

from randsmooth.data.columns import USUAL, WAY, ColumnNames
from randsmooth.data.encoded import check_names
from randsmooth.data.labels import no_labels
from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError
from randsmooth.extras import needs

# What Arrow raises for bytes that are no Parquet file, or one that it cannot read.
DAMAGED = (OSError, ValueError, KeyError, OverflowError, MemoryError, pa.ArrowException)

# The most compressed bytes that are read into memory; of larger files, Arrow files on disk are mapped.
READ_BYTES = 2**30

# How large a file may become in memory: so many times its size, or so many bytes.
MOST_SWELLING, SMALL_BYTES = 64, 2**27

# Rows that are read at a time: few where they are large, since a small file may repeat one image many times.
MOST_ROWS, LEAST_ROWS = 1024, 64


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
        data = self._bytes[index].as_py()
        if data is None:
            raise InputError(f"{self.where(index)} has no bytes: store the image itself, not only its path")
        return io.BytesIO(data)

    def where(self, index: int) -> str:
        return f"image {index} of {self.source}"


def read_parquet(files: list[Path], columns: ColumnNames = USUAL) -> ImageTable:
    """One split from its Parquet shards, in order. Raises InputError naming a file that cannot be used."""
    source = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    for file in files:
        _columns(_schema(file), str(file), columns)
    if sum(file.stat().st_size for file in files) > READ_BYTES:
        return ImageTable(mapped(files, columns), source, columns)
    tables = [_read(file, columns) for file in files]
    try:
        return ImageTable(pa.concat_tables(tables), source, columns)
    except pa.ArrowException as error:
        raise InputError(f"{source} have different columns, fetch them again: {shown(error)}") from error


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


def _schema(file: Path) -> pa.Schema:
    try:
        return pq.read_schema(file)
    except DAMAGED as error:
        raise InputError(f"{file} is no readable Parquet file, fetch it again: {shown(error)}") from error


def _read(file: Path, asked: ColumnNames) -> pa.Table:
    columns = [name for name in _columns(_schema(file), str(file), asked) if name is not None]
    batches, size = [], 0
    try:
        parquet = pq.ParquetFile(file, page_checksum_verification=True)
        _check_size(file, sum(_sizes(parquet.metadata)))
        for batch in parquet.iter_batches(batch_size=_rows_at_a_time(parquet.metadata), columns=columns):
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


def _sizes(metadata: pq.FileMetaData) -> list[int]:
    """Uncompressed bytes of each row group. Its columns are not read: in a damaged file that ends the process."""
    return [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]


def _check_size(file: Path, size: int) -> None:
    """Raise InputError for too many bytes from a small file: images are compressed already, so a file grows little."""
    most = min(2 * READ_BYTES, max(SMALL_BYTES, MOST_SWELLING * file.stat().st_size))
    if size > most:
        raise InputError(f"{file} swells to more than {most:,} bytes of images; expected them compressed, once each")


def _rows_at_a_time(metadata: pq.FileMetaData) -> int:
    """So few that they fit in memory even if each row is as large as the file's largest row group."""
    largest = max(_sizes(metadata), default=0)
    return min(MOST_ROWS, max(LEAST_ROWS, READ_BYTES // max(1, largest)))


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
