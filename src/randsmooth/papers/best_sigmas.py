"""The best certified accuracy of each method at each radius, over the sigmas at hand."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import Problem
from randsmooth.number_text import half_up
from randsmooth.papers.cell_comparison import HERE, IMAGES, PAPER
from randsmooth.papers.from_certificates import (
    LEGEND_OF_LINES,
    note_on_crosses,
    shows_published,
)
from randsmooth.papers.output import ONLY_PART, Output, numbers
from randsmooth.papers.row_evidence import RowEvidence
from randsmooth.papers.rows import PaperRow, named
from randsmooth.papers.runs import Scale
from randsmooth.report import Axes, Line, envelope_axes
from randsmooth.report.grouping import gathered


@dataclass(frozen=True)
class BestSigma:
    """The best certified accuracy of one method at each radius, and the sigma of it.

    Attributes:
        accuracy: (M,) the best accuracy in percent at each of M radii; NaN where it is
            not known.
        sigma: (M,) the sigma that gives it; NaN where no sigma certifies an image.
        images: the number of images behind the accuracies; None where no accuracy is
            known.
        low, high: (M,) ends of the 95% band in percent; NaN for published figures.
    """

    accuracy: list[float]
    sigma: list[float]
    images: int | None
    low: list[float]
    high: list[float]


@dataclass(frozen=True)
class MethodCurves:
    """The best accuracies of one method: the paper's, and those of certificates.

    Attributes:
        method: the name of the method.
        paper, here: the best accuracies that the paper prints, and those of the
            certificates at hand.
        other_images: whether the latter rest on another number of images than the
            former.
    """

    method: str
    paper: BestSigma
    here: BestSigma
    other_images: bool


def section_7(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Draw each method's certified accuracy by the sigma that is best at each radius.

    Published figures stand beside ours.
    """
    # Each radius of any row once, in the order of the paper.
    radii = list(
        dict.fromkeys(radius for of_row in evidence for radius in of_row.row.accuracy)
    )
    evidence_of_method = gathered((of_row.row.method, of_row) for of_row in evidence)
    tables, notes = _tables(evidence_of_method)
    curves = [
        _curves_of(method, evidence_of_one, tables.get(method), radii, scale)
        for method, evidence_of_one in evidence_of_method.items()
    ]
    panels = _panels(tables, curves, radii)
    meanings = [
        "in brackets the sigma",
        f"a dash is a radius that no sigma at hand can certify ({HERE}), or that the "
        f"paper does not print ({PAPER})",
        *note_on_crosses(scale),
        metrics.NO_ONE_CLASSIFIER,
    ]
    # The terminal prints them as notes, and files have them as footnotes.
    sentences = ["; ".join(meanings), *notes]
    data = {of_method.method: _data_of(radii, of_method) for of_method in curves}
    return Output(
        tables={ONLY_PART: _printed(curves, radii)},
        data={
            ONLY_PART: pd.concat(data, names=["method", "radius"]).reset_index(),
            "figure": numbers(panels),
        },
        panels={ONLY_PART: panels},
        notes=sentences,
        footnotes=sentences,
        # For LaTeX, whose table floats without footnotes.
        legend=f"in brackets the sigma; {LEGEND_OF_LINES}",
    )


def _curves_of(
    method: str,
    evidence: Sequence[RowEvidence],
    tables: Sequence[Certificates] | None,
    radii: Sequence[float],
    scale: Scale,
) -> MethodCurves:
    """Return the best accuracies of a method.

    Args:
        evidence: the evidence for the rows of the method.
        tables: the certificates of the method on shared images; None where there are
            none, or none that can be combined.
    """
    rows = [of_row.row for of_row in evidence]
    paper = _unknown(radii)
    if shows_published(scale):
        paper = _published(rows, radii)
    here = _unknown(radii)
    if tables is not None:
        here = _measured(tables, radii)
    # The rows of a method are of one table, and so of one number of images.
    other_images = rows[0].images not in (None, here.images)
    return MethodCurves(method, paper, here, other_images)


def _panels(
    tables: Mapping[str, Sequence[Certificates]],
    curves: Sequence[MethodCurves],
    radii: Sequence[float],
) -> list[Axes]:
    """Draw the best accuracies of each method, the published ones as crosses.

    Args:
        tables: method -> its certificates on shared images.
    """
    panels = envelope_axes(tables)
    crosses = [
        Line(
            of_method.method,
            np.array(radii),
            np.array(of_method.paper.accuracy),
            "points",
            dashed=True,
        )
        for of_method in curves
        if of_method.paper.images is not None
    ]
    if panels:
        # The first panel draws accuracies, the others which sigma is best.
        accuracies = panels[0]
        panels[0] = replace(accuracies, lines=(*accuracies.lines, *crosses))
    return panels


def _printed(curves: Sequence[MethodCurves], radii: Sequence[float]) -> pd.DataFrame:
    """Return for each method a line of the paper and one of ours, where they are known."""
    lines: list[list[str]] = []
    for of_method in curves:
        star = "*" if of_method.other_images else ""
        lines += _lines_of(of_method.method, PAPER, of_method.paper, star="")
        lines += _lines_of(of_method.method, HERE, of_method.here, star=star)
    columns = ["method", "", IMAGES, *(f"{radius:g}" for radius in radii)]
    return pd.DataFrame(lines, columns=columns)


def _lines_of(
    method: str, line: str, best: BestSigma, star: str
) -> Iterator[list[str]]:
    """Yield a line of the table; nothing where no accuracy is known.

    Args:
        line: the source of the figures, `PAPER` or `HERE`.
        star: the mark beside a number of images that is not the paper's.
    """
    if best.images is None:
        return
    cells = [
        _best_words(accuracy, sigma)
        for accuracy, sigma in zip(best.accuracy, best.sigma, strict=True)
    ]
    yield [method, line, f"{best.images:,}{star}", *cells]


def _best_words(accuracy: float, sigma: float) -> str:
    """Return a cell: an accuracy, and in brackets the sigma that gives it."""
    if math.isnan(accuracy):
        return "-"
    figure = half_up(accuracy, decimals=1)
    if math.isnan(sigma):
        return figure
    return f"{figure} ({sigma:g})"


def _data_of(radii: Sequence[float], curves: MethodCurves) -> pd.DataFrame:
    """Return the best accuracies of a method at full precision."""
    paper = curves.paper
    here = curves.here
    columns = {
        "published": paper.accuracy,
        "published sigma": paper.sigma,
        "here": here.accuracy,
        "here sigma": here.sigma,
        "low": here.low,
        "high": here.high,
        "images": math.nan if here.images is None else here.images,
    }
    return pd.DataFrame(columns, index=list(radii))


def _unknown(radii: Sequence[float]) -> BestSigma:
    """Return accuracies that are all unknown."""
    unknown = [math.nan for _ in radii]
    return BestSigma(
        accuracy=unknown, sigma=unknown, images=None, low=unknown, high=unknown
    )


def _published(rows: Sequence[PaperRow], radii: Sequence[float]) -> BestSigma:
    """Return the largest of the paper's accuracies at each radius, and its sigma.

    Of equal accuracies the one at the larger sigma counts. The sigma is NaN where all
    accuracies are 0.

    Args:
        rows: the rows of one method, one for each sigma.
    """
    accuracies = []
    sigmas = []
    for radius in radii:
        of_rows = [
            (row.accuracy[radius], row.sigma) for row in rows if radius in row.accuracy
        ]
        # A radius may be printed for other methods alone.
        accuracy, sigma = max(of_rows, default=(math.nan, math.nan))
        accuracies.append(accuracy)
        sigmas.append(sigma if accuracy > 0.0 else math.nan)
    unknown = [math.nan for _ in radii]
    return BestSigma(
        accuracy=accuracies,
        sigma=sigmas,
        # All rows are of one table, and so of one number of images.
        images=rows[0].images,
        low=unknown,
        high=unknown,
    )


def _measured(tables: Sequence[Certificates], radii: Sequence[float]) -> BestSigma:
    """Return our best accuracy at each radius, over the sigmas of the tables.

    The accuracy is unknown beyond the largest radius that any of the tables can certify.

    Args:
        tables: the certificates of one method, on the same images.
    """
    envelope = metrics.envelope(tables, radii)
    farthest = max(metrics.farthest(table) for table in tables)
    unknown = np.array(radii) > farthest
    # `envelope.best` has the indices of tables, or -1 where no table certifies an image.
    # The index -1 is that of the last sigma, which therefore is NaN.
    sigma_of_table = [table.header.sigma or math.nan for table in tables]
    sigmas = np.array([*sigma_of_table, math.nan])

    def known(values: NDArray[np.float64]) -> list[float]:
        """Return the values, NaN at radii where they are unknown."""
        return [float(value) for value in np.where(unknown, math.nan, values)]

    return BestSigma(
        accuracy=known(100.0 * envelope.share),
        sigma=known(sigmas[envelope.best]),
        images=len(tables[0]),
        low=known(100.0 * envelope.low),
        high=known(100.0 * envelope.high),
    )


def _tables(
    evidence_of_method: Mapping[str, list[RowEvidence]],
) -> tuple[dict[str, list[Certificates]], list[str]]:
    """Return the tables of each method on the images that they share, and notes.

    Returns:
        Method -> its tables, for the methods whose tables can be combined; and sentences
        on logs of other runs than the paper's, on what limits the tables of a method,
        and on methods that are left out.
    """
    tables: dict[str, list[Certificates]] = {}
    notes: list[str] = []
    for method, evidence in evidence_of_method.items():
        notes += _notes_on_other_runs(evidence)
        tables_at_hand = [
            of_row.found.table for of_row in evidence if of_row.found is not None
        ]
        if not tables_at_hand:
            continue
        try:
            tables[method] = _on_shared_images(tables_at_hand)
        except Problem as problem:
            notes.append(f"{method} is left out: {problem}")
            continue

        images = len(tables[method][0])
        if any(images < len(table) for table in tables_at_hand):
            notes.append(f"{method}: over the {images:,} images that its tables share")
        notes += _notes_on_missing_sigmas(method, evidence)
    return tables, notes


def _notes_on_other_runs(evidence: Sequence[RowEvidence]) -> Iterator[str]:
    """Yield a sentence on the rows whose released log is of another run."""
    rows = [
        of_row.row
        for of_row in evidence
        if of_row.agreement is not None and of_row.agreement.another_run
    ]
    if rows:
        # Section 7 takes its rows from that table.
        yield f"{named(rows)}: the released log is not the run of the paper's table 2"


def _notes_on_missing_sigmas(
    method: str, evidence: Sequence[RowEvidence]
) -> Iterator[str]:
    """Yield a sentence on the sigmas at which a method has no certificates at hand."""
    sigmas = [f"{of_row.row.sigma:g}" for of_row in evidence if of_row.found is None]
    if sigmas:
        yield f"{method}: here without sigma {', '.join(sigmas)}"


def _on_shared_images(tables: Sequence[Certificates]) -> list[Certificates]:
    """Return the tables on the images that all of them have.

    Raises:
        Problem: two of them cannot be paired.
    """
    # `pair` returns both of its tables on the images that they share. The first, paired
    # with each table in turn, ends with the images of all.
    first_on_shared = reduce(lambda first, table: metrics.pair(first, table)[0], tables)
    return [metrics.pair(first_on_shared, table)[1] for table in tables]
