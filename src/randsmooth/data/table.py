"""Splits stored as a table in Hugging Face layout: Parquet files, or a data set of the `datasets` library."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from torch import Tensor

from randsmooth.errors import InputError

IMAGE_COLUMNS = ("image", "img")
LABEL_COLUMNS = ("label", "fine_label")

# Compressed bytes that are read into memory at most; above, Arrow files on disk are mapped.
READ_BYTES = 2**30


class ImageTable:
    """A split in an Arrow table, in memory or mapped from disk."""

    def __init__(self, table: pa.Table, source: str) -> None:
        """`source` names the table in errors. Raises InputError for missing columns or labels."""
        image, label = _columns(table.schema, source)
        self.source = source
        self.labels = _labels(table.column(label), source)
        self.classes = _classes(table.schema, label)
        self._bytes = pc.struct_field(table.column(image), "bytes")

    def open(self, index: int) -> IO[bytes]:
        data = self._bytes[index].as_py()
        if data is None:
            raise InputError(f"{self.where(index)} has no bytes: store the image itself, not only its path")
        return io.BytesIO(data)

    def where(self, index: int) -> str:
        return f"image {index} of {self.source}"


def read_parquet(files: list[Path]) -> ImageTable:
    """One split from its Parquet shards, in order. Raises InputError naming a file that cannot be used."""
    source = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    for file in files:
        _columns(_schema(file), str(file))
    if sum(file.stat().st_size for file in files) > READ_BYTES:
        return ImageTable(mapped(files), source)
    return ImageTable(pa.concat_tables([_read(file) for file in files]), source)


def mapped(files: list[Path]) -> pa.Table:
    """The shards as one table that stays on disk: `datasets` converts them to Arrow once, in its cache."""
    import datasets

    return plain(datasets.Dataset.from_parquet([str(file) for file in files]))


def plain(dataset: Any) -> pa.Table:
    """The Arrow table of a `datasets.Dataset`, its images still compressed."""
    import datasets

    image, _ = _columns(dataset.features.arrow_schema, "the data set")
    dataset = dataset.cast_column(image, datasets.Image(decode=False))
    return dataset.data.table.replace_schema_metadata(dataset.features.arrow_schema.metadata)


def _schema(file: Path) -> pa.Schema:
    try:
        return pq.read_schema(file)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file} is no readable Parquet file, fetch it again: {error}") from error


def _read(file: Path) -> pa.Table:
    try:
        return pq.ParquetFile(file).read(columns=list(_columns(_schema(file), str(file))))
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file} is a damaged Parquet file, fetch it again: {error}") from error


def _columns(schema: pa.Schema, source: str) -> tuple[str, str]:
    """The names of the image and the label column. Raises InputError if either is missing."""
    image = next((name for name in IMAGE_COLUMNS if name in schema.names), None)
    label = next((name for name in LABEL_COLUMNS if name in schema.names), None)
    if image is None or label is None or not _holds_bytes(schema.field(image).type):
        raise InputError(
            f"{source} has the columns {', '.join(schema.names)}; needed are an image column "
            f"({' or '.join(IMAGE_COLUMNS)}: struct<bytes, path>) and a label column "
            f"({' or '.join(LABEL_COLUMNS)}: integers)"
        )
    return image, label


def _holds_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0)


def _labels(column: pa.ChunkedArray, source: str) -> Tensor:
    """The label column as (N,) int64."""
    if not pa.types.is_integer(column.type) or column.null_count:
        raise InputError(f"the labels of {source} must be integers from 0 to K - 1; found {column.type}")
    return torch.tensor(column.to_numpy(), dtype=torch.int64)


def _classes(schema: pa.Schema, label: str) -> tuple[str, ...] | None:
    """The class names that Hugging Face writes in the schema's metadata."""
    metadata = (schema.metadata or {}).get(b"huggingface")
    features = json.loads(metadata).get("info", {}).get("features", {}) if metadata else {}
    names = features.get(label, {}).get("names")
    return tuple(names) if names else None
