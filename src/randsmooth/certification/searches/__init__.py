"""Searches of the ball around a certified image for a point of another class."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
