"""Training: presets, recipes, the loop, and checkpoints from which a run is resumed."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
