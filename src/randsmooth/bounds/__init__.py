"""The statistics of certification: NumPy and SciPy, and a folder to keep tables in."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
