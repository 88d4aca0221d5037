"""Gaussian sampling with named, position-addressed streams, and attacks on images and on noises."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
