"""Attacks on images and on noises, and what they share: losses of noisy logits, lengths, frozen networks."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
