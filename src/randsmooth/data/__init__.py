"""Named data sets and folders of images, as batches in [0, 1]."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
