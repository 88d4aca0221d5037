"""Gaussian sampling with named, position-addressed streams, and attacks on noises."""

from randsmooth.noise.attacks import frozen, sphere_attack
from randsmooth.noise.gaussian import draw, fill, perturb
from randsmooth.noise.stream import Stream

__all__ = ["Stream", "draw", "fill", "frozen", "perturb", "sphere_attack"]
