from .checks import check_images as check_images, check_labels as check_labels
from .classifier import Classifier as Classifier
from .devices import pick_device as pick_device
from .folder import check as check, load as load, save as save
from .identity import identity_of as identity_of, unwrapped as unwrapped
from .onnx_model import OnnxModel as OnnxModel
from .registry import ARCHITECTURES as ARCHITECTURES, Architecture as Architecture, build as build
from .weights import weights_hash as weights_hash
