"""The statistics of certification: NumPy and SciPy, and a folder to keep tables in."""

from randsmooth.bounds.assured import assured, cohen_assured
from randsmooth.bounds.binomial import (
    check_alpha,
    check_counts,
    check_level,
    lower,
    lower_tail,
    smallest_n,
    successes_of_tail,
    two_sided_p_value,
    upper,
)
from randsmooth.bounds.boundary import Boundary, boundary, crossing_probability, smallest_cap
from randsmooth.bounds.boundary_cache import cached_boundary
from randsmooth.bounds.e_process import e_tail, log_e
from randsmooth.bounds.looks import looks
from randsmooth.bounds.norms import l1_radius, linf_radius
from randsmooth.bounds.radius import check_sigma, largest_radius, radius, radius_of_tail, round_down, tail_of_radius
from randsmooth.bounds.randomised import randomised_lower_tail
from randsmooth.bounds.soft import (
    bernstein_lower,
    bernstein_upper,
    hard_moments,
    hoeffding_lower,
    hoeffding_upper,
    sample_variance,
)
from randsmooth.bounds.top_k import top_k_radius, top_k_radius_of_bounds
from randsmooth.bounds.two_sided import radius_of_pair, two_sided_radius, two_sided_tails
from randsmooth.bounds.union import union_levels, union_tail

__all__ = [
    "Boundary",
    "assured",
    "bernstein_lower",
    "bernstein_upper",
    "boundary",
    "cached_boundary",
    "check_alpha",
    "check_counts",
    "check_level",
    "check_sigma",
    "cohen_assured",
    "crossing_probability",
    "e_tail",
    "hard_moments",
    "hoeffding_lower",
    "hoeffding_upper",
    "l1_radius",
    "largest_radius",
    "linf_radius",
    "log_e",
    "looks",
    "lower",
    "lower_tail",
    "radius",
    "radius_of_pair",
    "radius_of_tail",
    "randomised_lower_tail",
    "round_down",
    "sample_variance",
    "smallest_cap",
    "smallest_n",
    "successes_of_tail",
    "tail_of_radius",
    "top_k_radius",
    "top_k_radius_of_bounds",
    "two_sided_p_value",
    "two_sided_radius",
    "two_sided_tails",
    "union_levels",
    "union_tail",
    "upper",
]
