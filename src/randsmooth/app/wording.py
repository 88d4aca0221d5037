"""The words of pages for a noise, for lengths in its norm, and for shares."""

import math
from collections.abc import Sequence

from randsmooth.escape import printable, shortened
from randsmooth.metrics import Estimate
from randsmooth.noise import (
    NORMS,
    Gaussian,
    Noise,
    PerFeature,
    linf_radius,
    printed_radius,
    round_down,
)

# Steps from black to white in an image file.
LEVELS = 255
# The most characters of the name of a class in a sentence.
LONGEST_NAME = 40
# The fewest and the most decimals of a share, which has as many as tell it from 1.
FEWEST_PLACES = 4
MOST_PLACES = 9
# Less than any difference that matters, more than what floats are rounded by.
ROUNDING = 1e-9


def class_name(classes: Sequence[str], k: int) -> str:
    """Return the name of class `k` for a sentence; its number if it has no name."""
    name = classes[k] if 0 <= k < len(classes) else str(k)
    return shortened(printable(name), LONGEST_NAME)


def noise_words(noise: Noise) -> str:
    """Return a short name of the noise, such as its sigma.

    Example:
        >>> noise_words(Gaussian(0.5))
        'σ = 0.5'
    """
    if isinstance(noise, PerFeature):
        return f"σ = {noise.times:g} {NORMS[noise.norm].label}"
    if isinstance(noise, Gaussian):
        return f"σ = {noise.sigma:g}"
    return noise.text


def norm_words(noise: Noise) -> str:
    """Return the norm of radii, as it stands before a length or a radius: L2."""
    norm = NORMS[noise.norm]
    return "weighted L2" if norm.own_units else norm.label


def length_unit(noise: Noise) -> str:
    """Return the unit of a length, as it stands after the length.

    It is empty unless each coordinate has a unit of its own.

    Example:
        >>> import numpy as np
        >>> length_unit(PerFeature(np.array([0.5, 10.0]), 0.25))
        ' (in standard deviations of each feature)'
        >>> length_unit(Gaussian(0.5))
        ''
    """
    norm = NORMS[noise.norm]
    return f" (in {norm.label})" if norm.own_units else ""


def within(noise: Noise, radius: float) -> str:
    """Return which changes a radius covers, as it goes on after "no change of it".

    Example:
        >>> from randsmooth.noise import Ablation, Uniform
        >>> within(Uniform(0.6), 0.592), within(Ablation(45), 3.0)
        ('with L1 norm below 0.59', 'in at most 3 places')
    """
    norm = NORMS[noise.norm]
    if noise.counts_words:
        return f"that replaces at most {radius:.0f} words by others"
    if norm.whole:
        return f"in at most {radius:.0f} places"
    units = f", in {norm.label}," if norm.own_units else ""
    return f"with {_unweighted(noise)} norm below {printed_radius(radius)}{units}"


def distance_inside(noise: Noise, distance: float, radius: float) -> str:
    """Return the distance of a point inside a ball, which is below its printed radius.

    It has one decimal more than the radius, and is rounded down.

    Example:
        >>> from randsmooth.noise import Ablation
        >>> distance_inside(Gaussian(0.5), 0.62999, 0.6318)
        '0.629'
        >>> distance_inside(Ablation(45), 3.0, 3.0)
        '3'
    """
    if NORMS[noise.norm].whole:
        return f"{distance:.0f}"
    _, _, decimals = printed_radius(radius).partition(".")
    return str(round_down(distance, len(decimals) + 1))


def _unweighted(noise: Noise) -> str:
    """Return the norm of radii, as it stands in a sentence that also names the units."""
    return norm_words(noise).removeprefix("weighted ")


def examples(noise: Noise, radius: float, d: int) -> str:
    """Return in words some changes of an image that are smaller than the radius.

    It is empty in Linf, and where each value has a unit of its own.

    In L2 a change of all d values by c has the norm c sqrt(d), one of a single value by
    c the norm c, and one of k values from black to white sqrt(k). In L1 these are c d,
    c and k.

    Args:
        noise: the noise of the certificate.
        radius: the certified radius; it counts as it is printed, rounded down.
        d: the number of values of the image, each in 255 steps from black to white.

    Example:
        >>> from randsmooth.noise import Ablation, Gaussian, Uniform
        >>> examples(Gaussian(0.5), 0.62, 64)
        'every value by 19.7 of 255 levels, or a single value by 158 of 255 levels'
        >>> examples(Uniform(2.0), 1.5, 64)
        'a single value from black to white'
        >>> examples(Ablation(45), 3.0, 64)
        '3 pixels, to any colours'
    """
    norm = NORMS[noise.norm]
    if norm.whole:
        return f"{radius:.0f} pixels, to any colours"
    if norm.own_units or norm.power == math.inf:
        return ""
    radius = float(printed_radius(radius))
    # How many values may go from black to white: the largest k with k^(1/p) < radius.
    whole_values = min(d, math.ceil(radius**norm.power) - 1)
    few = _change_of_few(whole_values, radius)

    # By how much every value may change, rounded down to a tenth of a level.
    tenths = math.floor(LEVELS * float(linf_radius(radius, d)) * 10 - ROUNDING)
    # In L1, a change of every value would be too small to tell.
    if norm.power == 1 or tenths < 1:
        return few
    if whole_values == d:
        return "every value from black to white"
    return f"every value by {tenths / 10:.1f} of {LEVELS} levels, or {few}"


def _change_of_few(whole_values: int, radius: float) -> str:
    """Return in words a change of so many values from black to white.

    If there is none, return how far a single value may change.
    """
    if whole_values > 1:
        return f"{whole_values} values from black to white"
    if whole_values == 1:
        return "a single value from black to white"
    levels = max(0, math.floor(LEVELS * radius - ROUNDING))
    return f"a single value by {levels} of {LEVELS} levels"


def unit_of_features(noise: Noise) -> str:
    """Return the norm of a change of features, and its unit.

    Example:
        >>> unit_of_features(Gaussian(0.5))
        "L2 norm, in the features' own units"
    """
    norm = NORMS[noise.norm]
    if norm.whole:
        return "features that change"
    unit = norm.label if norm.own_units else "the features' own units"
    return f"{_unweighted(noise)} norm, in {unit}"


def examples_of_features(noise: Noise, radius: float, d: int) -> str:
    """Return in words some changes of `d` features that are smaller than `radius`.

    Example:
        >>> import numpy as np
        >>> examples_of_features(PerFeature(np.ones(25), times=0.5), 0.5, 25)
        'one feature by 0.50 of its standard deviation, or each of the 25 by 0.10 of ...'
        >>> examples_of_features(Gaussian(0.5), 0.5, 25)
        'one feature by 0.50, or each of the 25 by 0.10'
    """
    norm = NORMS[noise.norm]
    if norm.whole:
        return f"{radius:.0f} features, to any values"
    # By how much one feature alone may change, and by how much each of all may.
    alone = printed_radius(radius)
    if norm.power == math.inf:
        return f"each of the {d} features by {alone}"
    together = printed_radius(norm.of_each(radius, d))
    if not norm.own_units:
        return f"one feature by {alone}, or each of the {d} by {together}"
    # The unit of a feature is its standard deviation, or that of its noise.
    if isinstance(noise, PerFeature):
        return (
            f"one feature by {alone} of its standard deviation, or each of the {d} by "
            f"{together} of its own"
        )
    return (
        f"one feature by {alone} of that of the noise, or each of the {d} by "
        f"{together} of it"
    )


def share_rounded_down(share: float) -> str:
    """Return a lower bound on a probability as digits, rounded down.

    It has as many decimals as tell it from 1, from 4 to 9.

    Example:
        >>> share_rounded_down(0.97316), share_rounded_down(0.9999309)
        ('0.9731', '0.999930')
    """
    places = FEWEST_PLACES
    if share > 0.999:
        # One decimal more than there are nines after the point.
        distance = max(ROUNDING, 1.0 - share)
        places = min(MOST_PLACES, 1 - math.floor(math.log10(distance)))
    return str(round_down(share, places))


def percent(estimate: Estimate | float) -> str:
    """Return a share in whole percent: 100% only for all, and 0% only for none.

    Example:
        >>> percent(0.974), percent(0.9996), percent(0.001), percent(1.0)
        ('97%', '>99%', '<1%', '100%')
    """
    share = estimate.value if isinstance(estimate, Estimate) else estimate
    # These would be rounded to 0% and to 100%.
    if 0.0 < share < 0.005:
        return "<1%"
    if 0.995 <= share < 1.0:
        return ">99%"
    return f"{share:.0%}"
