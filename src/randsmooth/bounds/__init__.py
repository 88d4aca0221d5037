"""The statistics of certification: NumPy and SciPy, and a folder to keep tables in."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
