"""Certification: counting predictions under noise, and deciding what the counts prove."""

from randsmooth.certification.attack import Attacks, attack
from randsmooth.certification.checks import check_eval_mode
from randsmooth.certification.dataset import certify
from randsmooth.certification.engine import Engine
from randsmooth.certification.runner import certify_images, check_fit, make_header
from randsmooth.certification.smoothed import Certified, SmoothedClassifier

__all__ = [
    "Attacks",
    "Certified",
    "Engine",
    "SmoothedClassifier",
    "attack",
    "certify",
    "certify_images",
    "check_eval_mode",
    "check_fit",
    "make_header",
]
