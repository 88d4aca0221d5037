"""What certificates say, each number with the images it rests on and an interval. No torch here."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
