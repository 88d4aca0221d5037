"""Training methods: one file each, and the registry that finds them by name."""

from randsmooth.methods import amplify, cat_rs, consistency, gaussian, macer, smoothadv, smoothmix, stability
from randsmooth.methods.base import Aside, Loss, Method, Probe, Schedule, Teacher, create, get, names, register

__all__ = [
    "Aside",
    "Loss",
    "Method",
    "Probe",
    "Schedule",
    "Teacher",
    "amplify",
    "cat_rs",
    "consistency",
    "create",
    "gaussian",
    "get",
    "macer",
    "names",
    "register",
    "smoothadv",
    "smoothmix",
    "stability",
]
