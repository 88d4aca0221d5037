"""Training: presets, recipes, the loop and what it must remember to resume."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
