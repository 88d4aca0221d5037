"""Whether a file of evidence is intact: what `randsmooth verify` finds in a table, a journal or a log."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from randsmooth.certificates.files import read
from randsmooth.certificates.journal import UNFINISHED, images_planned, read_journal
from randsmooth.certificates.parquet import open_parquet, read_parquet
from randsmooth.certificates.table import Certificates
from randsmooth.documents import shown
from randsmooth.errors import InputError

AGREE = 1e-9  # relative: radii computed on another processor or with another library agree to this


def check_file(path: Path | str) -> str:
    """Check a certificate table, a journal or a log, and say in one sentence what was found to be right.

    Raises:
        ForeignFile: a Parquet file that holds no certificates.
        InputError: the file is damaged or cut short, or its columns contradict each other.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> write_tsv(from_radii([0.0, 0.75]), "log.tsv")
        >>> check_file("log.tsv")
        'log: 2 images; ...'
    """
    path = Path(path)
    if path.suffix == ".parquet":
        return _check_table(path)
    return _check_journal(path) if path.suffix == UNFINISHED else _check_log(path)


def _check_table(path: Path) -> str:
    table = read_parquet(path)
    header, derived = table.header, table.derived()
    with open_parquet(path) as file:
        names = [name for name in derived if name in file.schema_arrow.names]
        stored = dict(zip(names, file.read(names).columns, strict=True))
    for name in names:
        _check_derived(table, name, derived[name], stored[name].to_numpy(), path)
    part = "" if header.shard is None else f"shard {header.shard} of {header.selection}: "
    data = f"{part}{len(table)} images of {header.dataset or 'unnamed data'}"
    return (
        f"certificate table: {data}, rule {header.rule}, sigma {header.sigma}; header and evidence are as they were "
        f"written, and {', '.join(names)} follow from the counts{_unchecked(table)}"
    )


def _check_derived(table: Certificates, name: str, right: np.ndarray, found: np.ndarray, path: Path) -> None:
    """Raise InputError for the first row of a column that does not follow from the counts."""
    close = right.dtype.kind == found.dtype.kind == "f"
    wrong = np.flatnonzero(~np.isclose(found, right, rtol=AGREE, atol=AGREE) if close else found != right)
    if len(wrong):
        row = wrong[0]
        raise InputError(
            f"{path} holds {name}={found[row]} for image {table.idx[row]}, whose counts give {right[row]}: it was "
            "changed. What reads this file goes by the counts"
        )


def _unchecked(table: Certificates) -> str:
    """What nothing in a table of another program's counts can show; empty for one of our own."""
    header = table.header
    if header.source is None:
        return ""
    facts = {"seed": header.seed, "model": header.model, "images": header.data, "n0": header.n0}
    unknown = [name for name, value in facts.items() if value is None]
    picked = "" if header.bound == "any-class" else ", that the class was picked without them"
    return (
        f". The counts are another program's ({shown(header.source)}): that its noise was Gaussian of this sigma, that "
        f"the samples were independent{picked} could not be checked; not known are {', '.join(unknown)}"
    )


def _check_journal(path: Path) -> str:
    content = read_journal(path)
    if content is None:
        return "journal of a run that stopped before its first line"
    planned = images_planned(content.header)
    images = f"{len(content.rows)}{f' of {planned}' if planned else ''} image{'s' * (len(content.rows) != 1)}"
    torn = "; the unfinished one behind them does not count" if content.size < path.stat().st_size else ""
    data = content.header.dataset or "unnamed data"
    return f"journal of a run under way: {images} of {data}; every line is as it was written{torn}"


def _check_log(path: Path) -> str:
    log = read(path)
    return f"log: {len(log)} images; it has no digest, its numbers are possible and `correct` fits label and predict"
