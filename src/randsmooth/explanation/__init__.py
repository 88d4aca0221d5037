"""The certificate of one image, explained on a page: its votes, distances that a person can see, attacks."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
