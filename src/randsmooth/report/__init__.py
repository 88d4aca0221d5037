"""What a person reads: tables in five formats, sentences, figures and the page.

Figures and the page load their plot library when they are called, not before.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
