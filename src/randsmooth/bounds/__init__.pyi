from .anytime import anytime_q_upper as anytime_q_upper
from .anytime import log_e as log_e
from .binomial import any_class_q_upper as any_class_q_upper
from .binomial import (
    check_counts as check_counts,
)
from .binomial import (
    lower as lower,
)
from .binomial import (
    q_upper as q_upper,
)
from .binomial import randomised_q_upper as randomised_q_upper
from .binomial import (
    successes_of_q as successes_of_q,
)
from .binomial import (
    two_sided_p_value as two_sided_p_value,
)
from .binomial import (
    upper as upper,
)
from .boundaries import (
    Boundary as Boundary,
)
from .boundaries import any_class_boundary as any_class_boundary
from .boundaries import (
    boundary as boundary,
)
from .boundaries import claims_by_deadline as claims_by_deadline
from .boundaries import (
    crossing_probability as crossing_probability,
)
from .boundaries import looks as looks
from .boundaries import (
    smallest_cap as smallest_cap,
)
from .classes import FOR_THE_PAIR as FOR_THE_PAIR
from .classes import pairwise_bounds as pairwise_bounds
from .classes import top_k_bounds as top_k_bounds
from .classes import two_sided_bounds as two_sided_bounds
from .finite_populations import assured_accuracy as assured_accuracy
from .finite_populations import enough_drawn as enough_drawn
from .finite_populations import finite_share_interval as finite_share_interval
from .finite_populations import most_failures as most_failures
from .levels import (
    check_alpha as check_alpha,
)
from .levels import (
    check_level as check_level,
)
from .levels import (
    smallest_n as smallest_n,
)
from .means import (
    bernstein_lower as bernstein_lower,
)
from .means import betting_lower as betting_lower
from .means import finite_mean_interval as finite_mean_interval
from .means import (
    hoeffding_lower as hoeffding_lower,
)
from .means import (
    sample_variance as sample_variance,
)
