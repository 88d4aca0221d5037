"""Certification rules: when to stop sampling an image, and what its samples then prove."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
