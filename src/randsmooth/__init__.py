"""Train, certify and fairly compare classifiers with randomized smoothing.

Rooms and names are imported on first use, so that reading and comparing certificates does not load torch.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
