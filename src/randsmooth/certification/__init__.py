"""Certification: counting predictions under noise, and deciding what the counts prove."""

from randsmooth.certification.engine import Engine
from randsmooth.certification.runner import certify_images, check_fit, check_flags, make_header, prepare
from randsmooth.certification.smoothed import Certified, SmoothedClassifier, check_eval_mode

__all__ = [
    "Certified",
    "Engine",
    "SmoothedClassifier",
    "certify_images",
    "check_eval_mode",
    "check_fit",
    "check_flags",
    "make_header",
    "prepare",
]
