"""Certification: counting predictions under noise, and deciding what the counts prove."""

from randsmooth.certification.attack import Attacks, attack
from randsmooth.certification.checks import check_eval_mode
from randsmooth.certification.dataset import certify, load
from randsmooth.certification.engine import Engine
from randsmooth.certification.runner import certify_images, check_fit, make_header
from randsmooth.certification.same import certified_as, check_answers, check_same
from randsmooth.certification.smoothed import Certified, SmoothedClassifier
from randsmooth.certification.soft import Figure4, SoftCertified, certify_soft, figure_4

__all__ = [
    "Attacks",
    "Certified",
    "Engine",
    "Figure4",
    "SmoothedClassifier",
    "SoftCertified",
    "attack",
    "certified_as",
    "certify",
    "certify_images",
    "certify_soft",
    "check_answers",
    "check_eval_mode",
    "check_fit",
    "check_same",
    "figure_4",
    "load",
    "make_header",
]
