"""Every metric of one table at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from randsmooth.certificates import CertificatesLike, as_certificates
from randsmooth.metrics.accuracy import abstention, acr, certified_accuracy, declined
from randsmooth.metrics.estimate import Estimate
from randsmooth.metrics.probabilities import P_A_LEVELS, knows_p_a, p_a
from randsmooth.metrics.radii import check_radius, usual_radii


@dataclass(frozen=True)
class Summary:
    """The metrics of one table, with intervals.

    Attributes:
        name: the name of the table.
        images: the number of images in the table.
        acr: average certified radius; None where the images have no labels.
        accuracy: radius -> certified accuracy; None likewise.
        abstention: share of abstentions; None of a label-aware table, which does not
            tell it.
        declined: share of images certified as declined; None where the base classifier
            may not decline, and of a label-aware table.
        p_a: x -> share of images with p_A >= x; empty if unknown (see `knows_p_a`).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> summary = summarise(table, [0.0, 0.5])
        >>> summary.images, summary.accuracy[0.5].value, summary.p_a[0.5].value
        (4, 0.5, 0.75)
    """

    name: str
    images: int
    acr: Estimate | None
    accuracy: dict[float, Estimate | None]
    abstention: Estimate | None
    p_a: dict[float, Estimate]
    declined: Estimate | None = None


def summarise(table: CertificatesLike, radii: Sequence[float] | None = None) -> Summary:
    """Measure `table`: ACR, abstention, certified accuracy, and shares of p_A.

    Args:
        table: the certificates.
        radii: at which certified accuracy is measured; None takes the `usual_radii` of
            the table. Shares of p_A are those at P_A_LEVELS.

    Raises:
        Problem: no image, or a radius that is negative or not finite.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> summary = summarise(table, [0.0, 0.5])
        >>> summary.acr.value, summary.accuracy[0.5].value, summary.abstention.value
        (0.575, 0.5, 0.25)
        >>> list(summarise(table).accuracy)
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    table = as_certificates(table)
    if radii is None:
        radii = usual_radii([table])
    check_radius(*radii)

    accuracy: dict[float, Estimate | None] = dict.fromkeys(radii)
    average_radius = None
    if table.labelled:
        accuracy = {r: certified_accuracy(table, r) for r in radii}
        average_radius = acr(table)

    abstained = None
    share_declined = None
    if not table.header.label_aware:
        abstained = abstention(table)
        if table.header.refusal is not None:
            share_declined = declined(table)

    p_a_shares: dict[float, Estimate] = {}
    if knows_p_a(table):
        probabilities = p_a(table)
        p_a_shares = {level: probabilities.share(level) for level in P_A_LEVELS}

    return Summary(
        name=table.name,
        images=len(table),
        acr=average_radius,
        accuracy=accuracy,
        abstention=abstained,
        p_a=p_a_shares,
        declined=share_declined,
    )
