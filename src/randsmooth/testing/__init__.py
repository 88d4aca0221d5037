"""Contract tests of everything that other packages can add: each passes on ours, and can be run on theirs.

Each function takes a registered name or the entry itself and raises AssertionError with what is wrong; they need no
pytest.
"""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
