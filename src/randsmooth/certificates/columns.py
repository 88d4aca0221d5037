"""The evidence of a table, to and from Parquet: only columns of the expected names, types and sizes are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from randsmooth.certificates.digest import Part
from randsmooth.certificates.journal_row import ADDRESS
from randsmooth.certificates.table import Bytes, Certificates, Floats, Ints
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.rules import Evidence

NUMBERS = pa.list_(pa.int64())
ADDRESSES = pa.binary(ADDRESS)
TYPES = {
    "idx": pa.int64(),
    "label": pa.int64(),
    "counts0": NUMBERS,
    "counts": NUMBERS,
    "path": NUMBERS,
    "seconds": pa.float64(),
    "machine": pa.int64(),
    "image": ADDRESSES,
    "u": pa.float64(),
}
OPTIONAL = ("path", "machine", "image", "u")
MOST_ROWS = 2 * 10**6  # ImageNet has 1.28 million training images
MOST_VALUES = 2**28  # numbers in a column, 2 GiB in memory: counts of ImageNet's 50,000 images in 5,000 classes
MOST_BYTES = 2**33  # of all columns, unpacked


@dataclass(frozen=True)
class Columns:
    """The evidence of N images, as in `Certificates`, but with all paths in one array `paths`.

    `looks` (N,) holds the number of looks of each image. The oldest tables hold no paths: they had one look an image.
    """

    idx: Ints
    label: Ints
    counts0: Ints
    counts: Ints
    looks: Ints | None
    paths: Ints | None
    seconds: Floats
    machine: Ints | None = None
    image: Bytes | None = None
    u: Floats | None = None

    @classmethod
    def of(cls, table: Certificates) -> Columns:
        counts0, counts = table.evidence()
        paths = Evidence.of(counts0, counts, paths=table.paths).paths
        return cls(
            idx=np.asarray(table.idx, np.int64),
            label=np.asarray(table.label, np.int64),
            counts0=np.asarray(counts0, np.int64),
            counts=np.asarray(counts, np.int64),
            looks=np.array([len(path) for path in paths], np.int64),
            paths=np.concatenate([np.zeros(0, np.int64), *paths]),
            seconds=np.asarray(table.seconds, np.float64),
            machine=None if table.machine is None else np.asarray(table.machine, np.int64),
            image=None if table.image is None else np.asarray(table.image, np.uint8),
            u=None if table.u is None else np.asarray(table.u, np.float64),
        )

    def parts(self) -> dict[str, list[Part]]:
        """The arrays of each stored column, in one order."""
        columns: dict[str, list[Part | None]] = {
            "idx": [self.idx],
            "label": [self.label],
            "counts0": [self.counts0],
            "counts": [self.counts],
            "path": [self.looks, self.paths],
            "seconds": [self.seconds],
            **{name: [part] for name, part in self._origin().items()},
        }
        return {name: [part for part in parts if part is not None] for name, parts in columns.items()}

    def _origin(self) -> dict[str, Part]:
        """The columns that most tables do not have."""
        origin = {"machine": self.machine, "image": self.image, "u": self.u}
        return {name: part for name, part in origin.items() if part is not None}

    def to_arrow(self) -> dict[str, pa.Array]:
        """The columns as they are stored."""
        looks = np.zeros(0, np.int64) if self.looks is None else self.looks
        width = np.full(len(self.idx), self.counts.shape[1])
        lists = {
            "counts0": _lists(self.counts0.ravel(), width),
            "counts": _lists(self.counts.ravel(), width),
            "path": _lists(np.zeros(0, np.int64) if self.paths is None else self.paths, looks),
        }
        plain = {"idx": pa.array(self.idx), "label": pa.array(self.label), "seconds": pa.array(self.seconds)}
        origin = {name: pa.array(part) for name, part in self._origin().items() if name != "image"}
        if self.image is not None:
            origin["image"] = pa.array([row.tobytes() for row in self.image], ADDRESSES)
        return plain | lists | origin

    def each_path(self) -> list[Ints] | None:
        if self.looks is None or self.paths is None:
            return None
        ends = [0, *np.cumsum(self.looks).tolist()]
        return [self.paths[start:end] for start, end in pairwise(ends)]


@contextmanager
def open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Open the Parquet file at `path`; whatever Arrow finds wrong with it, page checksums included, is an InputError.

    Raises:
        InputError: it is damaged, cut short or no Parquet file.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except InputError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError, RuntimeError, MemoryError) as error:
        raise InputError(f"{path} is not a readable Parquet file (damaged or cut short? {shown(error)})") from error


def read_columns(file: pq.ParquetFile, path: Path, classes: int) -> Columns:
    """The evidence in `file`, with K = `classes`, or as many classes as the first row counts where `classes` is 0.

    Raises:
        InputError: a column is missing, occurs twice, has another type, or is larger than that of any table.
    """
    names = [name for name in TYPES if name not in OPTIONAL or name in file.schema_arrow.names]
    _check_types(file.schema_arrow, names, path)
    _check_sizes(file.metadata, classes or 1, path)
    found = {name: column.combine_chunks() for name, column in _columns(file, names).items()}
    for name, column in found.items():
        if column.null_count or (TYPES[name] == NUMBERS and column.flatten().null_count):
            raise _broken(path, name, "lacks a value")
    plain = {name: column for name, column in found.items() if TYPES[name] not in (NUMBERS, ADDRESSES)}
    numbers = {name: column.to_numpy().copy() for name, column in plain.items()}
    width = classes or (max(1, len(found["counts"][0])) if len(found["idx"]) else 1)
    looks = paths = None
    if "path" in found:
        looks, paths = _flat(found["path"])
    return Columns(
        **numbers,
        counts0=_square(found["counts0"], width, path, "counts0"),
        counts=_square(found["counts"], width, path, "counts"),
        looks=looks,
        paths=paths,
        image=_addresses(found["image"]) if "image" in found else None,
    )


def _columns(file: pq.ParquetFile, names: list[str]) -> dict[str, pa.ChunkedArray]:
    arrow = file.read(columns=names)
    return {name: arrow.column(name) for name in names}


def _check_types(schema: pa.Schema, names: list[str], path: Path) -> None:
    for name in names:
        places = schema.get_all_field_indices(name)
        if not places:
            raise _broken(path, name, "is missing")
        if len(places) > 1:
            raise _broken(path, name, "is there twice")
        kind = schema.field(places[0]).type
        if kind != TYPES[name]:
            raise _broken(path, name, f"holds {kind}, not {TYPES[name]}")


def _check_sizes(metadata: pq.FileMetaData, width: int, path: Path) -> None:
    """Raise InputError for a file whose footer announces more than any table holds, before memory is allocated for it.

    Only the sums over all columns are asked for: given a damaged footer, pyarrow aborts when asked about one column.
    """
    rows, size = metadata.num_rows, sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
    if not 0 <= rows <= MOST_ROWS or rows * width > MOST_VALUES or not 0 <= size <= MOST_BYTES:
        raise InputError(
            f"{path} says it holds {rows:,} rows of {width} classes in {size:,} bytes; a table has at most "
            f"{MOST_ROWS:,} rows and {MOST_VALUES:,} counts: it is damaged, or to be split into several"
        )


def _addresses(column: pa.FixedSizeBinaryArray) -> Bytes:
    """(N, 32) from N addresses."""
    return np.frombuffer(b"".join(column.to_pylist()), np.uint8).reshape(len(column), ADDRESS)


def _flat(column: pa.ListArray) -> tuple[Ints, Ints]:
    """The length of each of N lists, and all their numbers in one array."""
    return column.value_lengths().to_numpy().astype(np.int64), column.flatten().to_numpy().copy()


def _square(column: pa.ListArray, width: int, path: Path, name: str) -> Ints:
    """(N, K) from N lists of K numbers."""
    lengths, values = _flat(column)
    odd = np.flatnonzero(lengths != width)
    if len(odd):
        raise _broken(path, name, f"counts {lengths[odd[0]]} classes in row {odd[0] + 1}, not {width}")
    return values.reshape(len(lengths), width)


def _lists(values: Ints, lengths: Ints) -> pa.ListArray:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if len(lengths) > MOST_ROWS or offsets[-1] > MOST_VALUES:
        raise InputError(
            f"{len(lengths):,} rows with {offsets[-1]:,} numbers are more than a table is read with ({MOST_ROWS:,} and "
            f"{MOST_VALUES:,}): write several"
        )
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, pa.int64()))


def _broken(path: Path, name: str, fault: str) -> InputError:
    return InputError(f"{path} is damaged: its column {name!r} {fault}")
