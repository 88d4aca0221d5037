"""What certificates say, each number with the images it rests on and an interval. No torch here."""

from randsmooth.metrics.accuracy import (
    abstention,
    accuracy_curve,
    acr,
    certified,
    certified_accuracy,
    certified_shares,
    check_radius,
    clean_accuracy,
    tells_abstention,
)
from randsmooth.metrics.bands import PABand, dkw, p_a_band
from randsmooth.metrics.budget import accuracy_at, acr_at, chance_certified, expected_radius
from randsmooth.metrics.difference import acr_difference, require_same_images
from randsmooth.metrics.envelope import NO_ONE_CLASSIFIER, Envelope, envelope
from randsmooth.metrics.estimate import LEVEL, Estimate, mean, share, wilson
from randsmooth.metrics.family import Comparison, Point, Scope, compare, verdict
from randsmooth.metrics.given_up import GivenUp, given_up
from randsmooth.metrics.outcome import (
    AHEAD,
    AHEAD_EVERYWHERE,
    BEHIND,
    BEHIND_EVERYWHERE,
    CROSSES,
    DELTA,
    NO_DIFFERENCE,
    Crossing,
    Difference,
    Stretch,
    Verdict,
    in_points,
    judge,
)
from randsmooth.metrics.p_a import PA, p_a, p_a_curve, tells_p_a
from randsmooth.metrics.paired import (
    PairedAccuracy,
    conditional_difference,
    fresh_difference,
    holm,
    mcnemar,
    paired_accuracy,
)
from randsmooth.metrics.pairing import elsewhere, pair
from randsmooth.metrics.reach import can_certify, farthest
from randsmooth.metrics.replacement import accuracy_area, p_a_quantiles
from randsmooth.metrics.summary import P_A, Summary, per_class, summarize, usual_radii
from randsmooth.metrics.waterfall import Waterfall, acr_waterfall, contributions, waterfall

__all__ = [
    "AHEAD",
    "AHEAD_EVERYWHERE",
    "BEHIND",
    "BEHIND_EVERYWHERE",
    "CROSSES",
    "DELTA",
    "LEVEL",
    "NO_DIFFERENCE",
    "NO_ONE_CLASSIFIER",
    "PA",
    "P_A",
    "Comparison",
    "Crossing",
    "Difference",
    "Envelope",
    "Estimate",
    "GivenUp",
    "PABand",
    "PairedAccuracy",
    "Point",
    "Scope",
    "Stretch",
    "Summary",
    "Verdict",
    "Waterfall",
    "abstention",
    "accuracy_area",
    "accuracy_at",
    "accuracy_curve",
    "acr",
    "acr_at",
    "acr_difference",
    "acr_waterfall",
    "can_certify",
    "certified",
    "certified_accuracy",
    "certified_shares",
    "chance_certified",
    "check_radius",
    "clean_accuracy",
    "compare",
    "conditional_difference",
    "contributions",
    "dkw",
    "elsewhere",
    "envelope",
    "expected_radius",
    "farthest",
    "fresh_difference",
    "given_up",
    "holm",
    "in_points",
    "judge",
    "mcnemar",
    "mean",
    "p_a",
    "p_a_band",
    "p_a_curve",
    "p_a_quantiles",
    "pair",
    "paired_accuracy",
    "per_class",
    "require_same_images",
    "share",
    "summarize",
    "tells_abstention",
    "tells_p_a",
    "usual_radii",
    "verdict",
    "waterfall",
    "wilson",
]
