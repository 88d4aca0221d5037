from .dataset_spec import SPLITS as SPLITS, DatasetSpec as DatasetSpec
from .decode import read_image as read_image
from .images import Images as Images, StreamedImages as StreamedImages, TensorImages as TensorImages
from .loading import describe as describe, load as load
from .registry import names as names, register as register, spec as spec, told as told
from .subset import skip as skip, take as take
