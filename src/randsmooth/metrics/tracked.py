"""The figures of a table by name, as loggers and trackers of experiments take them."""

from collections.abc import Iterator, Sequence

from randsmooth.certificates import CertificatesLike
from randsmooth.metrics.estimate import Estimate
from randsmooth.metrics.summary import Summary, summarise
from randsmooth.number_text import shortest

# What all names begin with. MLflow allows letters, digits and "_-./ " in a name.
PREFIX = "certified/"


def scalars(
    table: CertificatesLike,
    radii: Sequence[float] | None = None,
    *,
    prefix: str = PREFIX,
    intervals: bool = True,
) -> dict[str, float]:
    """Return the figures of a table by name, for a logger or a tracker of experiments.

    Shares are between 0 and 1. Figures that the table does not tell are left out: those
    of accuracy where the images have no labels, say. TensorBoard, MLflow and Weights &
    Biases take the names as they are.

    Args:
        table: the certificates.
        radii: the radii of the certified accuracies; None for the usual ones.
        prefix: what all names begin with.
        intervals: whether the ends of each 95% interval are added, as `..._low` and
            `..._high`.

    Raises:
        Problem: no image, or a radius that is negative or not finite.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> figures = scalars(table, [0.5], intervals=False)
        >>> for name, value in figures.items():
        ...     print(name, round(value, 3))
        certified/accuracy_at_0.5 0.5
        certified/p_A_at_least_0.5 0.75
        certified/p_A_at_least_0.75 0.75
        certified/p_A_at_least_0.9 0.5
        certified/p_A_at_least_0.99 0.25
        certified/abstention 0.25
        certified/acr 0.575
    """
    figures = {}
    for name, estimate in _named(summarise(table, radii)):
        if estimate is None:
            continue
        figures[f"{prefix}{name}"] = estimate.value
        if intervals:
            figures[f"{prefix}{name}_low"] = estimate.low
            figures[f"{prefix}{name}_high"] = estimate.high
    return figures


def _named(summary: Summary) -> Iterator[tuple[str, Estimate | None]]:
    """Yield the figures of a summary with their names; None for one that is not known."""
    for radius, share in summary.accuracy.items():
        yield f"accuracy_at_{shortest(radius)}", share
    for level, share in summary.p_a.items():
        yield f"p_A_at_least_{shortest(level)}", share
    yield "abstention", summary.abstention
    yield "declined", summary.declined
    yield "acr", summary.acr
