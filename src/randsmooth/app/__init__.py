"""The certificate of one image: `explain` shows on a page what it means, `serve` lets visitors watch it grow."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
