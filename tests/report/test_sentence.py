"""The sentence about ACR: each case it can meet, and no claim that chance could make."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from models.refusing import problem_of
from randsmooth import metrics
from randsmooth.certificates import Certificates, Header, from_evidence
from randsmooth.errors import NotComparable
from randsmooth.noise import Deviations, Noise
from randsmooth.report import what_acr_hides
from randsmooth.report.findings import FindingKind, acr_finding
from randsmooth.report.page.summary import sentences
from randsmooth.report.sheet import build_sheet
from report.conftest import Make
from values import Refusal


def of_p_a(
    name: str, shares: list[float], n: int = 1000, noise: Noise | None = None
) -> Certificates:
    """A two-class table of 400 images, an equal part at each of the p_A given."""
    k = np.repeat(np.rint(np.array(shares) * n).astype(np.int64), 400 // len(shares))
    counts = np.stack([k, n - k], axis=1)
    zeros = np.zeros(len(k), np.int64)
    header = Header(sigma=0.5, n0=n, n=n, alpha=0.001)
    if noise is not None:
        header = header.replace(noise=noise)
    seconds = np.zeros(len(k))
    of: dict[str, Any] = {"counts0": counts, "counts": counts, "seconds": seconds}
    return from_evidence(header, name=name, idx=np.arange(len(k)), label=zeros, **of)


PLAIN = [0.3, 0.6, 0.7, 0.8]
MIXED = [0.58, 0.3, 0.7, 0.7, 0.9, 0.9, 0.6, 0.6]
SWAPPED = [
    0.3,
    0.3,
    0.9,
    0.9,
    0.7,
    0.7,
    0.6,
    0.6,
]  # far radii change hands, which drowns the near ones that are lost


@dataclass(frozen=True)
class Case:
    """Two tables by their p_A, and the finding about them."""

    first: list[float]
    second: list[float]
    kind: FindingKind
    acr_shown: int
    below: bool
    above: bool
    hides_fewer: bool | None = None


CASES = {
    "higher, crosses": Case(
        [0.1, 0.2, 0.999, 0.999], PLAIN, FindingKind.HIDDEN, 1, True, True, True
    ),
    "lower, crosses": Case(
        [0.62, 0.62, 0.62, 0.62], PLAIN, FindingKind.HIDDEN, -1, True, True, False
    ),
    "higher, above": Case(
        [0.4, 0.7, 0.8, 0.9], PLAIN, FindingKind.CONFIRMED, 1, False, True
    ),
    "lower, below": Case(
        [0.2, 0.4, 0.6, 0.7], PLAIN, FindingKind.CONFIRMED, -1, True, False
    ),
    "unsure, below": Case(SWAPPED, MIXED, FindingKind.HIDDEN, 0, True, False, True),
    "unsure, above": Case(MIXED, SWAPPED, FindingKind.HIDDEN, 0, False, True, False),
    "same, same": Case(PLAIN, PLAIN, FindingKind.UNDECIDED, 0, False, False),
    "same, where it counts": Case(
        [0.1, 0.6, 0.7, 0.8], PLAIN, FindingKind.UNDECIDED, 0, False, False
    ),
}


def test_each_case_is_found_and_told_in_one_sentence() -> None:
    for name, case in CASES.items():
        finding = acr_finding(
            of_p_a("Amplify", case.first), of_p_a("Gaussian", case.second)
        )
        assert (finding.kind, finding.acr_shown) == (case.kind, case.acr_shown), name
        leads = (finding.below is not None, finding.above is not None)
        assert leads == (case.below, case.above), name
        fewer = None if finding.hidden is None else finding.hidden.fewer
        assert fewer == case.hides_fewer, name
        assert bool(finding.crossings) == (case.below and case.above), name

        sentence = str(finding)
        assert sentence.endswith(".") and sentence[0].isupper(), name
        assert ". " not in sentence and "\n" not in sentence, name


def test_the_figures_are_right() -> None:
    amplify = of_p_a("Amplify", [0.1, 0.2, 0.999, 0.999])
    gaussian = of_p_a("Gaussian", PLAIN)
    finding = acr_finding(amplify, gaussian)
    # Gaussian has 3 of 4 parts at r = 0, then 2 of 4 as Amplify has throughout, then 1, then none
    low, high, radius = metrics.verdict(amplify, gaussian).crossings[0].rounded
    assert finding.below is not None and finding.above is not None
    assert (finding.below.low, finding.below.high) == (0.0, low)
    assert finding.below.most == pytest.approx(25.0)
    assert finding.above.low == high
    assert finding.above.most == pytest.approx(50.0)
    assert finding.hidden is not None and finding.hidden.radius == 0.0
    assert (finding.hidden.first, finding.hidden.second) == (0.5, 0.75)
    assert finding.crossings == (radius,)
    for printed in (f"{low:g}", f"{high:g}", f"{radius:g}", "50.0%", "75.0%"):
        assert printed in str(finding)


def test_a_name_keeps_its_case_and_radii_their_unit() -> None:
    noise = Deviations(0.25).noise_for([2.0, 40.0])
    one, other = (of_p_a(name, PLAIN, noise=noise) for name in ("plain", "other"))
    assert what_acr_hides(one, other).startswith("plain and other have the same ACR")
    unit = "r is the radius in standard deviations of each feature."
    assert unit in sentences(build_sheet([one, other]))


def test_it_says_what_was_judged_together(make: Make) -> None:
    tables = [
        make("gaussian"),
        make("polar", seed=1, a=0.8, b=0.4),
        make("c", seed=2),
        make("d", seed=3),
    ]
    alone = what_acr_hides(tables[1], tables[0])
    together = metrics.compare([(table, tables[0]) for table in tables[1:]])[0]
    assert alone != what_acr_hides(
        tables[1], tables[0], together
    )  # more is judged, so less is shown
    assert "compared through r = " in what_acr_hides(make("A"), make("B", sigma=0.25))


def test_chance_is_seldom_called_a_difference(make: Make) -> None:
    said = [
        what_acr_hides(make("A", seed=2 * seed), make("B", seed=2 * seed + 1))
        for seed in range(40)
    ]
    claims = [
        sum(word not in sentence for sentence in said)
        for word in ("cannot be told with", "nowhere different")
    ]
    assert max(claims) <= 40 * (0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 40))


def test_what_cannot_be_compared_is_refused(make: Make) -> None:
    Refusal(NotComparable).check(
        problem_of(lambda: what_acr_hides(make(), make(images=20)))
    )
    one = make("one")
    one = replace(one, header=one.header.replace(rule="radius=0.25"))
    problem = problem_of(lambda: what_acr_hides(make(), one))
    Refusal(NotComparable, "0.25").check(problem)
