"""A small web app in which one drops an image and watches its certificate grow; the same as a Hugging Face Space."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
