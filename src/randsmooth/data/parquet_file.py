"""Parquet files, on this machine or at a URL, opened so that only what is asked for is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.urls import Place, is_url

# What Arrow raises for bytes that are no Parquet file, or one that it cannot read.
DAMAGED = (OSError, ValueError, KeyError, OverflowError, MemoryError, pa.ArrowException)

# How many bytes rows that are read at a time may have.
READ_BYTES = 2**30

# Rows that are read at a time: few where they are large, since a small file may repeat one image many times.
MOST_ROWS, LEAST_ROWS = 1024, 64

BUFFER = 2**20  # bytes of a column that are read at a time


def open_parquet(file: Place) -> pq.ParquetFile:
    """The file, of which no rows are read yet. Raises InputError where it is no Parquet file."""
    try:
        return pq.ParquetFile(_source(file), page_checksum_verification=True, buffer_size=BUFFER, pre_buffer=False)
    except InputError:
        raise
    except DAMAGED as error:
        raise InputError(f"{file} is no readable Parquet file, fetch it again: {shown(error)}") from error


def _source(file: Place) -> Any:
    """What Arrow opens: a path, or the file at a URL, of which the parts that it asks for are fetched."""
    if not is_url(file):
        return file
    from randsmooth.stores import Store

    return Store.at(str(file)).open()


def size_of(file: Place) -> int:
    """Bytes of the file. Raises InputError where there is none at a URL."""
    if not is_url(file):
        return Path(file).stat().st_size
    from randsmooth.stores import Store

    return Store.at(str(file)).size()


def sizes(metadata: pq.FileMetaData) -> list[int]:
    """Uncompressed bytes of each row group. Its columns are not read: in a damaged file that ends the process."""
    return [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]


def rows_at_a_time(metadata: pq.FileMetaData) -> int:
    """So few that they fit in memory even if each row is as large as the file's largest row group."""
    largest = max(sizes(metadata), default=0)
    return min(MOST_ROWS, max(LEAST_ROWS, READ_BYTES // max(1, largest)))
