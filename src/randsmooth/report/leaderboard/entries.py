"""The entries of a leaderboard: what is kept of each certificate table, and what is printed of it."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import certificates, metrics
from randsmooth.certificates import Certificates, Header
from randsmooth.escape import LONG, NOT_RECORDED, NUMBER, printable, setting, shortened
from randsmooth.metrics import Estimate
from randsmooth.report import comparability

NAMED = 5  # files that a note names
FILTERS = ("dataset", "sigma", "method", "repository", "rule")
STEPS = 60  # of the radius, up to the largest of a right image
LEVELS = np.round(np.append(np.linspace(0.0, 0.975, 40), (0.98, 0.985, 0.99, 0.995, 0.999, 1.0)), 3)  # of p_A
UNIT = 1000  # a share is kept in tenths of a percent


@dataclass(frozen=True)
class Curves:
    """What a page draws of a table: certified accuracy by radius, and the share of images by p_A.

    Attributes:
        end: the largest radius of a right image.
        accuracy: (STEPS + 1,) certified accuracy at radii from 0 to `end`, in 1/UNIT; empty without labels.
        p_a: shares of images with p_A >= the last so many of LEVELS, in 1/UNIT: of a log from 1/2 on, or none at all.
    """

    end: float
    accuracy: list[int]
    p_a: list[int]


def curves_of(table: Certificates) -> Curves:
    """The curves of a table, as far as it determines them.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> curves = curves_of(from_radii([0.0, 0.3, 0.8, 1.2]))
        >>> curves.end, curves.accuracy[0], curves.accuracy[-1], curves.p_a
        (1.2, 750, 250, [])
    """
    end = float(np.max(table.radius * table.correct, initial=0.0))
    radii = np.minimum(np.linspace(0.0, 1.0, STEPS + 1) * end, end)
    accuracy = metrics.certified_shares(table, radii) if table.labelled else np.zeros(0)
    p_a = metrics.p_a_curve(table, LEVELS) if metrics.knows_p_a(table) else np.zeros(0)
    return Curves(end, _kept(accuracy), _kept(p_a[~np.isnan(p_a)]))


def _kept(shares: NDArray[np.float64]) -> list[int]:
    return [int(share) for share in np.rint(shares * UNIT)]


@dataclass(frozen=True)
class Entry:
    """One measured table. Its counts are not kept, so that a folder of many tables fits into memory.

    Attributes:
        table: labels, predictions and radii; no counts.
        file: where it lies below the folder, for the reader.
        smoothed: accuracy of the smoothed classifier; None, as `acr`, where the images have no labels.
        p_a: share of images with p_A >= x for each x of `metrics.P_A_LEVELS`; empty where p_A is not known.
        p_a_unknown: why it is not; empty where it is.
        logged: the table is a published log, which gives p_A from 1/2 upward only.
        images: a hash of which images the table is about; of a log that does not say, a hash of its own.
        curves: what the page draws of it on demand.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001, model={"method": "macer"})
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> entry = measure(table, "digits/macer.parquet")
        >>> entry.method, entry.folder
        ('macer', 'digits')
    """

    table: Certificates
    file: str
    smoothed: Estimate | None
    p_a: dict[float, Estimate]
    acr: Estimate | None
    p_a_unknown: str
    logged: bool
    images: str
    curves: Curves

    @property
    def header(self) -> Header:
        return self.table.header

    @property
    def method(self) -> str:
        return setting(self._model("method"))

    @property
    def repository(self) -> str:
        return setting(self._model("repository"))

    @property
    def settings(self) -> str:
        """Hyperparameters and variation, as far as the path of a released log tells them: `m 2, lbd 10, eta 0.5`."""
        trained, settings = self._model("sigma"), self._model("hyperparameters")
        parts = [
            setting(settings) if settings else "",
            printable(str(self._model("variation") or "")),
            "" if trained in (None, self.header.sigma) else f"trained at sigma {trained:g}",
            f"run {self._model('run')}" if self._model("run") else "",
        ]
        return shortened(", ".join(filter(None, parts)))

    def _model(self, fact: str) -> Any:
        return (self.header.model or {}).get(fact) if self.logged or fact == "method" else None

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
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> measure(table, "digits/macer.parquet").p_a[0.75].value
        0.5
    """
    summary = metrics.summarise(table, [0.0])
    unknown = table.idx.min() < 0
    images = hashlib.sha256(file.encode(errors="replace") if unknown else table.idx.tobytes() + table.label.tobytes())
    light = dataclasses.replace(table, name=_name(table, file), counts0=None, counts=None, paths=None)
    return Entry(
        light,
        file,
        smoothed=summary.accuracy[0.0],
        p_a=summary.p_a,
        acr=summary.acr,
        p_a_unknown=_p_a_unknown(table),
        logged=table.is_log,
        images=images.hexdigest(),
        curves=curves_of(table),
    )


def _name(table: Certificates, file: str) -> str:
    return shortened(printable(table.name).strip() or printable(file))


def _p_a_unknown(table: Certificates) -> str:
    if not table.labelled:
        return "the images have no labels"
    if table.is_log and not certificates.tells_p_a(table.header):
        return "their logs hold radii that do not give it: of a single radius, or of the soft smoothed classifier"
    missing = comparability.missing_settings(table)
    if missing:
        options = ", ".join(f"--{field}" for field in missing)
        return f"a published log does not say its {', '.join(missing)}; give {options} to recover p_A from its radii"
    return "" if metrics.knows_p_a(table) else "samples stopped early, so they do not measure p_A"


def facts(entry: Entry) -> dict[str, str]:
    """What the page shows of an entry, printed."""
    header = entry.header
    return {
        "dataset": setting(header.dataset),
        "sigma": setting(header.sigma),
        "n": NOT_RECORDED if header.n is None else f"{header.n:,}",
        "rule": setting(header.rule),
        "method": entry.method,
        "settings": entry.settings or NOT_RECORDED,
        "repository": entry.repository,
    }


def filters(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """The values that occur of each fact that can be filtered by: numbers ascending, names by the alphabet."""
    known = [facts(entry) for entry in entries]
    return {key: sorted({fact[key] for fact in known}, key=_ascending) for key in FILTERS}


def _ascending(value: str) -> tuple[bool, float, str]:
    """`value` for sorting; what is not recorded comes last."""
    number = NUMBER.fullmatch(value)
    return value == NOT_RECORDED, float(value) if number else 0.0, value.lower()


def reasons_without_p_a(entries: Sequence[Entry]) -> dict[str, int]:
    """Why p_A is not known, and of how many tables."""
    reasons = [entry.p_a_unknown for entry in entries if entry.p_a_unknown]
    return {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}


def notes(entries: Sequence[Entry]) -> dict[str, str]:
    """The notes in the headers, each with the files that have it, the first of many."""
    files: dict[str, list[str]] = {}
    for entry in entries:
        for note in entry.header.notes:
            files.setdefault(shortened(printable(note), LONG), []).append(shortened(entry.file))
    return {note: _first(names) for note, names in files.items()}


def _first(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
