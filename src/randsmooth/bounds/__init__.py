"""The statistics of certification: NumPy and SciPy only."""

from randsmooth.bounds.binomial import (
    check_alpha,
    check_counts,
    lower,
    lower_tail,
    smallest_n,
    successes_of_tail,
    two_sided_p_value,
    upper,
)
from randsmooth.bounds.radius import check_sigma, largest_radius, radius, radius_of_tail, round_down, tail_of_radius

__all__ = [
    "check_alpha",
    "check_counts",
    "check_sigma",
    "largest_radius",
    "lower",
    "lower_tail",
    "radius",
    "radius_of_tail",
    "round_down",
    "smallest_n",
    "successes_of_tail",
    "tail_of_radius",
    "two_sided_p_value",
    "upper",
]
