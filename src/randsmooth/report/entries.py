"""Entries of a leaderboard: what is measured of one table, whatever the others are."""

import dataclasses
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from randsmooth import metrics
from randsmooth.certificates import Certificates, Header
from randsmooth.escape import NOT_RECORDED, printable, setting, shortened
from randsmooth.metrics import Estimate

RADIUS_STEPS = 60  # of a curve, from 0 to the largest radius of a right image
P_A_GRID = np.round(
    np.append(np.linspace(0.0, 0.975, 40), [0.98, 0.985, 0.99, 0.995, 0.999, 1.0]), 3
)
SHARE_UNIT = 1000  # a curve's share is kept in tenths of a percent


@dataclass(frozen=True)
class Curves:
    """What a page draws of a table.

    Attributes:
        end: the largest radius of a right image.
        accuracy: (RADIUS_STEPS + 1,) certified accuracy at radii from 0 to `end`, in
            1 / SHARE_UNIT; empty without labels.
        p_a: shares of images with p_A >= the last so many of P_A_GRID, in
            1 / SHARE_UNIT: of a log from 1/2 on, or none at all.
    """

    end: float
    accuracy: list[int]
    p_a: list[int]


def curves_of(table: Certificates) -> Curves:
    """Return the curves of a table, as far as it determines them.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> curves = curves_of(from_radii([0.0, 0.3, 0.8, 1.2]))
        >>> curves.end, curves.accuracy[0], curves.accuracy[-1], curves.p_a
        (1.2, 750, 250, [])
    """
    end = float(np.max(table.radius * table.correct, initial=0.0))
    # Rounding must not put the last radius beyond the end.
    radii = np.minimum(np.linspace(0.0, 1.0, RADIUS_STEPS + 1) * end, end)
    accuracy = np.zeros(0)
    if table.labelled:
        accuracy = metrics.certified_shares(table, radii)
    p_a = np.zeros(0)
    if metrics.knows_p_a(table):
        p_a = metrics.p_a_curve(table, P_A_GRID)
    known_p_a = p_a[~np.isnan(p_a)]
    return Curves(
        end=end,
        accuracy=np.rint(accuracy * SHARE_UNIT).astype(int).tolist(),
        p_a=np.rint(known_p_a * SHARE_UNIT).astype(int).tolist(),
    )


@dataclass(frozen=True)
class Entry:
    """One measured table.

    Its counts are not kept, so that a folder of many tables fits into memory.

    Attributes:
        table: labels, predictions and radii; no counts.
        file: where it lies below the folder, for the reader.
        smoothed: accuracy of the smoothed classifier; None, as `acr`, where the images
            have no labels.
        p_a: share of images with p_A >= x for each x of `metrics.P_A_LEVELS`; empty
            where p_A is not known.
        p_a_unknown: why it is not; empty where it is.
        logged: the table is a published log, which gives p_A from 1/2 upward only.
        images: a hash of which images the table is about; of a log that does not say, a
            hash of its own.
        curves: what the page draws of it on demand.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001, model={"method": "macer"})
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(
        ...     header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0
        ... )
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
        """What the table records of its making."""
        return self.table.header

    @property
    def method(self) -> str:
        """The training method."""
        model = self.header.model or {}
        return setting(model.get("method"))

    @property
    def settings(self) -> str:
        """Hyperparameters and variation: `m 2, lbd 10, eta 0.5`.

        They are known as far as the path of a released log tells them.
        """
        if not self.logged:
            return ""
        model = self.header.model or {}
        parts = []
        if model.get("hyperparameters"):
            parts.append(setting(model["hyperparameters"]))
        if model.get("variation"):
            parts.append(printable(str(model["variation"])))
        training_sigma = model.get("sigma")
        if training_sigma not in (None, self.header.sigma):
            parts.append(f"trained at sigma {training_sigma:g}")
        if model.get("run"):
            parts.append(f"run {model['run']}")
        return shortened(", ".join(parts))

    @property
    def folder(self) -> str:
        """Where its file lies; empty at the top."""
        parent = Path(self.file).parent.as_posix()
        return "" if parent == "." else shortened(parent)

    @property
    def repository(self) -> str:
        """Where a released log comes from."""
        model = self.header.model or {}
        return setting(model.get("repository") if self.logged else None)

    @property
    def facts(self) -> dict[str, str]:
        """What the page shows beside the figures, printed."""
        header = self.header
        return {
            "dataset": setting(header.dataset),
            "noise": header.noise_title or NOT_RECORDED,
            "n": NOT_RECORDED if header.n is None else f"{header.n:,}",
            "rule": setting(header.rule),
            "method": self.method,
            "settings": self.settings or NOT_RECORDED,
            "repository": self.repository,
        }


def measure(table: Certificates, file: str) -> Entry:
    """Measure what does not depend on other tables; `file` says where it was found.

    Raises:
        Problem: the table holds no image.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(
        ...     header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0
        ... )
        >>> measure(table, "digits/macer.parquet").p_a[0.75].value
        0.5
    """
    summary = metrics.summarise(table, [0.0])
    name = shortened(printable(table.name).strip() or printable(file))
    return Entry(
        table=dataclasses.replace(
            table, name=name, counts0=None, counts=None, paths=None
        ),
        file=file,
        smoothed=summary.accuracy[0.0],
        p_a=summary.p_a,
        acr=summary.acr,
        p_a_unknown=str(metrics.p_a_unknown(table) or ""),
        logged=table.is_log,
        images=_image_hash(table, file),
        curves=curves_of(table),
    )


def _image_hash(table: Certificates, file: str) -> str:
    """Hash which images the table is about, or the name of its file."""
    knows_images = table.idx.min() >= 0
    content = file.encode(errors="replace")
    if knows_images:
        content = table.idx.tobytes() + table.label.tobytes()
    return hashlib.sha256(content).hexdigest()
