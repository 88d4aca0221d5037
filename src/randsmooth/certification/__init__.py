"""Certification: counting predictions under noise, and deciding what the counts prove."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
