"""A column of bytes in Parquet files, read a few rows at a time: in rising order at the price of one reading."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from randsmooth.data.parquet_file import DAMAGED, open_parquet, rows_at_a_time
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.stores import Store
from randsmooth.urls import Place, is_url

HELD_BYTES = 2**26  # of the rows that were read last, and may be asked for again
MOST_BYTES = 2**30  # of the rows that are read at a time


@dataclass(frozen=True)
class _Group:
    """A row group: in which file, its number there, and its first row among all."""

    file: int
    number: int
    first: int


class RowGroups:
    """The bytes at (N,) rows of `files`, one after the other.

    Rows are read forward from the beginning of their row group, `HELD_BYTES` of them are held, and row groups without a
    row that is asked for are passed over. Whoever asks in rising order, for all rows or for every sixteenth, therefore
    has each row group read once, and never more in memory. Safe for several threads.

    Attributes:
        jumps: how often a row was asked for that had been passed before: many mean that the order is random.
        groups_read: how many row groups were begun.
    """

    def __init__(self, files: Sequence[Place], column: str) -> None:
        """Raises InputError for a file that is no Parquet file."""
        self._files, self._column = list(files), column
        self._groups: list[_Group] = []
        self.rows = 0
        for place, file in enumerate(self._files):
            with open_parquet(file) as parquet:
                for number in range(parquet.metadata.num_row_groups):
                    self._groups.append(_Group(place, number, self.rows))
                    self.rows += parquet.metadata.row_group(number).num_rows
        self._firsts = [group.first for group in self._groups]
        self._held: OrderedDict[int, pa.Array] = OrderedDict()  # by their first rows
        self._held_bytes = 0
        self._lock = Lock()
        self._open: tuple[int, Any] | None = None
        self._reading: tuple[_Group, Iterator[pa.RecordBatch]] | None = None
        self._next = 0
        self.jumps = self.groups_read = 0

    def at(self, row: int) -> bytes | None:
        """The bytes of one row; None where it holds none. Raises InputError for a file that is damaged there."""
        with self._lock:
            found = self._among_held(row)
            if found is None:
                found = self._read(row)
            first, values = found
            value: bytes | None = values[row - first].as_py()
            return value

    def _among_held(self, row: int) -> tuple[int, pa.Array] | None:
        for first in reversed(self._held):
            if first <= row < first + len(self._held[first]):
                return first, self._held[first]
        return None

    def _read(self, row: int) -> tuple[int, pa.Array]:
        """As `_read_up_to`; a file at a URL is opened again where its store fails."""
        file = self._files[self._group_of(row).file]
        if is_url(file):
            return Store.at(str(file)).trying("read", lambda: self._afresh_after_failure(row))
        try:
            return self._afresh_after_failure(row)
        except InputError:
            raise
        except DAMAGED as error:
            raise InputError(f"{file} is a damaged Parquet file, fetch it again: {shown(error)}") from error

    def _afresh_after_failure(self, row: int) -> tuple[int, pa.Array]:
        try:
            return self._read_up_to(row)
        except BaseException:
            self._reading = self._open = None
            raise

    def _read_up_to(self, row: int) -> tuple[int, pa.Array]:
        """The batch of rows that holds `row`; those before it in its row group are read, too."""
        group = self._group_of(row)
        if row < self._next:
            self.jumps += 1
        if self._reading is None or self._reading[0] != group or row < self._next:
            self._reading = group, self._batches(group)
            self._next = group.first
            self.groups_read += 1
        for batch in self._reading[1]:
            first, self._next = self._next, self._next + len(batch)
            if batch.nbytes > MOST_BYTES:
                raise InputError(f"{self._files[group.file]}: row {first} and those after it swell to too many bytes")
            if row < self._next:
                return first, self._hold(first, batch)
        raise ValueError(f"row {row} is missing in its row group")

    def _hold(self, first: int, batch: pa.RecordBatch) -> pa.Array:
        values = pc.struct_field(batch.column(0), "bytes")
        if first in self._held:
            self._held_bytes -= self._held.pop(first).nbytes
        self._held[first] = values
        self._held_bytes += values.nbytes
        while self._held_bytes > HELD_BYTES and len(self._held) > 1:
            self._held_bytes -= self._held.popitem(last=False)[1].nbytes
        return values

    def _batches(self, group: _Group) -> Iterator[pa.RecordBatch]:
        parquet = self._parquet(group.file)
        size = rows_at_a_time(parquet.metadata)
        batches = parquet.iter_batches(size, [group.number], [self._column], use_threads=False)
        return cast(Iterator[pa.RecordBatch], batches)

    def _parquet(self, place: int) -> pq.ParquetFile:
        """The file, which stays open until another is needed."""
        if self._open is None or self._open[0] != place:
            if self._open is not None:
                self._open[1].close(force=True)
            self._open = place, open_parquet(self._files[place])
        parquet: pq.ParquetFile = self._open[1]
        return parquet

    def _group_of(self, row: int) -> _Group:
        return self._groups[bisect_right(self._firsts, row) - 1]
