from .accuracy import (
    abstention as abstention,
)
from .accuracy import (
    accuracy_curve as accuracy_curve,
)
from .accuracy import (
    acr as acr,
)
from .accuracy import (
    certified as certified,
)
from .accuracy import (
    certified_accuracy as certified_accuracy,
)
from .accuracy import (
    certified_shares as certified_shares,
)
from .accuracy import (
    check_radius as check_radius,
)
from .accuracy import (
    knows_abstention as knows_abstention,
)
from .accuracy import (
    knows_accuracy as knows_accuracy,
)
from .breakdown import GivenUp as GivenUp
from .breakdown import (
    Waterfall as Waterfall,
)
from .breakdown import (
    acr_waterfall as acr_waterfall,
)
from .breakdown import (
    contributions as contributions,
)
from .breakdown import given_up as given_up
from .breakdown import (
    waterfall as waterfall,
)
from .budget import (
    accuracy_at as accuracy_at,
)
from .budget import (
    acr_at as acr_at,
)
from .budget import (
    chance_certified as chance_certified,
)
from .budget import (
    expected_radius as expected_radius,
)
from .envelopes import NO_ONE_CLASSIFIER as NO_ONE_CLASSIFIER
from .envelopes import Envelope as Envelope
from .envelopes import envelope as envelope
from .estimate import LEVEL as LEVEL
from .estimate import Estimate as Estimate
from .estimate import mean as mean
from .estimate import share as share
from .estimate import wilson as wilson
from .family import Comparison as Comparison
from .family import Point as Point
from .family import Scope as Scope
from .family import compare as compare
from .family import verdict as verdict
from .measured import MeasuredAccuracy as MeasuredAccuracy
from .measured import left_open as left_open
from .measured import measured_accuracy as measured_accuracy
from .measured import sampled_accuracy as sampled_accuracy
from .measured import to_resolve as to_resolve
from .outcome import (
    AHEAD as AHEAD,
)
from .outcome import (
    AHEAD_EVERYWHERE as AHEAD_EVERYWHERE,
)
from .outcome import (
    BEHIND as BEHIND,
)
from .outcome import (
    BEHIND_EVERYWHERE as BEHIND_EVERYWHERE,
)
from .outcome import (
    CROSSES as CROSSES,
)
from .outcome import (
    DELTA as DELTA,
)
from .outcome import (
    NO_DIFFERENCE as NO_DIFFERENCE,
)
from .outcome import (
    Crossing as Crossing,
)
from .outcome import (
    Difference as Difference,
)
from .outcome import (
    Stretch as Stretch,
)
from .outcome import (
    Verdict as Verdict,
)
from .outcome import (
    in_points as in_points,
)
from .outcome import (
    judge as judge,
)
from .p_a_estimates import (
    ImageProbabilities as ImageProbabilities,
)
from .p_a_estimates import ProbabilityBand as ProbabilityBand
from .p_a_estimates import dkw as dkw
from .p_a_estimates import (
    knows_p_a as knows_p_a,
)
from .p_a_estimates import (
    p_a as p_a,
)
from .p_a_estimates import p_a_band as p_a_band
from .p_a_estimates import (
    p_a_curve as p_a_curve,
)
from .paired import (
    PairedAccuracy as PairedAccuracy,
)
from .paired import acr_difference as acr_difference
from .paired import (
    conditional_difference as conditional_difference,
)
from .paired import differing_source as differing_source
from .paired import (
    fresh_difference as fresh_difference,
)
from .paired import (
    holm as holm,
)
from .paired import (
    mcnemar as mcnemar,
)
from .paired import pair as pair
from .paired import (
    paired_accuracy as paired_accuracy,
)
from .paired import require_same_images as require_same_images
from .reach import can_certify as can_certify
from .reach import farthest as farthest
from .summary import (
    P_A_LEVELS as P_A_LEVELS,
)
from .summary import (
    Summary as Summary,
)
from .summary import accuracy_area as accuracy_area
from .summary import p_a_quantiles as p_a_quantiles
from .summary import (
    summarise as summarise,
)
from .summary import (
    usual_radii as usual_radii,
)
