"""The published tables and figures as data and as functions, and `reproduce`, which draws them anew.

No torch here: modules that need it are imported by the functions that use them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
