"""What certificates say, each number with the images it rests on and an interval. No torch here."""

from randsmooth.metrics.accuracy import (
    abstention,
    accuracy_curve,
    acr,
    certified,
    certified_accuracy,
    check_radius,
    clean_accuracy,
)
from randsmooth.metrics.difference import (
    CurveDifference,
    acr_difference,
    curve_difference,
    require_same_images,
)
from randsmooth.metrics.estimate import LEVEL, Estimate, mean, share, wilson
from randsmooth.metrics.p_a import PA, p_a, p_a_curve, tells_p_a
from randsmooth.metrics.summary import P_A, Summary, per_class, summarize, usual_radii

__all__ = [
    "LEVEL",
    "PA",
    "P_A",
    "CurveDifference",
    "Estimate",
    "Summary",
    "abstention",
    "accuracy_curve",
    "acr",
    "acr_difference",
    "certified",
    "certified_accuracy",
    "check_radius",
    "clean_accuracy",
    "curve_difference",
    "mean",
    "p_a",
    "p_a_curve",
    "per_class",
    "require_same_images",
    "share",
    "summarize",
    "tells_p_a",
    "usual_radii",
    "wilson",
]
