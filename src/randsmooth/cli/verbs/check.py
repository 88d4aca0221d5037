"""`randsmooth check`: a gate on certified accuracy, which a machine can ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.cli.certificate_files import load
from randsmooth.cli.output import FAILURE, say_lines
from randsmooth.cli.settings import Argument, Settings, option
from randsmooth.escape import say
from randsmooth.urls import Place

if TYPE_CHECKING:
    from randsmooth.metrics import CheckedConditions
    from randsmooth.metrics.requirements import Outcome

# Outcome -> exit code. 2 is left out: it stands for bad input in every verb.
EXIT_CODES: dict[Outcome, int] = {
    "shown": 0,
    "refuted": FAILURE,
    "not enough images": 3,
}


class Check(Settings):
    """Settings of `randsmooth check`.

    Attributes:
        at: The radius, in the unit of the certificates.
        least: The least share of images that must be right and certified at that
            radius, such as 0.6.
        baseline: A table over these images or more. Certified accuracy must not be
            below its own by more than the margin.
        margin: By how much it may be below the baseline's: a share of the images, such
            as 0.02 for 2 points.
        conditions: YAML file with several conditions, each of at and least, or of at,
            baseline and margin.
        confidence: With which the outcome is right.
        runs: How many checks shall be right together with this confidence.
        sigma: Standard deviation sigma of the noise that a TSV log was made with.
            (default: what its path says)
        n: The n that a TSV log was made with, or at which to judge. (default: all)
        alpha: The alpha that a TSV log was made with, or at which to judge. (default:
            that of each file)
        format: Of the answer: text, json, JUnit's XML, or annotations of GitHub.
    """

    table: Argument[Place] = option("Certificates: a Parquet file, or a TSV log.", ...)
    at: float | None = None
    least: float | None = None
    baseline: Place | None = None
    margin: float | None = None
    conditions: Path | None = None
    confidence: float = metrics.LEVEL
    runs: int = 1
    sigma: float | None = None
    n: int | None = None
    alpha: float | None = None
    format: Literal["text", "json", "junit", "github"] = "text"


def run(settings: Check) -> None:
    """Check what certified accuracy at a radius must be.

    The outcome is `shown`, `refuted` or `not enough images`, each at the stated
    confidence: that of an interval for images drawn like these. The exit code is 0, 1
    or 3, so that a pipeline can tell them apart; 2 is bad input.

    Of several conditions all must be shown, and one that is refuted is enough.

    Example: randsmooth check new.parquet --at 0.5 --least 0.60
    """
    conditions: list[metrics.Condition] = []
    if settings.conditions is not None:
        conditions = metrics.read_conditions(settings.conditions)
    checked = metrics.check(
        _read(settings.table, settings),
        settings.at,
        settings.least,
        baseline=_baseline(settings),
        margin=settings.margin,
        conditions=conditions,
        confidence=settings.confidence,
        runs=settings.runs,
    )

    if settings.format == "text":
        say_lines(_lines(checked))
    else:
        say(_for_programs(checked, settings.format))
    code = EXIT_CODES[checked.outcome]
    if code != 0:
        raise SystemExit(code)


def _for_programs(
    checked: CheckedConditions, form: Literal["json", "junit", "github"]
) -> str:
    """Return the outcome and each condition in a form that programs read."""
    # Late, as the text for people needs no report.
    from randsmooth import report

    match form:
        case "json":
            return report.check_to_json(checked)
        case "junit":
            return report.check_to_junit(checked)
        case "github":
            return report.check_to_github(checked)


def _read(place: Place, settings: Check) -> Certificates:
    """Return the table at a place, judged at the sigma, n and alpha of the settings."""
    (table,) = load([place], sigma=settings.sigma, n=settings.n, alpha=settings.alpha)
    return table


def _baseline(settings: Check) -> Certificates | None:
    """Return the table of --baseline; None without it."""
    if settings.baseline is None:
        return None
    return _read(settings.baseline, settings)


def _lines(checked: CheckedConditions) -> Iterator[str]:
    """Yield the outcome, a sentence on each condition, and the confidence.

    Where the images are not enough, a line says how many would be.
    """
    # Late, as help needs no statistics.
    from randsmooth.metrics.requirements import how_many_decide, judged_sentence

    yield checked.outcome.upper()
    for judged in checked.conditions:
        yield f"  {judged_sentence(judged)}"
    if checked.outcome == "not enough images":
        yield f"  {how_many_decide(checked)}"
    confidence = f"right with {100.0 * checked.confidence:g}% confidence"
    if checked.runs > 1:
        confidence += f", together with {checked.runs - 1:,} other checks"
    yield f"  {confidence}"
