"""What noisy copies are drawn, from which streams, and what radius a bound on p_A then proves."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
