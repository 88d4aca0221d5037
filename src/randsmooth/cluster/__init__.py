"""Certification shared out among workers: who gets which images, and what carries the messages."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
