"""The bounds and the numbers of samples that a rule may be asked for, checked without importing any rule."""

from __future__ import annotations

from numbers import Integral
from typing import Literal, get_args

from randsmooth.documents import shown
from randsmooth.errors import InputError

ConfidenceBound = Literal["clopper-pearson", "two-sided", "pairwise", "randomised", "any-class"]
CONFIDENCE_BOUNDS: tuple[ConfidenceBound, ...] = get_args(ConfidenceBound)
ANY_CLASS: ConfidenceBound = "any-class"

MOST_SAMPLES = 10**9  # more than anybody would draw of one image
MOST_WATCHED = 10**7  # of a rule that looks on the way: e-processes are accurate so far, and tables take seconds


def check_samples(name: str, n: object, most: int = MOST_SAMPLES, *, least: int = 1) -> None:
    """Raise InputError unless `n`, called `name`, is a whole number of samples from `least` to `most`.

    Example:
        >>> check_samples("n0", 100)
        >>> check_samples("n0", 0)
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: n0=0 must be a whole number of samples from 1 to 1,000,000,000; ...
    """
    if isinstance(n, bool) or not isinstance(n, Integral) or not least <= int(n) <= most:
        said = f"{name}={shown(repr(n))} must be a whole number of samples from {least} to {most:,}"
        raise InputError(f"{said}; n0=100, n=100000 are usual")
