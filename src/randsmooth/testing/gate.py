"""A gate for tests: certified accuracy must be shown to be what it is to be."""

from collections.abc import Sequence

from randsmooth.certificates import CertificatesLike
from randsmooth.metrics import LEVEL, CheckedConditions, Condition, check
from randsmooth.metrics.requirements import NOT_ENOUGH, SHOWN, how_many_decide


def require(
    table: CertificatesLike,
    at: float | None = None,
    least: float | None = None,
    *,
    baseline: CertificatesLike | None = None,
    margin: float | None = None,
    conditions: Sequence[Condition] = (),
    confidence: float = LEVEL,
    runs: int = 1,
) -> CheckedConditions:
    """Require that the images of a table show what certified accuracy must be.

    Args:
        table, at, least, baseline, margin, conditions, confidence, runs: as for
            `randsmooth.check`.

    Returns:
        what was shown.

    Raises:
        AssertionError: a condition is refuted, or there are not enough images; it says
            which, with the figures.
        Problem: as for `randsmooth.check`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.8] * 150 + [0.1] * 50)
        >>> _ = require(table, at=0.5, least=0.6)
        >>> require(table, at=0.5, least=0.9)
        Traceback (most recent call last):
        AssertionError: refuted: certified accuracy at 0.5 is at least 90% (75.0% of 200 images; at most 80.0%)
    """
    # pytest then shows the line of the test, and not this function.
    __tracebackhide__ = True

    checked = check(
        table,
        at,
        least,
        baseline=baseline,
        margin=margin,
        conditions=conditions,
        confidence=confidence,
        runs=runs,
    )
    if checked.outcome == SHOWN:
        return checked

    message = str(checked)
    if checked.outcome == NOT_ENOUGH:
        message += f"\n{how_many_decide(checked)}"
    raise AssertionError(message)
