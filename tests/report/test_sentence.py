"""The sentence about ACR: each case it can meet, and no claim that chance could make."""

from dataclasses import replace
from typing import Any

import numpy as np

from models.refusing import problem_of
from randsmooth import metrics
from randsmooth.certificates import Certificates, Header, from_evidence
from randsmooth.errors import NotComparable
from randsmooth.noise import Deviations, Noise
from randsmooth.report import what_acr_hides
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
CASES: dict[str, tuple[Any, ...]] = {
    "higher, crosses": (
        [0.1, 0.2, 0.999, 0.999],
        PLAIN,
        "higher",
        "below",
        "above it",
        "ACR hides that fewer images",
    ),
    "lower, crosses": (
        [0.62, 0.62, 0.62, 0.62],
        PLAIN,
        "lower",
        "below",
        "above it",
        "ACR hides that more images",
    ),
    "higher, above": (
        [0.4, 0.7, 0.8, 0.9],
        PLAIN,
        "higher",
        "above",
        "nowhere shown below it",
        "bears ACR out",
    ),
    "lower, below": (
        [0.2, 0.4, 0.6, 0.7],
        PLAIN,
        "lower",
        "below",
        "nowhere shown above it",
        "bears ACR out",
    ),
    "unsure, below": (
        SWAPPED,
        MIXED,
        "cannot be told with 400 images",
        "below",
        "nowhere shown above it",
        "ACR hides that fewer",
    ),
    "unsure, above": (
        MIXED,
        SWAPPED,
        "cannot be told with 400 images",
        "above",
        "nowhere shown below it",
        "ACR hides that more",
    ),
    "same, same": (
        PLAIN,
        PLAIN,
        "have the same ACR",
        "the same from",
        "do not tell",
        "apart",
    ),
    "same, where it counts": (
        [0.1, 0.6, 0.7, 0.8],
        PLAIN,
        "have the same ACR",
        "the same from",
        "do not tell",
    ),
}


def test_each_case_is_said() -> None:
    for case, (first, second, *parts) in CASES.items():
        sentence = what_acr_hides(of_p_a("Amplify", first), of_p_a("Gaussian", second))
        assert all(part in sentence for part in parts), (case, sentence)
        assert (
            sentence.endswith(".")
            and ". " not in sentence
            and "\n" not in sentence
            and sentence[0].isupper()
        )


def test_the_figures_are_right() -> None:
    amplify, gaussian = (
        of_p_a("Amplify", [0.1, 0.2, 0.999, 0.999]),
        of_p_a("Gaussian", PLAIN),
    )
    sentence = what_acr_hides(amplify, gaussian)
    # Gaussian has 3 of 4 parts at r = 0, then 2 of 4 as Amplify has throughout, then 1, then none
    # As the verdict prints them.
    low, high, _ = metrics.verdict(amplify, gaussian).crossings[0].rounded
    assert f"below Gaussian's from r = 0 to {low:g} by up to 25.0 points" in sentence
    assert (
        f"above it from r = {high:g} to " in sentence
        and "by up to 50.0 points" in sentence
    )
    assert "certified at r = 0 under Amplify (50.0% against 75.0%)" in sentence


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
