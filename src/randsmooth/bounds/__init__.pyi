from .any_class import any_class_q_upper as any_class_q_upper
from .any_class_crossing import any_class_boundary as any_class_boundary
from .assurance import assured_accuracy as assured_accuracy
from .assurance import most_failures as most_failures
from .betting import betting_lower as betting_lower
from .binomial import (
    check_counts as check_counts,
)
from .binomial import (
    lower as lower,
)
from .binomial import (
    q_upper as q_upper,
)
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
from .boundaries import (
    boundary as boundary,
)
from .boundaries import (
    crossing_probability as crossing_probability,
)
from .boundaries import (
    smallest_cap as smallest_cap,
)
from .boundary_cache import cached_boundary as cached_boundary
from .classes import FOR_THE_PAIR as FOR_THE_PAIR
from .classes import pairwise_bounds as pairwise_bounds
from .classes import top_k_bounds as top_k_bounds
from .classes import two_sided_bounds as two_sided_bounds
from .deadlines import claims_by_deadline as claims_by_deadline
from .deadlines import claims_by_deadlines as claims_by_deadlines
from .e_process import anytime_q_upper as anytime_q_upper
from .e_process import log_e as log_e
from .finite_mean import finite_mean_interval as finite_mean_interval
from .finite_share import enough_drawn as enough_drawn
from .finite_share import finite_share_interval as finite_share_interval
from .limits import (
    check_alpha as check_alpha,
)
from .limits import (
    check_level as check_level,
)
from .limits import (
    smallest_n as smallest_n,
)
from .look_times import looks as looks
from .randomised import randomised_q_upper as randomised_q_upper
from .soft import (
    bernstein_lower as bernstein_lower,
)
from .soft import (
    hoeffding_lower as hoeffding_lower,
)
from .soft import (
    sample_variance as sample_variance,
)
from .spending import LATE as LATE
from .spending import SQUARE_ROOT as SQUARE_ROOT
from .spending import Spending as Spending
from .union import union_levels as union_levels
from .union import union_q_upper as union_q_upper
