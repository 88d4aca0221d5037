from .accuracy import abstention as abstention, accuracy_curve as accuracy_curve, acr as acr, certified as certified, certified_accuracy as certified_accuracy, certified_shares as certified_shares, check_radius as check_radius, clean_accuracy as clean_accuracy, tells_abstention as tells_abstention
from .bands import PABand as PABand, dkw as dkw, p_a_band as p_a_band
from .budget import accuracy_at as accuracy_at, acr_at as acr_at, chance_certified as chance_certified, expected_radius as expected_radius
from .difference import acr_difference as acr_difference, require_same_images as require_same_images
from .envelopes import NO_ONE_CLASSIFIER as NO_ONE_CLASSIFIER, Envelope as Envelope, envelope as envelope
from .estimate import LEVEL as LEVEL, Estimate as Estimate, mean as mean, share as share, wilson as wilson
from .family import Comparison as Comparison, Point as Point, Scope as Scope, compare as compare, verdict as verdict
from .giving_up import GivenUp as GivenUp, given_up as given_up
from .outcome import AHEAD as AHEAD, AHEAD_EVERYWHERE as AHEAD_EVERYWHERE, BEHIND as BEHIND, BEHIND_EVERYWHERE as BEHIND_EVERYWHERE, CROSSES as CROSSES, DELTA as DELTA, NO_DIFFERENCE as NO_DIFFERENCE, Crossing as Crossing, Difference as Difference, Stretch as Stretch, Verdict as Verdict, in_points as in_points, judge as judge
from .p_a_estimates import ImageProbabilities as ImageProbabilities, p_a as p_a, p_a_curve as p_a_curve, tells_p_a as tells_p_a
from .paired import PairedAccuracy as PairedAccuracy, conditional_difference as conditional_difference, fresh_difference as fresh_difference, holm as holm, mcnemar as mcnemar, paired_accuracy as paired_accuracy
from .pairing import elsewhere as elsewhere, pair as pair
from .reach import can_certify as can_certify, farthest as farthest
from .replacement import accuracy_area as accuracy_area, p_a_quantiles as p_a_quantiles
from .summary import P_A_LEVELS as P_A_LEVELS, Summary as Summary, per_class as per_class, summarize as summarize, usual_radii as usual_radii
from .waterfalls import Waterfall as Waterfall, acr_waterfall as acr_waterfall, contributions as contributions, waterfall as waterfall
