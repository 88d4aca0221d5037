"""Training: presets, recipes, the loop and what it must remember to resume."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
