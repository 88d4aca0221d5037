"""Networks: one file for those with residual blocks, one for those without."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
