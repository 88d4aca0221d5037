"""The schedule of looks: geometric, in whole batches, and ending exactly at the cap."""

import math
from fractions import Fraction

import numpy as np

from randsmooth.bounds.schedule import looks


def test_looks_are_the_powers_rounded_up_in_exact_arithmetic() -> None:
    for first, grain in [(32, 32), (32, 1), (100, 256), (1, 1)]:
        for ratio in ["1.1", "1.25", "2"]:
            for cap in [1, 10, 31, 32, 33, 1000, 9_999, 100_000, 1_000_000]:
                expected, power = {cap}, Fraction(first)
                while power < cap:
                    rounded = math.ceil(power / grain) * grain
                    expected |= {rounded} if rounded < cap else set()
                    power *= Fraction(ratio)
                n = looks(cap, ratio=float(ratio), first=first, grain=grain)
                assert n.dtype == np.int64 and n.tolist() == sorted(expected), (first, grain, ratio, cap)


def test_looks_by_hand() -> None:
    assert looks(300, ratio=2.0).tolist() == [32, 64, 128, 256, 300]
    assert looks(256, ratio=2.0).tolist() == [32, 64, 128, 256]
    assert looks(100, ratio=1.25).tolist() == [32, 64, 96, 100]  # 32, 40, 50, 62.5, 78.1, 97.7
    assert looks(20).tolist() == [20]
    assert looks(14, ratio=1.1, first=10, grain=1).tolist() == [10, 11, 13, 14]  # 10 * 1.1 is 11, not 12
