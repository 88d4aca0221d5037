"""What certificates say, each number with its images and an interval. No torch here."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
