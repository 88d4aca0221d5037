"""The paired difference of ACR on tables built to have known answers."""

from collections.abc import Callable

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError

Make = Callable[..., Certificates]


def test_acr_difference_is_the_difference_of_the_acrs(counted: Make) -> None:
    rng = np.random.default_rng(1)
    first, second = (counted(rng.integers(0, 1001, 200)) for _ in range(2))
    gap = metrics.acr_difference(first, second)
    assert gap.value == pytest.approx(metrics.acr(first).value - metrics.acr(second).value, abs=1e-12)
    assert gap.low < gap.value < gap.high


def test_acr_difference_is_paired(counted: Make) -> None:
    hits = np.random.default_rng(2).integers(500, 1000, 200)
    gap = metrics.acr_difference(counted(hits + 1), counted(hits))
    alone = metrics.acr(counted(hits))
    assert gap.low > 0.0  # a small gain on every image shows, though each ACR alone is far less certain
    assert gap.high - gap.low < (alone.high - alone.low) / 10


def test_a_wrong_image_counts_nothing_in_the_difference(log: Make) -> None:
    gap = metrics.acr_difference(log([(0, 0, 1.0), (1, 0, 9.0)]), log([(0, 0, 0.5), (1, -1, 0.0)]))
    assert gap.value == 0.25


@pytest.mark.parametrize("compare", [metrics.verdict, metrics.acr_difference])
@pytest.mark.parametrize("other", [[(0, 0, 1.0)], [(0, 0, 1.0), (0, 0, 1.0)]])
def test_other_images_are_refused(
    log: Make, compare: Callable[[Certificates, Certificates], object], other: list[tuple[int, int, float]]
) -> None:
    table = log([(0, 0, 1.0), (1, 1, 1.0)], name="A", sigma=0.5, n=1000, alpha=0.001)
    with pytest.raises(InputError, match=r"A \(2 images\) and B \(\d images\) are not about the same images"):
        compare(table, log(other, name="B", sigma=0.5, n=1000, alpha=0.001))
