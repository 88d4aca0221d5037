"""Our figures beside the published ones, cell by cell: whether they differ, and why."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from randsmooth import metrics
from randsmooth.metrics import share_interval
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.published_values import ACCURACY
from randsmooth.papers.rows import PaperRow, named
from randsmooth.report.grouping import gathered

# Metric -> the decimals that our figures have at least; the second number holds for all
# other metrics.
DIGITS = {"acr": 3, "seconds": 1, "hours": 2, "epochs": 0}
DIGITS_OF_OTHERS = 1
# Errors of floating point are below this. It is added before a figure is rounded, since
# the float of 64.65 lies a little below 64.65 and shall be printed as 64.7. A difference
# may exceed the rounding of the printed figure by as much.
FLOAT_TOLERANCE = 1e-9
# A released log is of another run than the row where at least this share of the
# informative cells differs.
ANOTHER_RUN_SHARE = 0.5
# The level of the interval of chance, for figures that are measured on other images.
CHANCE_LEVEL = 0.99

# The heading of the column with the number of images.
IMAGES = "images"

# The names of the lines that a row of a paper has in a table for people.
PAPER = "paper"
HERE = "here"
DIFFERENCE = "difference"


@dataclass(frozen=True)
class CellAgreement:
    """How well certificates agree with the figures that a paper prints in one row.

    "Our" figures, here and below, are those that follow from the certificates.

    Attributes:
        row: the row of the paper.
        file: the certificates.
        here: metric -> our figure.
        differences: metric -> our figure minus the paper's, for each informative cell
            (see `informative`).
        unexplained: the differences that neither rounding nor, on other images, chance
            explains.
        same_images: whether the number of images is the paper's; True as well for a
            row of which the paper prints no figures.
        mean_error: the mean of |difference| / (rounding error of the printed figure);
            0 where no cell is informative.
    """

    row: PaperRow
    file: CertificateFile
    here: dict[str, float]
    differences: dict[str, float]
    unexplained: dict[str, float]
    same_images: bool
    mean_error: float

    @property
    def share(self) -> float:
        """Return the share of informative cells with an unexplained difference."""
        if not self.differences:
            return 0.0
        return len(self.unexplained) / len(self.differences)

    @property
    def another_run(self) -> bool:
        """Return whether the file is a released log of another run than the row.

        At least half of its informative cells differ then.
        """
        return self.file.log and self.share >= ANOTHER_RUN_SHARE


def agreement_of(
    row: PaperRow, file: CertificateFile, columns: Sequence[str] | None = None
) -> CellAgreement:
    """Compare the figures of certificates with those of a row.

    Args:
        columns: the metrics whose figures are computed; by default those of which the
            paper prints a figure in the row.
    """
    # A row without published figures has no number of images, and nothing to compare.
    same_images = row.images in (None, len(file.table))
    here = figures(file, tuple(row.figures) if columns is None else columns)
    differences = {}
    unexplained = {}
    errors = []
    for metric, value in here.items():
        if metric not in row.figures or not informative(row, file, metric):
            continue
        difference = value - row.figures[metric]
        differences[metric] = difference
        errors.append(abs(difference) / rounding(row, metric))
        # On the paper's own images, our figure is the only one that chance allows.
        interval = (value, value)
        if not same_images:
            interval = _chance_interval(row, file, metric, value)
        if not _is_rounded_into(interval, row, metric):
            unexplained[metric] = difference
    return CellAgreement(
        row=row,
        file=file,
        here=here,
        differences=differences,
        unexplained=unexplained,
        same_images=same_images,
        mean_error=float(np.mean(errors)) if errors else 0.0,
    )


def figures(file: CertificateFile, columns: Sequence[str]) -> dict[str, float]:
    """Return metric -> figure for those of the metrics that certificates determine.

    They determine ACR and certified accuracy, which is in percent.

    Args:
        columns: the metrics.
    """
    values = {}
    if "acr" in columns:
        values["acr"] = float(_certified_radii(file).mean())
    for column in columns:
        if column.startswith(ACCURACY):
            accuracy = metrics.certified_accuracy(file.table, _radius(column))
            values[column] = 100.0 * accuracy.value
    return values


def _certified_radii(file: CertificateFile) -> NDArray[np.float64]:
    """Return the (N,) radii, 0 for an image whose class is wrong or abstained from."""
    return np.asarray(file.table.radius * file.table.correct, np.float64)


def _radius(metric: str) -> float:
    """Return 0.25 for "accuracy@0.25": the radius of a metric of certified accuracy."""
    return float(metric.removeprefix(ACCURACY))


def informative(row: PaperRow, file: CertificateFile, metric: str) -> bool:
    """Return whether our figure could differ from the one that the row prints.

    It could not where the paper prints an accuracy of 0 at a radius that is farther than
    any that the samples of the certificates can prove: ours is 0 there, too.
    """
    if not metric.startswith(ACCURACY) or row.figures[metric] != 0.0:
        return True
    return _radius(metric) <= metrics.farthest(file.table)


def rounding(row: PaperRow, metric: str) -> float:
    """Return the most that rounding changed a printed figure: half its last digit."""
    return float(0.5 * 10.0 ** -row.decimals[metric])


def digits(metric: str) -> int:
    """Return how many decimals our figures of a metric have at least."""
    return DIGITS.get(metric, DIGITS_OF_OTHERS)


def _chance_interval(
    row: PaperRow, file: CertificateFile, metric: str, here: float
) -> tuple[float, float]:
    """Return the interval within which our figure may lie on other images, by chance.

    It lies around our figure, and is as wide as the smaller number of images makes it.

    Args:
        row: a row that was measured on another number of images than the certificates.
        here: our figure.
    """
    assert row.images is not None, "only a row of so many images can have other images"
    fewer_images = min(len(file.table), row.images)
    if metric == "acr":
        spread = float(_certified_radii(file).std())
        z = float(special.ndtri(0.5 + CHANCE_LEVEL / 2.0))
        half_width = z * spread / math.sqrt(fewer_images)
        return here - half_width, here + half_width

    # The other metrics are accuracies. The interval is that of whichever accuracy was
    # measured on fewer images, moved so that it lies around ours.
    measured_on_fewer = here
    if row.images == fewer_images:
        measured_on_fewer = row.figures[metric]
    right_images = fewer_images * measured_on_fewer / 100.0
    low, high = share_interval(right_images, fewer_images, level=CHANCE_LEVEL)
    # Errors of floating point may put an end on the wrong side of the accuracy.
    below = min(100.0 * float(low) - measured_on_fewer, 0.0)
    above = max(100.0 * float(high) - measured_on_fewer, 0.0)
    return here + below, here + above


def _is_rounded_into(interval: tuple[float, float], row: PaperRow, metric: str) -> bool:
    """Return whether rounding a figure of the interval may give the printed one."""
    low, high = interval
    printed = row.figures[metric]
    # It is negative where the printed figure lies within the interval.
    distance = max(low - printed, printed - high)
    return distance <= rounding(row, metric) + FLOAT_TOLERANCE


# Why certificates are not enough to fill a row; rows of the first lack the least.
OTHER_RUNS = "only logs of other runs"
NOTHING_AT_HAND = "nothing at hand"
LACKS = (OTHER_RUNS, NOTHING_AT_HAND)


def lack(agreement: CellAgreement | None) -> str:
    """Return which of LACKS keeps a row from being filled; empty where none does."""
    if agreement is None:
        return NOTHING_AT_HAND
    if agreement.another_run:
        return OTHER_RUNS
    return ""


@dataclass(frozen=True)
class CellComparison:
    """The rows of a table with the paper's figures, and ours where there are some.

    Attributes:
        rows: the rows of the paper.
        metrics: the metrics, in the order of their columns.
        agreements: the agreement of each row with its certificates; None for a row
            without certificates.
        other_figures: for each row, metric -> our figure, of the metrics that do not
            follow from certificates, such as "seconds"; empty where no row has any.
    """

    rows: tuple[PaperRow, ...]
    metrics: tuple[str, ...]
    agreements: tuple[CellAgreement | None, ...]
    other_figures: tuple[dict[str, float], ...] = ()

    @property
    def ours(self) -> list[dict[str, float]]:
        """Return metric -> our figure for each row, from certificates and otherwise."""
        other_figures: Sequence[dict[str, float]] = self.other_figures
        if not other_figures:
            other_figures = [{} for _ in self.rows]
        figures_of_rows = []
        for agreement, others in zip(self.agreements, other_figures, strict=True):
            of_certificates = {} if agreement is None else agreement.here
            figures_of_rows.append(of_certificates | others)
        return figures_of_rows

    @property
    def of_printed_runs(self) -> list[CellAgreement]:
        """Return the agreements of rows with certificates of the printed run.

        Rows without certificates, and released logs of other runs, are left out.
        """
        return [
            agreement
            for agreement in self.agreements
            if agreement is not None and not agreement.another_run
        ]

    @property
    def compared(self) -> int:
        """Return the number of informative cells in the rows `of_printed_runs`."""
        return sum(len(agreement.differences) for agreement in self.of_printed_runs)

    @property
    def explained(self) -> int:
        """Return how many of the `compared` cells are as printed.

        So is a cell whose difference rounding explains or, where the numbers of images
        differ, rounding and chance.
        """
        unexplained = sum(
            len(agreement.unexplained) for agreement in self.of_printed_runs
        )
        return self.compared - unexplained

    @property
    def summary(self) -> str:
        """Return how many rows could be compared, and how many cells are as printed.

        It ends in what may explain a difference: rounding, and chance where a row was
        measured on other images than the paper's.
        """
        on_same_images = all(
            agreement.same_images
            for agreement in self.agreements
            if agreement is not None
        )
        explanations = "rounding" if on_same_images else "rounding and chance"
        return (
            f"{len(self.of_printed_runs)} of {len(self.rows)} rows; "
            f"{self.explained} of {self.compared} cells as printed, to {explanations}"
        )


def compare_cells(
    rows: Sequence[PaperRow],
    files: Sequence[CertificateFile | None],
    other_figures: Sequence[dict[str, float]] = (),
) -> CellComparison:
    """Compare each row of a paper with its certificates.

    Args:
        files: the certificates of each row, None where there are none.
        other_figures: for each row, our figures that do not follow from certificates;
            by default no row has any.
    """
    columns = list(dict.fromkeys(metric for row in rows for metric in row.figures))
    if not columns:
        columns = _usual_columns([file for file in files if file is not None])
    agreements = []
    for row, file in zip(rows, files, strict=True):
        agreements.append(None if file is None else agreement_of(row, file, columns))
    return CellComparison(
        tuple(rows), tuple(columns), tuple(agreements), tuple(other_figures)
    )


def _usual_columns(files: Sequence[CertificateFile]) -> list[str]:
    """Return the metrics that are shown of rows of which the paper prints no figures."""
    columns = ["acr"]
    if files:
        radii = metrics.usual_radii([file.table for file in files])
        columns += [f"{ACCURACY}{radius:g}" for radius in radii]
    return columns


def findings(table: CellComparison) -> list[str]:
    """Return a sentence for each row with an unexplained difference.

    Further sentences name the rows for which our number of images is not the paper's:
    one sentence for each pair of such numbers.
    """
    agreements = [item for item in table.agreements if item is not None]
    sentences = [
        _finding(agreement) for agreement in agreements if agreement.unexplained
    ]
    rows_of_images = gathered(
        ((agreement.row.images, len(agreement.file.table)), agreement.row)
        for agreement in agreements
        if not agreement.same_images
    )
    # The star is the one that `wide` puts beside our number of images.
    for (theirs, ours), rows in rows_of_images.items():
        sentences.append(
            f"{named(rows)}: {ours:,}* images here, {theirs:,} in the paper, "
            "so that some of the difference is chance; a cell counts as differing where "
            f"rounding and a {CHANCE_LEVEL:.0%} interval for the smaller number "
            "do not explain it"
        )
    return sentences


def _finding(agreement: CellAgreement) -> str:
    """Return the sentence on the cells of a row with an unexplained difference."""
    row = agreement.row
    count = f"{len(agreement.unexplained)} of {len(agreement.differences)} cells"
    sentence = f"{named([row])} differs in {count}"
    if not agreement.same_images:
        sentence += " by more than rounding and chance"
    if agreement.another_run:
        sentence += ": the released log is not the run of the table"
    cells = []
    for metric, difference in agreement.unexplained.items():
        cells.append(f"{title(metric)} {_cell(difference, metric, row, DIFFERENCE)}")
    return f"{sentence} ({', '.join(cells)})"


@dataclass(frozen=True)
class DifferingCell:
    """A cell of a paper's table whose figure neither rounding nor chance explains.

    Attributes:
        table: the name of the table, such as "acr/table2".
        row: its row.
        metric: its metric.
        printed: the figure as the paper prints it, in text.
        here: our figure, in text.
        difference: our figure minus the paper's, in text.
        roundings: the size of the difference, in rounding errors of the printed figure.
    """

    table: str
    row: PaperRow
    metric: str
    printed: str
    here: str
    difference: str
    roundings: float

    def __str__(self) -> str:
        return (
            f"{self.table}, {named([self.row])} on {self.row.dataset}, "
            f"{_column_words(self.metric)}: {self.here} here, {self.printed} printed "
            f"({self.difference})"
        )


def _column_words(metric: str) -> str:
    """Return a metric as a sentence names its column: "ACR", or "at radius 0.5"."""
    return "ACR" if metric == "acr" else f"at radius {title(metric)}"


def differing_cells(cells: CellComparison, table: str) -> list[DifferingCell]:
    """Return the cells of a table that differ from the paper's for no known reason.

    The worst come first. Rows with logs of other runs have none.

    Args:
        cells: the rows of the table, beside their certificates.
        table: the name of the table.
    """
    differing = []
    for agreement in cells.of_printed_runs:
        row = agreement.row
        for metric, difference in agreement.unexplained.items():
            cell = DifferingCell(
                table=table,
                row=row,
                metric=metric,
                printed=_cell(row.figures[metric], metric, row, PAPER),
                here=_cell(agreement.here[metric], metric, row, HERE),
                difference=_cell(difference, metric, row, DIFFERENCE),
                roundings=abs(difference) / rounding(row, metric),
            )
            differing.append(cell)
    return sorted(differing, key=lambda cell: -cell.roundings)


def title(metric: str) -> str:
    """Return the heading of a metric's column; the radius for a certified accuracy."""
    return "ACR" if metric == "acr" else metric.removeprefix(ACCURACY)


def wide(table: CellComparison) -> pd.DataFrame:
    """Return the comparison for a person to read, figures as text.

    A row of the paper has up to three lines: PAPER, HERE and DIFFERENCE.
    """
    several_datasets = len({row.dataset for row in table.rows}) > 1
    lines = []
    compared_rows = zip(table.rows, table.agreements, table.ours, strict=True)
    for row, agreement, ours in compared_rows:
        name = f"{row.name}, {row.dataset}" if several_datasets else row.name
        heading = [f"{row.sigma:g}", name]
        images = _image_words(row, agreement)
        for line, values in _lines_of(row, ours, table.metrics).items():
            cells = [
                _cell(values.get(metric), metric, row, line) for metric in table.metrics
            ]
            lines.append([*heading, line, images.get(line, ""), *cells])
            # Only the first line of a row says which row it is.
            heading = ["", ""]
    # The column of PAPER, HERE and DIFFERENCE needs no heading.
    columns = ["sigma", "method", "", IMAGES, *map(title, table.metrics)]
    return pd.DataFrame(lines, columns=columns, dtype=str)


def _image_words(row: PaperRow, agreement: CellAgreement | None) -> dict[str, str]:
    """Return line -> its number of images, with a star where ours is not the paper's."""
    words = {}
    if row.images is not None:
        words[PAPER] = f"{row.images:,}"
    if agreement is not None:
        star = "" if agreement.same_images else "*"
        words[HERE] = f"{len(agreement.file.table):,}{star}"
    return words


def _lines_of(
    row: PaperRow, ours: Mapping[str, float], columns: Sequence[str]
) -> dict[str, Mapping[str, float]]:
    """Return line -> its figures by metric, without the lines that have no figures."""
    differences = {
        metric: ours[metric] - row.figures[metric]
        for metric in columns
        if metric in ours and metric in row.figures
    }
    lines: dict[str, Mapping[str, float]] = {
        PAPER: row.figures,
        HERE: ours,
        DIFFERENCE: differences,
    }
    return {line: values for line, values in lines.items() if values}


def _cell(value: float | None, metric: str, row: PaperRow, line: str) -> str:
    """Return a figure as text, rounded half up; empty where there is none.

    The paper's figure has the decimals that the paper prints. Ours, and the difference,
    have at least as many.

    Args:
        line: the line that the figure stands in: PAPER, HERE or DIFFERENCE.
    """
    if value is None:
        return ""
    decimals = row.decimals.get(metric, digits(metric))
    if line != PAPER:
        decimals = max(decimals, digits(metric))
    sign = "+" if line == DIFFERENCE else ""
    text = f"{value + FLOAT_TOLERANCE:{sign}.{decimals}f}"
    # A figure that is printed as 0 has no sign.
    return text.lstrip("+-") if float(text) == 0.0 else text


def tidy(table: CellComparison) -> pd.DataFrame:
    """Return the comparison for programs: one line per cell, at full precision."""
    lines: list[dict[str, object]] = []
    compared_rows = zip(table.rows, table.agreements, table.ours, strict=True)
    for row, agreement, ours in compared_rows:
        for metric in table.metrics:
            lines.append(_tidy_cell(metric, row, agreement, ours))
    columns = [
        "dataset",
        "sigma",
        "method",
        "setting",
        "metric",
        "published",
        "here",
        "difference",
        "published_images",
        "images",
        "file",
        "explained",
    ]
    # These types have an empty value, which a cell without certificates needs.
    return pd.DataFrame(lines, columns=columns).astype(
        {"published_images": "Int64", "images": "Int64", "explained": "boolean"}
    )


def _tidy_cell(
    metric: str,
    row: PaperRow,
    agreement: CellAgreement | None,
    ours: Mapping[str, float],
) -> dict[str, object]:
    """Return one line of `tidy`."""
    published = row.figures.get(metric, math.nan)
    here = ours.get(metric, math.nan)
    # It stays None where there is nothing to compare.
    explained = None
    if agreement is not None and metric in agreement.differences:
        explained = metric not in agreement.unexplained
    return {
        "dataset": row.dataset,
        "sigma": row.sigma,
        "method": row.method,
        "setting": row.setting,
        "metric": metric,
        "published": published,
        "here": here,
        "difference": here - published,
        "published_images": row.images,
        "images": None if agreement is None else len(agreement.file.table),
        "file": "" if agreement is None else agreement.file.path.name,
        "explained": explained,
    }
