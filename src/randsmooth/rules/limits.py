"""The bounds that a user may ask for, and how many samples.

This loads no NumPy.
"""

from numbers import Integral
from typing import Literal, get_args

from randsmooth.documents import shown
from randsmooth.errors import BadValue

ConfidenceBound = Literal[
    "clopper-pearson", "two-sided", "pairwise", "randomised", "any-class"
]
CONFIDENCE_BOUNDS: tuple[ConfidenceBound, ...] = get_args(ConfidenceBound)
ANY_CLASS: ConfidenceBound = "any-class"

# The most samples of an image: more than anybody would draw.
MOST_SAMPLES = 10**9

# The most samples of an image under a rule that looks on the way: e-processes are accurate
# so far, and tables take seconds.
MOST_WATCHED = 10**7


def check_samples(
    name: str, n: object, most: int = MOST_SAMPLES, *, least: int = 1
) -> None:
    """Check that `n`, called `name`, is a whole number of samples from `least` to `most`.

    Raises:
        BadValue: it is not.

    Example:
        >>> check_samples("n0", 100)
        >>> check_samples("n0", 0)
        Traceback (most recent call last):
        ...
        randsmooth.errors.BadValue: n0=0 must be a whole number of samples from 1 to 1,000,000,000; ...
    """
    is_whole = isinstance(n, Integral) and not isinstance(n, bool)
    if is_whole and least <= int(n) <= most:  # type: ignore[call-overload]
        return
    raise BadValue(
        f"{name}={shown(repr(n))} must be a whole number of samples from {least} to "
        f"{most:,}; n0=100, n=100000 are usual"
    )
