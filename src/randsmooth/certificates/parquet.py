"""Certificate tables as Parquet: evidence, header, digests, and columns for people.

`parquet_file` has what such files have in common, also those of routed tables.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from randsmooth.atomic import write_atomically
from randsmooth.certificates.evidence import ARRAYS, COLUMNS, check_images
from randsmooth.certificates.header import Header, parse_header
from randsmooth.certificates.parquet_file import (
    ANOTHER_COPY,
    DIGESTS,
    KEY,
    Kinds,
    Parts,
    check_digests,
    digests,
    in_a_file,
    open_parquet,
    parts_in,
    parts_of,
    to_arrow,
)
from randsmooth.certificates.routes import ROUTED_COLUMNS, Routes
from randsmooth.certificates.table import Certificates, from_evidence, from_routes
from randsmooth.errors import ForeignFile, Problem, WrongFile, WrongTable
from randsmooth.rules import Evidence
from randsmooth.urls import Place, delivered, fetched


def write_parquet(table: Certificates, path: Place) -> None:
    """Write the table with its counts and its header, one row an image.

    The column p_lower holds the lower bound on p_A; under the two-sided bound the
    radius also depends on the bound on the runner-up, so that p_lower may lie below
    1/2. The column path holds how often the picked class had come out at each look; the
    columns machine, image and u are there where a table has them. Stored with them are
    digests of the header and of each column of evidence, and a checksum of every page.
    A routed table has the columns of its routes in place of counts (see
    `certificates.Routes`). When this returns, the file and its name are synced to the disk.

    Raises:
        Problem: the table is a log, holds an image twice, or its radii were
            converted to another norm.

    Example:
        >>> import pyarrow.parquet as pq
        >>> from randsmooth.certificates import from_counts
        >>> classes = [3, 5]
        >>> table = from_counts(
        ...     [990, 480], n=1000, picked=classes, label=classes, sigma=0.5
        ... )
        >>> write_parquet(table, "run.parquet")
        >>> pq.read_table("run.parquet").column_names[:5]
        ['idx', 'label', 'predict', 'radius', 'correct']
    """
    if table.converted is not None:
        raise WrongTable(
            f"{table.name or 'this table'} has {table.norm} radii, for reports: "
            "write it before `in_norm`"
        )
    check_images(table.idx)
    kinds = _kinds_of(table.header)
    columns = _columns_of(table)
    stored = {
        name: to_arrow(kind, columns[name])
        for name, kind in kinds.items()
        if columns[name] is not None
    }

    header = table.header.model_dump_json().encode()
    parts = parts_of(stored, None, kinds, width=table.header.count_columns)
    # People who open the file see which image it is, then what was certified of it.
    front = {name: stored.pop(name) for name in ("idx", "label")}
    arrow = pa.table(front | table.derived() | stored)
    arrow = arrow.replace_schema_metadata(
        {KEY: header, DIGESTS: digests(header, parts)}
    )
    content = in_a_file(arrow)
    with delivered(path, overwrite=True) as local:
        write_atomically(local, content)


def read_parquet(place: Place) -> Certificates:
    """Read a table that `write_parquet` wrote.

    Its radii are computed again from the counts. The columns predict, radius, correct,
    picked, n_A and p_lower are for people who open the file; they are not read.

    Raises:
        ForeignFile: the Parquet file holds no certificates.
        Problem: the file is damaged or cut short, or its evidence contradicts its
            header.

    Example:
        >>> from randsmooth.certificates import from_counts
        >>> counts = [[990, 10], [480, 520]]
        >>> table = from_counts(counts, picked=[0, 1], label=[0, 1], sigma=0.5)
        >>> write_parquet(table, "run.parquet")
        >>> read_parquet("run.parquet").counts.tolist()
        [[990, 10], [480, 520]]
    """
    path = fetched(place)
    with open_parquet(path) as file:
        metadata = file.metadata.metadata or {}
        if KEY not in metadata:
            column_names = {name.encode() for name in file.schema_arrow.names}
            raise _without_header(path, {*metadata, *column_names})
        header = parse_header(metadata[KEY], path)
        kinds = _kinds_of(header)
        parts = parts_in(file, path, kinds, width=header.count_columns)
    check_digests(metadata, parts, path)
    try:
        if header.routing is not None:
            return _routed(header, parts, name=path.stem)
        return _counted(header, parts, name=path.stem)
    except Problem as error:
        raise WrongFile(f"{path}: {error}", file=path) from error


def _kinds_of(header: Header) -> Kinds:
    """Return the kinds of the columns of evidence in a file with this header."""
    return COLUMNS if header.routing is None else ROUTED_COLUMNS


def _columns_of(table: Certificates) -> dict[str, Any]:
    """Return the columns of evidence of a table, None for one that it is without.

    Raises:
        Problem: the table has neither counts nor routes, such as a log.
    """
    if table.routes is not None:
        names = ("idx", "label", "predict", "seconds")
        of_table = {name: getattr(table, name) for name in names}
        return of_table | table.routes.columns()
    counts0, counts = table.evidence()
    columns: dict[str, Any] = {name: getattr(table, name) for name in ARRAYS}
    columns["path"] = table.paths
    if table.paths is None:
        # A table that was made by hand: each image was looked at once, at the end.
        columns["path"] = Evidence.of(counts0, counts).paths
    return columns


def _counted(header: Header, parts: Parts, name: str) -> Certificates:
    """Return the table of the counts in `parts`."""
    columns = {name: arrays[0] for name, arrays in parts.items() if name != "path"}

    # The paths of all images stand one after the other in one array.
    lengths, numbers = parts["path"]
    borders = [0, *np.cumsum(lengths).tolist()]
    paths = [numbers[start:end] for start, end in pairwise(borders)]
    return from_evidence(header, **columns, paths=paths, name=name)


def _routed(header: Header, parts: Parts, name: str) -> Certificates:
    """Return the routed table of the routes in `parts`."""
    columns = {name: arrays[0] for name, arrays in parts.items()}
    routes = Routes(
        members=columns.pop("members"),
        router_radius=columns.pop("router_radius"),
        expert_radius=columns.pop("expert_radius"),
        spent=columns.pop("spent"),
    )
    return from_routes(header, routes, **columns, name=name)


def _without_header(path: Path, names: set[bytes]) -> Problem:
    """Return the error for a Parquet file without a header.

    The file is damaged if it holds what only certificate tables hold.

    Args:
        path: the path of the file.
        names: the keys of its metadata, and the names of its columns.
    """
    if DIGESTS in names or {b"idx", b"label", b"counts0", b"counts"} <= names:
        return WrongFile(
            f"{path} is damaged: its header is lost, which pandas does not keep. "
            f"{ANOTHER_COPY}",
            file=path,
        )
    return ForeignFile(
        f"{path} is a Parquet file but holds no certificates of randsmooth", file=path
    )
