"""Gaussian sampling with named, position-addressed streams."""

from randsmooth.noise.gaussian import draw, fill
from randsmooth.noise.stream import Stream

__all__ = ["Stream", "draw", "fill"]
