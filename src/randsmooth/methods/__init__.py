"""Training methods: one file each, and the registry that finds them by name."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
