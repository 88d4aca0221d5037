"""Certificate files as the verbs read them.

The verbs fill in what a log does not say, and judge tables at another budget or norm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator

from randsmooth import bounds, certificates, data, report
from randsmooth.certificates import Certificates, Header, check_budget
from randsmooth.certificates.folder_names import folders_apart
from randsmooth.cli.settings import Argument, Given, Settings, option, words
from randsmooth.cli.true_labels import labels_at_hand
from randsmooth.errors import (
    BadValue,
    MissingValue,
    Problem,
    Setting,
    SeveralProblems,
    about,
)
from randsmooth.noise import NORMS, check_sigma
from randsmooth.rules import check_samples
from randsmooth.urls import Place, fetched

P = TypeVar("P", bound=Place)
T = TypeVar("T")

# Help of the argument that names files of certificates.
FILES = (
    "Parquet files of `randsmooth certify` (of an unfinished run its journal, "
    "OUT.parquet.partial), or TSV logs as the literature publishes them."
)
Radii = Annotated[
    list[float] | None,
    BeforeValidator(words),
    Given(by_commas=True, metavar="R,R,..."),
]


class Judged(Settings):
    """How certificate files are judged.

    Attributes:
        radii: Radii of the certified accuracies, such as 0,0.5,1. (default: every 0.25
            in L2; in other norms up to eight)
        norm: Radii in this norm that follow by proof from those of the noise: l1
            (Gaussian: the same numbers; uniform, laplace and splitting have it), l2,
            linf. (default: the noise's own)
        dimension: How many numbers make up an input, such as 3072 for 32x32 RGB; linf
            takes it. (default: what the data set's name says)
        sigma: Standard deviation sigma of the noise that TSV logs were made with.
            (default: what their paths say, such as noise_0.50)
        n: Judge as if n samples per image had been drawn: a random subset is taken. For
            TSV logs: the n that they were made with. (default: all samples; for logs,
            what their paths or radii show)
        alpha: Judge at this alpha, the probability that an image's certificate is
            wrong. For TSV logs: the alpha that they were made with. (default: that of
            each file; logs are judged at 0.001, whatever alpha their radii show)
    """

    radii: Radii = None
    norm: Literal["l1", "l2", "linf", "l0", "ellipsoid", "deviations"] | None = None
    dimension: int | None = None
    sigma: float | None = None
    n: int | None = None
    alpha: float | None = None


class Compared(Judged):
    """How certificate files are judged beside each other.

    Attributes:
        baseline: Name of the row that the others are compared with. (default: the
            Gaussian one, or the first of two)
        at: The radius of the answer; name it before you see the tables. (default: one
            sigma)
        anyway: Judge tables that failed a check, too.
    """

    files: Argument[list[Place]] = option(FILES, ...)
    baseline: str | None = None
    at: float | None = None
    anyway: bool = False

    def read_tables(self) -> list[Certificates]:
        """Return the tables in the files, judged as asked for."""
        return load(
            self.files,
            sigma=self.sigma,
            n=self.n,
            alpha=self.alpha,
            norm=self.norm,
            dimension=self.dimension,
        )

    def rendered(self, tables: Sequence[Certificates], format: str) -> str:
        """Return the metrics of the tables, one row a table, in a `format` of report."""
        return report.render(
            tables,
            radii=self.radii,
            format=format,
            baseline=self.baseline,
            at=self.at,
            # The checks compare them with the labels that logs state.
            labels=labels_at_hand(tables),
            anyway=self.anyway,
        )


def load(
    places: Sequence[Place],
    *,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
    norm: str | None = None,
    dimension: int | None = None,
) -> list[Certificates]:
    """Return the tables at files or URLs, at another budget or in another norm.

    Args:
        places: files or URLs.
        sigma: the sigma of tables that do not record theirs, such as logs.
        n: the samples an image to judge at; for logs, the n that they were made with.
        alpha: the alpha to judge at; for logs, the alpha that they were made with.
        norm: the norm of the radii; by default the noise's own.
        dimension: the number of numbers that make up an input.

    Raises:
        Problem: there is no file, a file cannot be read, or a table cannot be judged at
            the budget or in the norm. It names each such file.
    """
    if not places:
        raise MissingValue("no certificate file given")
    check_asked(sigma, n, alpha)
    files = _of_each(fetched, places)
    tables = _of_each(certificates.read, files)
    if sigma is not None:
        _check_sigma_is_needed(tables, sigma)
    some_lack_sigma = not all(map(_records_sigma, tables))
    table_of = dict(zip(files, _named_apart(tables, files), strict=True))

    # A function of the file, so that `_of_each` can name the file in an error.
    def judged(file: Path) -> Certificates:
        """Return the table in a file, complete, at the budget and in the norm."""
        table = table_of[file]
        sigma_of_log = sigma
        if some_lack_sigma and _records_sigma(table):
            # The user gives the sigma for the tables without one. Where none is without,
            # `infer` gets it and refuses a log that records another.
            sigma_of_log = None
        # The path of a log says some of its settings. A table of counts stays as it is.
        complete = certificates.infer(table, file, sigma=sigma_of_log, n=n, alpha=alpha)
        # Of a log, n and alpha say how it was made: `infer` has taken them.
        if not table.is_log and (n, alpha) != (None, None):
            complete = complete.at(n=n, alpha=alpha)
        return in_norm(complete, norm, dimension)

    return _of_each(judged, files)


def check_asked(sigma: float | None, n: int | None, alpha: float | None) -> None:
    """Raise Problem for a sigma, or an n and an alpha, that no log can have."""
    if sigma is not None:
        check_sigma(sigma)
    if alpha is not None:
        bounds.check_level(alpha)
    if n is not None:
        check_samples("n", n)
    if n is not None and alpha is not None:
        # A log does not say n0, and any n0 passes.
        check_budget(n0=0, n=n, alpha=alpha)


def _check_sigma_is_needed(tables: Sequence[Certificates], sigma: float) -> None:
    """Raise Problem where a sigma is given that no table takes.

    A log takes it if it records none. A table that records this very sigma does not
    contradict it.
    """
    is_taken = any(
        table.header.sigma == sigma or (table.is_log and table.header.sigma is None)
        for table in tables
    )
    if not is_taken:
        raise BadValue(
            f"{tables[0].name} was certified at {tables[0].header.noise_title}",
            field="sigma",
            value=sigma,
            fix=(Setting("sigma", sigma), " is for TSV logs, which do not say"),
        )


def _records_sigma(table: Certificates) -> bool:
    """Return whether a table records one sigma, or one for each image."""
    return table.sigmas is not None or table.header.sigma is not None


def _of_each(make: Callable[[P], T], files: Sequence[P]) -> list[T]:
    """Return the result of `make` for each of the files.

    Raises:
        Problem: `make` refuses files. It names each of them, not the first alone.
    """
    results = []
    faults: list[Problem] = []
    for file in files:
        try:
            results.append(make(file))
        except (Problem, OSError) as error:
            faults.append(about(file, error))
    if len(faults) > 1:
        # The last line of the error sums up the lines above it.
        total = f"{len(faults)} of {len(files)} files cannot be used"
        faults.append(Problem(total, fix="mend them or leave them out"))
    if faults:
        raise SeveralProblems(*faults)
    return results


def _named_apart(
    tables: Sequence[Certificates], files: Sequence[Path]
) -> list[Certificates]:
    """Return the tables, with their folders in the names that several tables have."""
    files_of_name: dict[str, list[Path]] = {}
    for table, file in zip(tables, files, strict=True):
        files_of_name.setdefault(table.name, []).append(file.absolute())

    renamed = []
    for table, file in zip(tables, files, strict=True):
        alike = files_of_name[table.name]
        # It is "" for a name that one table has.
        folder = folders_apart(alike)[alike.index(file.absolute())]
        renamed.append(
            table.renamed(f"{folder}/{table.name}" if folder else table.name)
        )
    return renamed


def in_norm(
    table: Certificates, norm: str | None, dimension: int | None = None
) -> Certificates:
    """Return the table with radii in `norm`.

    Args:
        table: the certificates.
        norm: the norm; None for that of the table.
        dimension: the number of numbers in an input; None for that of the data set.

    Raises:
        Problem: `Certificates.in_norm` refuses the norm, or the norm needs a dimension
            that neither the table nor the caller gives.
    """
    if norm is None or norm == table.norm:
        return table
    # Converted radii cannot be checked against sigma, n and alpha any more.
    certificates.require_reachable(table)
    shape: tuple[int, ...] = ()
    if NORMS[norm].needs_shape:
        shape = _shape_of(table.header) if dimension is None else (dimension,)
    return table.in_norm(norm, shape=shape)


def _shape_of(header: Header) -> tuple[int, ...]:
    """Return the shape of an input, by the name of the data set.

    It is empty where the noise itself knows the shape.

    Raises:
        Problem: the data set has no name of ours, or its images were brought to another
            size, so that its shape is not theirs.
    """
    if header.noise is not None and header.noise.known_shape:
        return ()
    dataset = header.dataset or ""
    if dataset not in data.DATASETS or header.resize or header.crop:
        raise MissingValue(
            "radii in linf take how many numbers make up an input: give --dimension, "
            "such as 3072"
        )
    return data.DATASETS[dataset].shape
