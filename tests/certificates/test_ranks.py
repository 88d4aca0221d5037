"""Rank correlation in NumPy, against SciPy's."""

import numpy as np
import pytest
from scipy import stats

from randsmooth.certificates.logs.ranks import rank_correlation, ranks


@pytest.mark.parametrize("digits", [1, 2, 9])
def test_ranks_and_their_correlation_are_scipys(digits: int) -> None:
    """With one digit most values are equal to others."""
    rng = np.random.default_rng(digits)
    a = rng.random(300).round(digits)
    b = (a + rng.random(300)).round(digits)
    assert ranks(a).tolist() == stats.rankdata(a).tolist()
    expected = stats.spearmanr(a, b).statistic
    assert rank_correlation(a, b) == pytest.approx(expected, abs=1e-11)
