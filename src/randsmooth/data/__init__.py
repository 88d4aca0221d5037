"""Named data sets and folders of images, as batches in [0, 1]."""

from randsmooth.data.decode import read_image
from randsmooth.data.images import Images, StreamedImages, TensorImages
from randsmooth.data.load import describe, load
from randsmooth.data.registry import names, register, spec, told
from randsmooth.data.spec import SPLITS, DatasetSpec
from randsmooth.data.subset import skip, take

__all__ = [
    "SPLITS",
    "DatasetSpec",
    "Images",
    "StreamedImages",
    "TensorImages",
    "describe",
    "load",
    "names",
    "read_image",
    "register",
    "skip",
    "spec",
    "take",
    "told",
]
