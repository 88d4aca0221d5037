"""Parquet files written anew with other columns: well-formed, with the schema's metadata as it was."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.draw import Draw
from fuzz.plain import bent

KINDS = (
    *(pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_()),
    *(pa.string(), pa.binary(), pa.null(), pa.date32(), pa.timestamp("ns"), pa.duration("s"), pa.decimal128(20, 2)),
    *(pa.list_(pa.int64()), pa.list_(pa.string()), pa.list_(pa.list_(pa.int64())), pa.struct([("a", pa.int64())])),
    *(pa.dictionary(pa.int32(), pa.string()), pa.large_string(), pa.large_list(pa.int64()), pa.list_(pa.float64())),
)


def rewritten(content: bytes, draw: Draw) -> bytes | None:
    """`content` with one or two columns, or the rows, changed; None where what was drawn makes no table."""
    table = read(content)
    try:
        for _ in range(1 if draw.chance(0.8) else 2):
            table = draw.pick(WAYS)(table, draw)
        return written(table)
    except (pa.ArrowException, OverflowError, TypeError, ValueError, IndexError, AttributeError):
        return None


def read(content: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(content))


def written(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def metadata_changed(content: bytes, changes: dict[bytes, bytes | None]) -> bytes:
    """The same columns, with other values for keys of the schema's metadata; None leaves a key out."""
    table = read(content)
    said = {**dict(table.schema.metadata), **changes}
    return written(table.replace_schema_metadata({key: value for key, value in said.items() if value is not None}))


def _column(table: pa.Table, draw: Draw) -> int:
    return draw.below(table.num_columns)


def _with(table: pa.Table, at: int, values: Any) -> pa.Table:
    return table.set_column(at, table.schema.field(at).name, values)


def cell(table: pa.Table, draw: Draw) -> pa.Table:
    """One cell, to another value of the column's type."""
    at = _column(table, draw)
    values = table.column(at).to_pylist()
    if values:
        row = draw.below(len(values))
        values[row] = draw.pick(values) if draw.chance(0.3) else bent(values[row], draw)
    return _with(table, at, pa.array(values, table.schema.field(at).type))


def near(table: pa.Table, draw: Draw) -> pa.Table:
    """One whole number, by one: what a flipped bit does best."""
    at = _column(table, draw)
    values = table.column(at).to_pylist()
    row = draw.below(len(values))
    step = draw.pick((-1, 1, 2, 256))
    if isinstance(values[row], list) and values[row]:
        place = draw.below(len(values[row]))
        values[row] = [each + step if k == place else each for k, each in enumerate(values[row])]
    else:
        values[row] += step
    return _with(table, at, pa.array(values, table.schema.field(at).type))


def swapped(table: pa.Table, draw: Draw) -> pa.Table:
    """Two cells of a column, or two columns' contents, exchanged."""
    at, other = _column(table, draw), _column(table, draw)
    if draw.chance(0.3):
        return _with(_with(table, at, table.column(other)), other, table.column(at))
    values = table.column(at).to_pylist()
    one, two = draw.below(len(values)), draw.below(len(values))
    values[one], values[two] = values[two], values[one]
    return _with(table, at, pa.array(values, table.schema.field(at).type))


def retyped(table: pa.Table, draw: Draw) -> pa.Table:
    """A column as another type: cast where that can be, and of nulls where not."""
    at, kind = _column(table, draw), draw.pick(KINDS)
    try:
        return _with(table, at, table.column(at).cast(kind, safe=False))
    except pa.ArrowException:
        return _with(table, at, pa.nulls(len(table), kind))


def nulls(table: pa.Table, draw: Draw) -> pa.Table:
    at = _column(table, draw)
    values = [None if draw.chance(0.5) else each for each in table.column(at).to_pylist()]
    return _with(table, at, pa.array(values, table.schema.field(at).type))


def dropped(table: pa.Table, draw: Draw) -> pa.Table:
    return table.remove_column(_column(table, draw))


def twice(table: pa.Table, draw: Draw) -> pa.Table:
    """Two columns of one name."""
    at, other = _column(table, draw), _column(table, draw)
    return table.append_column(table.schema.field(at).name, table.column(other))


def renamed(table: pa.Table, draw: Draw) -> pa.Table:
    names = list(table.schema.names)
    names[_column(table, draw)] = str(draw.value())
    return table.rename_columns(names)


def further(table: pa.Table, draw: Draw) -> pa.Table:
    return table.append_column(str(draw.value()), pa.array([draw.number()] * len(table)))


def rows(table: pa.Table, draw: Draw) -> pa.Table:
    """None of the rows, some of them, or some twice."""
    kept = [draw.below(len(table)) for _ in range(draw.pick((0, 1, len(table), 2 * len(table))))]
    return table.take(pa.array(kept, pa.int64()))


def metadata(table: pa.Table, draw: Draw) -> pa.Table:
    """Another value in the schema's metadata, or none."""
    said = dict(table.schema.metadata or {})
    if said and draw.chance(0.5):
        said[draw.pick(list(said))] = str(draw.value()).encode(errors="surrogatepass")
        return table.replace_schema_metadata(said)
    return table.replace_schema_metadata(None)


Way = Callable[[pa.Table, Draw], pa.Table]
WAYS: tuple[Way, ...] = (
    *(cell, cell, cell, near, near, swapped, swapped, retyped, retyped, nulls, dropped, twice, renamed, further),
    *(rows, rows, metadata),
)
