"""The sampling weights of Sun et al. 2025, section 5.2."""

import itertools

import pytest
import torch
from scipy import stats

from randsmooth import methods
from randsmooth.methods.amplify import image_weights

ALL = torch.arange(17)  # every count of 16 noises


def bound(count: int, noises: int, alpha: float) -> float:
    """One-sided Clopper-Pearson, from SciPy."""
    return 0.0 if count == 0 else float(stats.beta.ppf(alpha, count, noises - count + 1))


def weights(counts: torch.Tensor, **hyper: object) -> torch.Tensor:
    return image_weights(methods.create("amplify", **hyper), counts)  # type: ignore[arg-type]


def test_the_published_setting() -> None:
    found = weights(ALL)
    assert found.dtype == torch.float64
    assert found[:13].tolist() == [1.0] * 13
    assert found[13:].tolist() == pytest.approx([2.138, 3.420, 4.976, 7.206], abs=5e-4)


def test_the_formula() -> None:
    for weight, alpha in itertools.product(("bound", "literal"), (0.05, 0.1, 0.2)):
        least = 0.75 if weight == "literal" else bound(12, 16, alpha)
        expected = [max(1.0, stats.norm.ppf(bound(c, 16, alpha)) / stats.norm.ppf(least)) for c in range(17)]
        assert weights(ALL, weight=weight, reweight_alpha=alpha).tolist() == pytest.approx(expected, rel=1e-12)


# 0.55 * 100 is 55.00000000000001 and 0.58 * 100 is 57.99999999999999 in floating point.
LEAST = [(0.75, 16, 12), (0.76, 16, 13), (0.7, 10, 7), (0.55, 100, 55), (0.56, 100, 56), (0.58, 100, 58), (1.0, 16, 16)]


def test_the_smallest_count_that_weighs_is_exact() -> None:
    for p_min, noises, least in LEAST:
        found = weights(torch.arange(noises + 1), p_min=p_min, reweight_noises=noises, reweight_alpha=0.3)
        assert found[: least + 1].tolist() == [1.0] * (least + 1), (p_min, noises)
        assert bool((found[least + 1 :] > 1.0).all()), (p_min, noises)
