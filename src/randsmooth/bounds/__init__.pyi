from .assurance import assured as assured, cohen_assured as cohen_assured
from .binomial import check_alpha as check_alpha, check_counts as check_counts, check_level as check_level, lower as lower, lower_tail as lower_tail, smallest_n as smallest_n, successes_of_tail as successes_of_tail, two_sided_p_value as two_sided_p_value, upper as upper
from .boundaries import Boundary as Boundary, boundary as boundary, crossing_probability as crossing_probability, smallest_cap as smallest_cap
from .boundary_cache import cached_boundary as cached_boundary
from .e_process import e_tail as e_tail, log_e as log_e
from .look_times import looks as looks
from .norms import l1_radius as l1_radius, linf_radius as linf_radius
from .radii import check_sigma as check_sigma, largest_radius as largest_radius, radius as radius, radius_of_tail as radius_of_tail, round_down as round_down, tail_of_radius as tail_of_radius
from .randomised import randomised_lower_tail as randomised_lower_tail
from .soft import bernstein_lower as bernstein_lower, bernstein_upper as bernstein_upper, hard_moments as hard_moments, hoeffding_lower as hoeffding_lower, hoeffding_upper as hoeffding_upper, sample_variance as sample_variance
from .top_k import top_k_radius as top_k_radius, top_k_radius_of_bounds as top_k_radius_of_bounds
from .two_sided import radius_of_pair as radius_of_pair, two_sided_radius as two_sided_radius, two_sided_tails as two_sided_tails
from .union import union_levels as union_levels, union_tail as union_tail
