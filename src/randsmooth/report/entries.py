"""Entries of a leaderboard: what is measured of one table, whatever the others are."""

import dataclasses
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from randsmooth import metrics
from randsmooth.certificates import Certificates, Header
from randsmooth.escape import NOT_RECORDED, fact_text, printable, shortened
from randsmooth.metrics import Estimate

# Steps of a curve of accuracy, from radius 0 to the largest radius of a right image.
RADIUS_STEPS = 60
# Values of p_A of a curve: each 1/40, and finer near 1, where most radii are decided.
P_A_GRID = np.round(
    np.append(
        np.linspace(0.0, 0.975, 40),
        [0.98, 0.985, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 1.0],
    ),
    4,
)
# The shares of a curve are kept as whole numbers of tenths of a percent.
SHARE_UNIT = 1000


@dataclass(frozen=True)
class Curves:
    """The two curves of a table that a page draws.

    Attributes:
        end: the largest radius of an image whose class is right.
        accuracy: (RADIUS_STEPS + 1,) certified accuracy at radii from 0 to `end`, in
            1 / SHARE_UNIT; empty without labels.
        p_a: the share of images with p_A >= x, in 1 / SHARE_UNIT, for the last values
            x of P_A_GRID: for a log those from 1/2 on; empty where p_A is not known.
    """

    end: float
    accuracy: list[int]
    p_a: list[int]


def curves_of(table: Certificates) -> Curves:
    """Return the curves of a table, each empty where the table does not give it.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> curves = curves_of(from_radii([0.0, 0.3, 0.8, 1.2]))
        >>> curves.end, curves.accuracy[0], curves.accuracy[-1], curves.p_a
        (1.2, 750, 250, [])
    """
    end = float(np.max(table.radius * table.correct, initial=0.0))
    # Rounding must not put the last radius beyond the end, where accuracy is 0.
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
        table: labels, predictions and radii, in the order of the images; of counts
            nothing but that there are some.
        file: the path of the file below the folder, for the reader.
        smoothed: accuracy of the smoothed classifier; None, as `acr`, where the images
            have no labels.
        p_a: share of images with p_A >= x for each x of `metrics.P_A_LEVELS`; empty
            where p_A is not known.
        p_a_unknown: the reason why p_A is not known; empty where it is.
        logged: whether the table is a published log, which gives p_A from 1/2 upward.
        declined: share of images certified as declined; None where the base classifier
            may not decline.
        images: a hash of which images the table is about; for a log that does not say,
            a hash that no other table has.
        curves: the curves that the page draws where a reader asks for them.

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
    declined: Estimate | None = None

    @property
    def header(self) -> Header:
        """Return the header of the table, which records how it was made."""
        return self.table.header

    @property
    def method(self) -> str:
        """Return the training method."""
        model = self.header.model or {}
        return fact_text(model.get("method"))

    @property
    def settings(self) -> str:
        """Return what varied in the training of a published log: `m 2, lbd 10, eta 0.5`.

        They are known as far as the log's path tells them. The text is empty for a table
        of counts, whose header holds all hyperparameters and not those that varied.
        """
        if not self.logged:
            return ""
        model = self.header.model or {}
        parts = []
        if model.get("hyperparameters"):
            parts.append(fact_text(model["hyperparameters"]))
        if model.get("variation"):
            parts.append(fact_text(model["variation"]))
        training_sigma = model.get("sigma")
        # Papers certify with the sigma of the training: only another one is worth a word.
        if training_sigma not in (None, self.header.sigma):
            parts.append(f"trained at sigma {training_sigma:g}")
        if model.get("run"):
            # Which of several equal trainings it was.
            parts.append(f"run {fact_text(model['run'])}")
        return shortened(", ".join(parts))

    @property
    def folder(self) -> str:
        """Return the folder of the file; empty for a file at the top."""
        parent = Path(self.file).parent.as_posix()
        return "" if parent == "." else shortened(parent)

    @property
    def repository(self) -> str:
        """Return the repository that a released log comes from."""
        model = self.header.model or {}
        return fact_text(model.get("repository"))

    @property
    def facts(self) -> dict[str, str]:
        """Return the facts that the page shows beside the figures, as text."""
        header = self.header
        return {
            "dataset": fact_text(header.dataset),
            "noise": header.noise_title or NOT_RECORDED,
            "n": NOT_RECORDED if header.n is None else f"{header.n:,}",
            "rule": fact_text(header.rule),
            "method": self.method,
            "settings": self.settings or NOT_RECORDED,
            "repository": self.repository,
        }


def measure(table: Certificates, file: str) -> Entry:
    """Measure the figures of a table that do not depend on other tables.

    Args:
        table: the certificates, with rows in any order.
        file: the path of the table below the folder, for the reader.

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
    table = _by_image(table)
    summary = metrics.summarise(table, [0.0])
    name = shortened(printable(table.name).strip() or printable(file))
    return Entry(
        table=dataclasses.replace(
            table,
            name=name,
            counts0=None,
            # A table of no classes is still one of counts, and no log.
            counts=None if table.counts is None else table.counts[:, :0],
            paths=None,
        ),
        file=file,
        smoothed=summary.accuracy[0.0],
        p_a=summary.p_a,
        acr=summary.acr,
        p_a_unknown=str(metrics.p_a_unknown(table) or ""),
        logged=table.is_log,
        images=_image_hash(table, file),
        curves=curves_of(table),
        declined=summary.declined,
    )


def _by_image(table: Certificates) -> Certificates:
    """Return the table with its rows in the order of the images, where it names them."""
    if table.idx.min(initial=0) < 0 or np.all(np.diff(table.idx) >= 0):
        return table
    return table.rows(np.argsort(table.idx, kind="stable"))


def _image_hash(table: Certificates, file: str) -> str:
    """Hash which images a table is about; the path of its file where it does not say."""
    # Positions of images that a log does not tell are negative.
    knows_images = table.idx.min() >= 0
    if knows_images:
        content = table.idx.tobytes() + table.label.tobytes()
    else:
        content = file.encode(errors="replace")
    return hashlib.sha256(content).hexdigest()
