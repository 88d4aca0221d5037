"""Certificate tables as Parquet: the evidence, its header and digests, and columns for a reader's eye."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from randsmooth.atomic import write_atomically
from randsmooth.certificates.columns import Columns, open_parquet, read_columns
from randsmooth.certificates.derived import derived
from randsmooth.certificates.digest import damaged, digests
from randsmooth.certificates.header import WITH_DIGESTS, Header
from randsmooth.certificates.rows import check_images
from randsmooth.certificates.stored_header import parse_header
from randsmooth.certificates.table import Certificates, from_evidence
from randsmooth.errors import ForeignFile, InputError, NoDigest
from randsmooth.urls import Place, delivered, fetched, naming_urls

PUT_TOGETHER = "`randsmooth merge` puts shards together"
KEY, DIGESTS = b"randsmooth", b"randsmooth.sha256"  # in the metadata of the Parquet file


def write_parquet(table: Certificates, path: Place) -> None:
    """Write the table with its counts and its header, one row an image.

    The column p_lower holds the lower bound on p_A; under the two-sided bound the radius also depends on the bound on
    the runner-up, so that p_lower may lie below 1/2. The column path holds how often the picked class had come out at
    each look; the columns machine, image and u are there where a table has them. Stored with them are digests of the
    header and of each column of evidence, and a checksum of every page. When this returns, the file and its name are
    synced to the disk.

    Raises:
        InputError: the table has no counts, or holds an image twice.

    Example:
        >>> import numpy as np
        >>> counts0, counts = np.array([[98, 2], [55, 45]]), np.array([[990, 10], [480, 520]])
        >>> table = from_evidence(
        ...     Header(sigma=0.5, n0=100, n=1000, alpha=0.001),
        ...     idx=np.arange(2),
        ...     label=np.array([0, 1]),
        ...     counts0=counts0,
        ...     counts=counts,
        ...     seconds=np.zeros(2),
        ... )
        >>> write_parquet(table, "run.parquet")
        >>> pq.read_table("run.parquet").column_names[:5]
        ['idx', 'label', 'predict', 'radius', 'correct']
    """
    columns, header = Columns.of(table), table.header.model_dump_json().encode()
    check_images(columns.idx)
    stored = columns.to_arrow()
    front = {name: stored.pop(name) for name in ("idx", "label")}
    arrow = pa.table(front | derived(table) | stored)
    arrow = arrow.replace_schema_metadata({KEY: header, DIGESTS: digests(header, columns.parts())})
    buffer = io.BytesIO()
    pq.write_table(arrow, buffer, compression="zstd", write_page_checksum=True)
    with delivered(path, overwrite=True) as local:
        write_atomically(local, buffer.getvalue())


def read_parquet(place: Place) -> Certificates:
    """Read a table that `write_parquet` wrote; its radii are computed again from the counts.

    The columns predict, radius, correct, picked, n_A and p_lower are for people who open the file; they are not read.

    An older file, which has no digests, is read with a `NoDigest` warning.

    Raises:
        ForeignFile: a Parquet file that holds no certificates.
        InputError: the file is damaged or cut short, or its evidence contradicts its header.

    Example:
        >>> import numpy as np
        >>> counts0, counts = np.array([[98, 2], [55, 45]]), np.array([[990, 10], [480, 520]])
        >>> table = from_evidence(
        ...     Header(sigma=0.5, n0=100, n=1000, alpha=0.001),
        ...     idx=np.arange(2),
        ...     label=np.array([0, 1]),
        ...     counts0=counts0,
        ...     counts=counts,
        ...     seconds=np.zeros(2),
        ... )
        >>> write_parquet(table, "run.parquet")
        >>> read_parquet("run.parquet").counts.tolist()
        [[990, 10], [480, 520]]
    """
    with naming_urls():
        return _read(fetched(place))


def _read(path: Path) -> Certificates:
    with open_parquet(path) as file:
        metadata = file.metadata.metadata or {}
        if KEY not in metadata:
            raise _without_header(path, {*metadata, *(name.encode() for name in file.schema_arrow.names)})
        header = parse_header(metadata[KEY], path)
        columns = read_columns(file, path, header.columns)
    _check_digests(metadata, header, columns, path)
    try:
        return from_evidence(
            header,
            idx=columns.idx,
            label=columns.label,
            counts0=columns.counts0,
            counts=columns.counts,
            seconds=columns.seconds,
            paths=columns.each_path(),
            machine=columns.machine,
            image=columns.image,
            u=columns.u,
            name=path.stem,
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _without_header(path: Path, holds: set[bytes]) -> InputError:
    """The error for a Parquet file without a header: damaged if it holds what only certificate tables hold."""
    if DIGESTS in holds or {b"idx", b"label", b"counts0", b"counts"} <= holds:
        return InputError(
            f"{path} is damaged: its header is lost, which pandas does not keep. Take another copy or certify again; "
            f"{PUT_TOGETHER}"
        )
    return ForeignFile(f"{path} is a Parquet file but holds no certificates of randsmooth")


def _check_digests(metadata: Mapping[bytes, bytes], header: Header, columns: Columns, path: Path) -> None:
    if DIGESTS not in metadata and header.version >= WITH_DIGESTS:
        raise InputError(
            f"{path} is damaged: its digests are lost. Take another copy or certify again; a table that was changed on "
            "purpose is written by write_parquet"
        )
    if DIGESTS not in metadata:
        warnings.warn(f"{path} was written before tables carried digests: its counts are only added up", NoDigest, 4)
        return
    wrong = damaged(metadata[DIGESTS], digests(metadata[KEY], columns.parts()))
    if wrong:
        every = len(wrong) >= len(columns.parts()) and "header" not in wrong
        by_hand = f". If rows were added, removed or moved: {PUT_TOGETHER}" if every else ""
        raise InputError(
            f"{path} is damaged: not what was written, by sha256, is its {', '.join(wrong)}. Take another copy or "
            f"certify again; a table that was changed on purpose is written by write_parquet{by_hand}"
        )
