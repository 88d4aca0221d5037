"""What ACR hides about two tables, as a value, and the sentence that says it.

A `Finding` holds the facts: which ACR is higher, at which radii the certified
accuracies differ, and one radius at which ACR alone would mislead. Small templates put
the facts into words, one for each part of the sentence.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import NotComparable
from randsmooth.escape import printable, shortened
from randsmooth.metrics import Comparison, Difference, Verdict
from randsmooth.number_text import half_up

# Both ACRs are printed with three decimals, and with up to seven where fewer would
# print two different figures alike.
FEWEST_ACR_DECIMALS = 3
MOST_ACR_DECIMALS = 7

# The clause on the two ACRs. `whose` and `others` are the possessives of both names.
ACR_DIFFERS = "{whose} ACR is {order} than {others} ({acr} against {other_acr})"
ACR_IS_THE_SAME = "{first} and {second} have the same ACR ({acr})"
ACR_IS_UNDECIDED = (
    "Which of {first} and {second} has the higher ACR ({acr} and {other_acr}) cannot be "
    "told with {images:,} images"
)

# How the first table's curve lies to that of the second; `below` and `above` are the
# radii, in words.
ONLY_BELOW = "below {others} {below} and nowhere shown above it"
ONLY_ABOVE = "above {others} {above} and nowhere shown below it"

# What ACR hides: the radii at which one table certifies fewer or more images (`count`)
# than ACR suggests, and the shares at one of them. `name` is the first table, and `lead`
# and `where` are radii in words.
HIDDEN = (
    "ACR hides that {count} images are certified {lead} under {name} "
    "({share}% against {other_share}% {where})"
)
# The clause on radii at which the curve agrees with the order of the two ACRs.
SO_IS_THE_CURVE = ", and so is its certified accuracy {lead}"
# The clause on the radii with the contrary of what ACR hides.
CONTRARY = ", and {count} {lead}"
NO_CONTRARY = ", and nowhere shown that {count} are"
# The estimated radii at which the lead changes.
CROSSINGS = "; the curves cross near {radii}"


class FindingKind(Enum):
    """Whether the curves of certified accuracy agree with the order of the two ACRs.

    Example:
        >>> FindingKind.HIDDEN.value
        'ACR hides a difference'
    """

    HIDDEN = "ACR hides a difference"
    CONFIRMED = "the curve bears ACR out"
    NOTHING_HIDDEN = "ACR differs, the curve shows nothing else"
    UNDECIDED = "neither ACR nor the curve tells the tables apart"


@dataclass(frozen=True)
class Lead:
    """The radii at which one curve is shown to lie on one side of the other.

    Attributes:
        low, high: the first and the last of these radii, as the verdict prints them.
        gaps: whether nothing is shown at some radii in between.
        most: the largest difference at these radii, in percentage points.

    Example:
        >>> Lead(low=0.0, high=0.31, gaps=False, most=9.1).most
        9.1
    """

    low: float
    high: float
    gaps: bool
    most: float


@dataclass(frozen=True)
class HiddenDifference:
    """The radius at which the difference that ACR hides is largest.

    Attributes:
        radius: the radius of that difference.
        first, second: the shares of images that each table certifies there.
        fewer: whether the first table certifies fewer than the second.

    Example:
        >>> HiddenDifference(radius=0.0, first=0.5, second=0.75, fewer=True).fewer
        True
    """

    radius: float
    first: float
    second: float
    fewer: bool


@dataclass(frozen=True)
class Finding:
    """The finding about two tables: their ACRs, and their curves beside them.

    Attributes:
        first, second: the names of the tables.
        acr_first, acr_second: the ACRs of the two tables.
        acr_shown: 1 if the first's ACR is shown to be higher, -1 if lower, else 0.
        below, above: the radii at which the first table's curve is shown to lie below
            and above the second's; None where that is nowhere shown.
        hidden: the fact that ACR alone would not tell; None if it hides nothing.
        crossings: the estimated radii at which the lead changes, as printed.
        differs: whether the curves differ at any radius, be it by chance.
        farthest: the last radius of the comparison.
        images: the number of images that were compared.
        limit: the reason why the radii of the comparison are restricted, in words;
            empty where they are not.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> first = from_radii([0.5, 0.5, 0.0], name="macer")
        >>> finding = acr_finding(first, first.renamed("gaussian"))
        >>> finding.kind, finding.acr_shown, finding.differs
        (<FindingKind.UNDECIDED: 'neither ACR nor the curve tells the tables apart'>, 0, False)
    """

    first: str
    second: str
    acr_first: float
    acr_second: float
    acr_shown: int
    below: Lead | None
    above: Lead | None
    hidden: HiddenDifference | None
    crossings: tuple[float, ...]
    differs: bool
    farthest: float
    images: int
    limit: str

    @property
    def kind(self) -> FindingKind:
        """Return whether the curves agree with the order of the ACRs."""
        if self.hidden is not None:
            return FindingKind.HIDDEN
        if self.below is not None or self.above is not None:
            return FindingKind.CONFIRMED
        if self.acr_shown:
            return FindingKind.NOTHING_HIDDEN
        return FindingKind.UNDECIDED

    def __str__(self) -> str:
        """Return one sentence: the ACRs, the curves, and what follows for ACR."""
        if self.hidden is None:
            sentence = f"{_acr_clause(self)}, and {_curve_clause(self)}"
            sentence += f": {_conclusion(self.kind)}"
        else:
            sentence = _hidden_sentence(self, self.hidden)
        if self.limit:
            sentence += f"; compared {self.limit}"
        return f"{sentence}."


def acr_finding(
    first: Certificates, second: Certificates, compared: Comparison | None = None
) -> Finding:
    """Return which ACR is higher, where certified accuracies differ, and what ACR hides.

    Only a difference beyond chance counts, by one 95% band over ACR and all radii
    together (see `metrics.compare`).

    Args:
        first, second: the tables, on the same images.
        compared: the comparison of the first with the second, where it was judged
            together with others; None judges these two alone.

    Raises:
        Problem: the tables are not about the same images, hold none, or a rule
            answered particular radii only.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> first = from_radii([0.5, 0.5, 0.0], name="macer")
        >>> acr_finding(first, first.renamed("gaussian")).acr_first.__round__(3)
        0.333
    """
    comparison = compared or metrics.compare([(first, second)])[0]
    curve = comparison.curve
    verdict = comparison.verdict
    if curve is None or verdict is None or comparison.acr is None:
        raise NotComparable(
            f"{first.name} and {second.name} are compared {comparison.limit}: "
            "their ACR is not known"
        )
    below = _lead(curve, curve.below, verdict)
    above = _lead(curve, curve.above, verdict)
    acr_shown = comparison.acr_shown

    # ACR hides that the first table is worse somewhere, unless its ACR is shown to be
    # lower; or else that it is better somewhere, unless its ACR is shown to be higher.
    hidden = None
    if below is not None and acr_shown >= 0:
        hidden = _hidden_difference(first, second, curve, fewer=True)
    elif above is not None and acr_shown <= 0:
        hidden = _hidden_difference(first, second, curve, fewer=False)

    return Finding(
        first=_shown_name(first),
        second=_shown_name(second),
        acr_first=metrics.acr(first).value,
        acr_second=metrics.acr(second).value,
        acr_shown=acr_shown,
        below=below,
        above=above,
        hidden=hidden,
        crossings=tuple(crossing.rounded[2] for crossing in verdict.crossings),
        differs=bool(curve.value.any()),
        farthest=float(curve.radii[-1]),
        images=comparison.images,
        limit=str(comparison.limit or ""),
    )


def what_acr_hides(
    first: Certificates, second: Certificates, compared: Comparison | None = None
) -> str:
    """Return the finding of `acr_finding` as one sentence.

    Arguments and errors are those of `acr_finding`.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(
        ...     header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0
        ... )
        >>> print(what_acr_hides(table.renamed("a"), table.renamed("b")).split(",")[0])
        a and b have the same ACR (0.189)
    """
    return str(acr_finding(first, second, compared))


def _lead(curve: Difference, shown: NDArray[np.bool_], verdict: Verdict) -> Lead | None:
    """Return the radii at which a lead is shown; None where it is shown nowhere.

    Args:
        curve: the difference of the tables at M radii.
        shown: (M,) whether the lead is shown at each radius.
        verdict: the verdict on the same difference, in words.
    """
    if not shown.any():
        return None
    indices = np.flatnonzero(shown)
    radii_from_first_to_last = int(indices[-1] - indices[0]) + 1
    low = float(curve.radii[indices[0]])
    high = float(curve.radii[indices[-1]])

    # The verdict prints the ends of a crossing rounded outward. A lead that begins or
    # ends there is printed with the same figures.
    printed: dict[float, float] = {}
    for crossing in verdict.crossings:
        low_rounded, high_rounded, _ = crossing.rounded
        printed[crossing.low] = low_rounded
        printed[crossing.high] = high_rounded

    return Lead(
        low=printed.get(low, low),
        high=printed.get(high, high),
        gaps=radii_from_first_to_last > len(indices),
        most=float(100.0 * np.abs(curve.value[shown]).max()),
    )


def _hidden_difference(
    first: Certificates, second: Certificates, curve: Difference, *, fewer: bool
) -> HiddenDifference:
    """Return the radius at which the first table is worst, or best, beside the second.

    Args:
        curve: the first table's certified accuracy minus the second's.
        fewer: whether to return where the first table is worst, and not best.
    """
    # The share of images by which the first table is worse, or better.
    difference = -curve.value if fewer else curve.value
    # Shares are printed to a tenth of a percent: of radii that print the same
    # difference, argmax takes the first.
    rounded = np.round(difference, 3)
    radius = float(curve.radii[np.argmax(rounded)])
    return HiddenDifference(
        radius=radius,
        first=metrics.certified_accuracy(first, radius).value,
        second=metrics.certified_accuracy(second, radius).value,
        fewer=fewer,
    )


def _acr_clause(finding: Finding) -> str:
    """Return the clause that names the table with the higher ACR, if that is shown."""
    acr, other_acr = _distinct_figures(finding.acr_first, finding.acr_second)
    if finding.acr_shown:
        return ACR_DIFFERS.format(
            whose=_possessive(finding.first),
            order="higher" if finding.acr_shown > 0 else "lower",
            others=_possessive(finding.second),
            acr=acr,
            other_acr=other_acr,
        )
    wording = ACR_IS_THE_SAME if acr == other_acr else ACR_IS_UNDECIDED
    return wording.format(
        first=finding.first,
        second=finding.second,
        acr=acr,
        other_acr=other_acr,
        images=finding.images,
    )


def _curve_clause(finding: Finding) -> str:
    """Return the clause on where the first curve lies below or above the second."""
    # The clause on ACR, which stands before, has the first table as its subject where
    # one ACR is shown to be higher.
    whose = "its" if finding.acr_shown else _possessive(finding.first)
    return f"{whose} certified accuracy is {_comparison_words(finding)}"


def _comparison_words(finding: Finding) -> str:
    """Return the words behind "certified accuracy is", on the first table's curve.

    Where ACR hides nothing, the curve is shown on one side of the other at most.
    """
    others = _possessive(finding.second)
    below = _lead_words(finding.below)
    above = _lead_words(finding.above)
    if below:
        return ONLY_BELOW.format(others=others, below=below)
    if above:
        return ONLY_ABOVE.format(others=others, above=above)

    all_radii = _radii_words(0.0, finding.farthest)
    # Curves may differ at some radius, and still by no more than chance explains.
    if finding.differs:
        return f"nowhere different beyond chance {all_radii}"
    return f"the same {all_radii}"


def _conclusion(kind: FindingKind) -> str:
    """Return the conclusion for a reader who would look at ACR alone.

    Args:
        kind: the kind of a finding in which ACR hides nothing.
    """
    if kind is FindingKind.CONFIRMED:
        return "here the curve bears ACR out"
    if kind is FindingKind.NOTHING_HIDDEN:
        return "the curve shows nothing that ACR hides"
    return "these images do not tell the two apart"


def _hidden_sentence(finding: Finding, hidden: HiddenDifference) -> str:
    """Return the sentence of a finding in which ACR hides a difference."""
    lead = finding.below if hidden.fewer else finding.above
    # For the type checker: where ACR hides something, the curve is shown to differ.
    assert lead is not None
    contrary_lead = finding.above if hidden.fewer else finding.below
    sentence = _acr_clause(finding)
    if finding.acr_shown and contrary_lead is not None:
        sentence += SO_IS_THE_CURVE.format(lead=_lead_words(contrary_lead))
    sentence += "; " + HIDDEN.format(
        count="fewer" if hidden.fewer else "more",
        lead=_radii_of_lead(lead),
        name=finding.first,
        share=_percent(hidden.first),
        other_share=_percent(hidden.second),
        where=_radii_words(hidden.radius, hidden.radius),
    )

    contrary = "more" if hidden.fewer else "fewer"
    if contrary_lead is None:
        sentence += NO_CONTRARY.format(count=contrary)
    elif not finding.acr_shown:
        sentence += CONTRARY.format(count=contrary, lead=_lead_words(contrary_lead))
    if finding.crossings:
        radii = " and ".join(f"{radius:g}" for radius in finding.crossings)
        sentence += CROSSINGS.format(radii=radii)
    return sentence


def _percent(share: float) -> str:
    """Print a share in percent, as the tables of a report do."""
    return half_up(100.0 * share, decimals=1)


def _lead_words(lead: Lead | None) -> str:
    """Return "from r = 0 to 0.31 by up to 9.1 points"; an empty text without a lead."""
    if lead is None:
        return ""
    most = half_up(lead.most, decimals=1)
    return f"{_radii_of_lead(lead)} by up to {most} points"


def _radii_of_lead(lead: Lead) -> str:
    """Return the radii of a lead in words, and whether nothing is shown at some."""
    gaps = " (with gaps)" if lead.gaps else ""
    return f"{_radii_words(lead.low, lead.high)}{gaps}"


def _radii_words(low: float, high: float) -> str:
    """Return "from r = 0 to 0.31", or "at r = 0.31" where both ends are equal."""
    # A stretch prints its radii, and never its sign, `ahead`. That there are gaps is
    # told by `_radii_of_lead`, in brackets.
    return str(metrics.Stretch(low, high, ahead=True, gaps=False))


def _shown_name(table: Certificates) -> str:
    """Return the name of a table, safe to print and of a readable length."""
    return shortened(printable(table.name).strip()) or "a table"


def _possessive(name: str) -> str:
    """Return `macer's` for `macer`, `rs'` for `rs`."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _distinct_figures(one: float, other: float) -> tuple[str, str]:
    """Print both figures with as few decimals as make the texts differ, if any do."""
    for decimals in range(FEWEST_ACR_DECIMALS, MOST_ACR_DECIMALS + 1):
        one_printed = f"{one:.{decimals}f}"
        other_printed = f"{other:.{decimals}f}"
        if one_printed != other_printed:
            return one_printed, other_printed
    return f"{one:.{FEWEST_ACR_DECIMALS}f}", f"{other:.{FEWEST_ACR_DECIMALS}f}"
