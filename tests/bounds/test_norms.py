"""Radii in other norms: sampled perturbations stay inside the L2 ball, and the corners touch it."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from randsmooth.bounds.norms import l1_radius, linf_radius
from randsmooth.errors import InputError


def test_two_255ths_on_cifar_need_an_l2_radius_of_0435() -> None:
    assert linf_radius(0.4347, 3072) == pytest.approx(2.0 / 255.0, rel=1e-3)


@pytest.mark.parametrize("d", [1, 2, 7, 3072])
def test_both_balls_lie_in_the_l2_ball_and_touch_it(d: int) -> None:
    r, rng = 0.8, np.random.default_rng(1)
    cube = rng.uniform(-1.0, 1.0, (1000, d)) * linf_radius(r, d)
    diamond = rng.dirichlet(np.full(d, 0.1), 1000) * l1_radius(r)
    for ball in (cube, diamond):
        assert np.all(np.linalg.norm(ball, axis=1) <= r * (1.0 + 1e-12))
    assert np.linalg.norm(np.full(d, linf_radius(r, d))) == pytest.approx(r)
    assert np.linalg.norm(l1_radius(r) * np.eye(d)[0]) == pytest.approx(r)
    outside = np.full(d, 1.001 * linf_radius(r, d))
    assert np.linalg.norm(outside) > r  # no larger cube fits


def test_shapes_are_kept_and_one_dimension_changes_nothing() -> None:
    r = np.array([[0.0, 0.5], [1.0, 2.0]])
    np.testing.assert_array_equal(linf_radius(r, 1), r)
    np.testing.assert_array_equal(l1_radius(r), r)
    np.testing.assert_array_equal(linf_radius(r, 4), r / 2.0)


@pytest.mark.parametrize("r", [-0.1, math.nan, math.inf])
@pytest.mark.parametrize("call", [partial(linf_radius, d=3), l1_radius])
def test_a_radius_that_is_none_is_named(call: Callable[[list[float]], object], r: float) -> None:
    with pytest.raises(InputError, match=f"radius {r} "):
        call([0.1, r])


def test_a_dimension_below_one_is_named() -> None:
    with pytest.raises(InputError, match="d=0"):
        linf_radius(0.1, 0)
