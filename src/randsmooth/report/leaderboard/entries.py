"""The entries of a leaderboard: what is kept of each certificate table, and what is printed of it."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from randsmooth import metrics
from randsmooth.certificates import Certificates, Header
from randsmooth.escape import LONG, NOT_RECORDED, printable, setting, shortened
from randsmooth.metrics import Estimate
from randsmooth.report.sheet import comparability


@dataclass(frozen=True)
class Entry:
    """One measured table. Its counts are not kept, so that a folder of many tables fits into memory.

    Attributes:
        table: labels, predictions and radii; no counts.
        file: where it lies below the folder, for the reader.
        smoothed: accuracy of the smoothed classifier.
        p_a: share of images with p_A >= x for each x of `metrics.P_A_LEVELS`; empty where p_A is not known.
        p_a_unknown: why it is not; empty where it is.
        logged: the table is a published log, which gives p_A from 1/2 upward only.
        images: a hash of which images the table is about.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import from_evidence
        >>> header = Header(sigma=0.5, n0=100, n=100, alpha=0.001, model={"method": "macer"})
        >>> counts, idx = np.array([[90, 10], [40, 60]]), np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts, counts=counts, seconds=idx * 1.0)
        >>> entry = measure(table, "digits/macer.parquet")
        >>> entry.method, entry.folder
        ('macer', 'digits')
    """

    table: Certificates
    file: str
    smoothed: Estimate
    p_a: dict[float, Estimate]
    acr: Estimate
    p_a_unknown: str
    logged: bool
    images: str

    @property
    def header(self) -> Header:
        return self.table.header

    @property
    def method(self) -> str:
        return setting((self.header.model or {}).get("method"))

    @property
    def folder(self) -> str:
        parent = Path(self.file).parent.as_posix()
        return "" if parent == "." else shortened(parent)


def measure(table: Certificates, file: str) -> Entry:
    """The figures of `table` that do not depend on the other tables; `file` says where it was found.

    Raises:
        InputError: the table holds no image.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import from_evidence
        >>> header = Header(sigma=0.5, n0=100, n=100, alpha=0.001)
        >>> counts, idx = np.array([[90, 10], [40, 60]]), np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts, counts=counts, seconds=idx * 1.0)
        >>> measure(table, "digits/macer.parquet").p_a[0.75].value
        0.5
    """
    summary = metrics.summarise(table, [0.0])
    images = hashlib.sha256(table.idx.tobytes() + table.label.tobytes()).hexdigest()
    light = dataclasses.replace(table, name=_name(table, file), counts0=None, counts=None, paths=None)
    return Entry(
        light,
        file,
        smoothed=summary.accuracy[0.0],
        p_a=summary.p_a,
        acr=summary.acr,
        p_a_unknown=_p_a_unknown(table),
        logged=table.is_log,
        images=images,
    )


def _name(table: Certificates, file: str) -> str:
    return shortened(printable(table.name).strip() or printable(file))


def _p_a_unknown(table: Certificates) -> str:
    missing = comparability.missing_settings(table)
    if missing:
        options = ", ".join(f"--{field}" for field in missing)
        return f"a published log does not say its {', '.join(missing)}; give {options} to recover p_A from its radii"
    return "" if metrics.knows_p_a(table) else "samples stopped early, so they do not measure p_A"


def facts(entry: Entry) -> dict[str, str]:
    """What the page filters and shows of an entry, printed."""
    header = entry.header
    return {
        "dataset": setting(header.dataset),
        "sigma": setting(header.sigma),
        "n": NOT_RECORDED if header.n is None else f"{header.n:,}",
        "rule": setting(header.rule),
        "method": entry.method,
        "notes": setting(header.notes),
    }


def filters(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """The values that occur of each fact that can be filtered by, in the order of the entries."""
    known = [facts(entry) for entry in entries]
    return {key: list(dict.fromkeys(fact[key] for fact in known)) for key in ("dataset", "sigma", "rule")}


def reasons_without_p_a(entries: Sequence[Entry]) -> dict[str, int]:
    """Why p_A is not known, and of how many tables."""
    reasons = [entry.p_a_unknown for entry in entries if entry.p_a_unknown]
    return {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}


def notes(entries: Sequence[Entry]) -> dict[str, str]:
    """The notes in the headers, each with the files that have it; file names distinguish tables of one name."""
    tables = [entry.table.renamed(shortened(entry.file)) for entry in entries]
    return {shortened(note, LONG): ", ".join(files) for note, files in comparability.notes(tables).items()}
