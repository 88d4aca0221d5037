from . import convolutional as convolutional
from . import residual as residual
from .architecture import Architecture as Architecture
