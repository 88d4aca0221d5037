"""Checks whether a file of certificates is as it was written; one sentence says so."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates.files import read
from randsmooth.certificates.header import Header, guarantee_of
from randsmooth.certificates.journal import UNFINISHED, Journal
from randsmooth.certificates.logs.inferred import infer
from randsmooth.certificates.selection import images_planned
from randsmooth.errors import WrongFile

# Relative and absolute: radii of another processor or another library agree to this.
RADIUS_TOLERANCE = 1e-9


def check_file(
    path: Path | str,
    *,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
) -> str:
    """Check a certificate table, a journal or a log.

    Args:
        sigma, n, alpha: what a log was made with, to check its radii by; None for what
            its path and its largest radii say. Other files hold theirs.

    Returns:
        One sentence on what is right.

    Raises:
        ForeignFile: a Parquet file that holds no certificates.
        Problem: the file is damaged or cut short, or its columns contradict each other.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> write_tsv(from_radii([0.0, 0.75]), "log.tsv")
        >>> check_file("log.tsv")
        'log: 2 images; ...'
    """
    path = Path(path)
    if path.suffix == ".parquet":
        return _check_table(path)
    if path.suffix == UNFINISHED:
        return _check_journal(path)
    return _check_log(path, sigma, n, alpha)


def _check_log(
    path: Path, sigma: float | None, n: int | None, alpha: float | None
) -> str:
    """Check that the columns of a log agree, and that its radii are possible.

    Radii can be checked only where sigma, n and alpha are known.
    """
    # `read` raises where the columns of a log contradict each other.
    log = read(path)
    sentence = (
        f"log: {len(log)} images; it has no digest, `correct` fits label and predict"
    )
    # `infer` raises where a radius is beyond what sigma, n and alpha certify.
    header = infer(log, path, sigma=sigma, n=n, alpha=alpha).header
    facts = {"sigma": header.sigma, "n": header.n, "alpha": header.alpha}
    unknown = [name for name, value in facts.items() if value is None]
    if unknown:
        return (
            f"{sentence}; not checked: whether its radii are possible, because "
            f"its {', '.join(unknown)} is not known"
        )
    return (
        f"{sentence}, and no radius is beyond what sigma {header.sigma:g}, n "
        f"{header.n:,} and alpha {header.alpha:g} certify"
    )


def _check_table(path: Path) -> str:
    """Check a Parquet file, including the columns that follow from its counts."""
    # Imported here: it loads Arrow, which takes long, and logs are checked without it.
    from randsmooth.certificates.parquet import read_parquet

    # This raises where digests, header or evidence are not right.
    table = read_parquet(path)
    derived = table.derived()
    stored = _stored_columns(path, derived)
    for name, column in stored.items():
        _check_derived(path, name, column, derived[name], table.idx)

    header = table.header
    part = ""
    if header.shard is not None:
        part = f"shard {header.shard} of {header.selection}: "
    data = f"{part}{len(table)} images of {header.dataset or 'unnamed data'}"
    if header.routing is not None:
        return (
            f"routed table: {data}, {header.noise_title}; header and columns are as they "
            f"were written, and {', '.join(stored)} follow from the routes. Not checked: "
            "the tables of router and experts, whose digests the header holds"
        )
    return (
        f"certificate table: {data}, rule {header.rule}, {header.noise_title}; header "
        f"and evidence are as they were written, and {', '.join(stored)} follow from "
        f"the counts{_unchecked(header)}"
    )


def _stored_columns(
    path: Path, derived: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Return those columns of a Parquet file that can be `derived` from its counts."""
    # Imported here: see `_check_table`.
    from randsmooth.certificates.parquet_file import check_numeric, open_parquet

    with open_parquet(path) as file:
        names = [name for name in derived if name in file.schema_arrow.names]
        for name in names:
            check_numeric(file, name, path)
        columns = file.read(names).columns
    return {
        name: column.to_numpy() for name, column in zip(names, columns, strict=True)
    }


def _check_derived(
    path: Path,
    name: str,
    column: NDArray[Any],
    right: NDArray[Any],
    idx: NDArray[np.int64],
) -> None:
    """Raise Problem for the first value of a column that does not follow from the
    counts.

    Args:
        column: (N,) as it stands in the file.
        right: (N,) as it follows from the counts.
        idx: (N,) positions of the images.
    """
    wrong = column != right
    # Floats may differ in their last bits.
    if right.dtype.kind == column.dtype.kind == "f":
        wrong = ~np.isclose(column, right, rtol=RADIUS_TOLERANCE, atol=RADIUS_TOLERANCE)
    rows = np.flatnonzero(wrong)
    if len(rows):
        row = rows[0]
        raise WrongFile(
            f"{path} holds {name}={column[row]} for image {idx[row]}, "
            "whose evidence gives "
            f"{right[row]}: it was changed. Readers go by the evidence",
            file=path,
        )


def _unchecked(header: Header) -> str:
    """Return what cannot be checked of counts that another program made.

    It is empty for counts of randsmooth, whose header names no source.
    """
    if not header.source:
        return ""
    # `from_counts` never knows the first three.
    facts = {
        "seed": header.seed,
        "model": header.model,
        "images": header.data,
        "n0": header.n0,
    }
    unknown = ", ".join(name for name, value in facts.items() if value is None)
    guarantee = guarantee_of(header).rstrip(".")
    return f". Not checked: {guarantee}; not known are {unknown}"


def _check_journal(path: Path) -> str:
    """Check the journal of a run that is not finished."""
    journal = Journal.read(path)
    if journal is None:
        return "journal of a run that stopped before its first line"
    header = journal.header
    images = f"{len(journal.rows)}"
    planned = images_planned(header.selection, header.shard)
    if planned:
        images += f" of {planned}"
    noun = "image" if len(journal.rows) == 1 else "images"
    # `journal.size` ends with the last finished line.
    torn = ""
    if journal.size < path.stat().st_size:
        torn = "; the unfinished one behind them does not count"
    return (
        f"journal of a run under way: {images} {noun} of "
        f"{header.dataset or 'unnamed data'}; "
        f"every line is as it was written{torn}"
    )
