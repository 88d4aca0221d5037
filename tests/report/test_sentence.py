"""The sentence about ACR: each case it can meet, and no claim that chance could make."""

from collections.abc import Callable

import numpy as np
import pytest

from randsmooth.certificates import Certificates, Header, from_counts
from randsmooth.errors import InputError
from randsmooth.report import what_acr_hides

Make = Callable[..., Certificates]


def of_p_a(name: str, shares: list[float], n: int = 1000) -> Certificates:
    """A two-class table of 400 images, an equal part at each of the p_A given."""
    k = np.repeat(np.rint(np.array(shares) * n).astype(np.int64), 400 // len(shares))
    counts = np.stack([k, n - k], axis=1)
    zeros = np.zeros(len(k), np.int64)
    header = Header(sigma=0.5, n0=n, n=n, alpha=0.001)
    return from_counts(
        header, idx=np.arange(len(k)), label=zeros, counts0=counts, counts=counts, seconds=zeros * 1.0, name=name
    )


PLAIN = [0.3, 0.6, 0.7, 0.8]
CASES = {
    "higher, crosses": ([0.1, 0.2, 0.999, 0.999], "higher", "below", "above it", "ACR hides that fewer images"),
    "lower, crosses": ([0.62, 0.62, 0.62, 0.62], "lower", "below", "above it", "ACR hides that more images"),
    "higher, above": ([0.4, 0.7, 0.8, 0.9], "higher", "above", "not below it", "bears ACR out"),
    "lower, below": ([0.2, 0.5, 0.6, 0.7], "lower", "below", "not above it", "bears ACR out"),
    "same, below": ([0.1, 0.6, 0.7, 0.8], "have the same ACR", "below", "not above it", "ACR hides that fewer"),
    "same, above": ([0.45, 0.6, 0.7, 0.8], "have the same ACR", "above", "not below it", "ACR hides that more"),
    "same, same": (PLAIN, "have the same ACR", "coincide", "do not tell", "apart"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_case_is_said(case: str) -> None:
    shares, *parts = CASES[case]
    sentence = what_acr_hides(of_p_a("Amplify", shares), of_p_a("Gaussian", PLAIN))
    for part in parts:
        assert part in sentence, sentence
    assert sentence.endswith(".") and ". " not in sentence and "\n" not in sentence
    assert sentence[0].isupper()


def test_the_figures_are_right() -> None:
    sentence = what_acr_hides(of_p_a("Amplify", [0.1, 0.2, 0.999, 0.999]), of_p_a("Gaussian", PLAIN))
    # Gaussian has 3 of 4 parts from 0.31 to 0.60, Amplify 2 of 4; above 0.70 it is 2 against 1, above 0.80 none.
    assert "below Gaussian's from p_A = 0.11 to 0.60 by up to 50.0 points" in sentence
    assert "above it from p_A = 0.71 to 0.99 by up to 50.0 points" in sentence
    assert "reach p_A = 0.21 under Amplify (50.0% against 100.0%)" in sentence


def test_chance_is_seldom_called_a_difference(make: Make) -> None:
    said = [what_acr_hides(make("A", seed=2 * seed), make("B", seed=2 * seed + 1)) for seed in range(40)]
    allowed = 40 * (0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 40))
    assert sum("do not differ beyond chance" not in sentence for sentence in said) <= allowed
    assert sum("differ nowhere beyond chance" not in sentence for sentence in said) <= allowed


def test_figures_that_print_alike_get_more_digits(log: Make) -> None:
    facts = {"sigma": 0.5, "n": 1000, "alpha": 0.001}
    first, second = log([0.50003] * 50, "A", **facts), log([0.50001] * 50, "B", **facts)
    assert "(0.50003 against 0.50001)" in what_acr_hides(first, second)


def test_a_log_limits_the_claim_and_odd_names_read_well(log: Make) -> None:
    facts = {"sigma": 0.5, "n": 1000, "alpha": 0.001}
    sentence = what_acr_hides(log([1.0] * 40, "ours", **facts), log([0.2] * 40, "", **facts))
    assert sentence.startswith("ours' ACR is higher than the second table's")
    assert sentence.endswith("p_A below 1/2 is not in the logs.")


def test_what_cannot_be_compared_is_refused(make: Make, log: Make) -> None:
    with pytest.raises(InputError, match="same images"):
        what_acr_hides(make(), make(images=20))
    with pytest.raises(InputError, match="sigma, n and alpha"):
        what_acr_hides(log([1.0, 2.0]), log([1.0, 1.0]))
