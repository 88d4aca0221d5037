"""Training methods: one file each, and the registry that finds them by name."""

from randsmooth.methods import amplify, gaussian
from randsmooth.methods.base import Loss, Method, Probe, Schedule, create, get, names, register

__all__ = ["Loss", "Method", "Probe", "Schedule", "amplify", "create", "gaussian", "get", "names", "register"]
