"""The p_A of the released CIFAR-10 logs at sigma 0.5, and where their curves cross; tests/papers has their figures."""

from pathlib import Path

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates, read

# share of images with p_A >= 0.5, 0.75, 0.9, 0.99
P_A = {
    "gaussian": (0.6875, 0.5433, 0.3972, 0.1933),
    "smoothadv": (0.6641, 0.5616, 0.4647, 0.3074),
    "catrs": (0.6229, 0.5487, 0.4732, 0.3534),
    "ours": (0.5927, 0.5329, 0.4676, 0.3596),
}


def table(logs: Path, method: str) -> Certificates:
    return read(logs / f"{method}.tsv").assuming(sigma=0.5, n=100_000, alpha=0.001)


def test_p_a(logs: Path) -> None:
    for method, shares in P_A.items():
        found = metrics.p_a_curve(table(logs, method), np.array([0.4, 0.5, 0.75, 0.9, 0.99]))
        np.testing.assert_allclose(found, [np.nan, *shares], rtol=0, atol=0.001, err_msg=method)


# By the p_A curves' change of sign, each with a bootstrap interval, as they were published here before.
CROSSINGS = {"catrs": 0.307, "consistency": 0.273, "macer": 0.297, "ours": 0.371, "smoothadv": 0.197}


def test_all_cross_gaussian(logs: Path) -> None:
    gaussian = table(logs, "gaussian")
    for one in metrics.compare([(table(logs, method), gaussian) for method in CROSSINGS]):
        assert one.verdict is not None and one.verdict.outcome == metrics.CROSSES
        (crossing,) = one.verdict.crossings
        assert crossing.radius == pytest.approx(CROSSINGS[one.a], abs=0.01) and crossing.ahead
        assert crossing.low < crossing.radius < crossing.high


def test_ours_is_not_worse_than_catrs_everywhere(logs: Path) -> None:
    ours, catrs = table(logs, "ours"), table(logs, "catrs")
    (compared,) = metrics.compare([(ours, catrs)], [1.25], draws=10)
    at = compared.at(1.25)
    assert at is not None and (at.only_a, at.only_b) == (497, 358)
    (one,) = metrics.compare([(ours, catrs)], [1.25, 1.5, 1.75])
    assert one.verdict is not None and one.verdict.outcome == metrics.CROSSES
    assert [point.shown for r in (1.25, 1.5, 1.75) if (point := one.at(r))] == [1, 1, 1]
