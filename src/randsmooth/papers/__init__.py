"""The published tables and figures, and `reproduce`, which draws them anew.

No torch here: modules that need it are imported by the functions that use them.
"""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
