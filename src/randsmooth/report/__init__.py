"""What a person reads: tables in five formats, sentences, figures and the page.

Figures and the page load their plot library when they are called, not before.
"""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
