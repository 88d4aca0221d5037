"""Architectures, the base classifier with its normalisation, and model folders."""

from randsmooth.models import cifar_resnet, imagenet_resnet, lenet, small_cnn  # noqa: F401  (they register)
from randsmooth.models.checks import check_images, check_labels
from randsmooth.models.classifier import Classifier
from randsmooth.models.devices import pick_device
from randsmooth.models.folder import check, load, save
from randsmooth.models.identity import identity_of, unwrapped
from randsmooth.models.onnx_model import OnnxModel
from randsmooth.models.registry import build, names, register
from randsmooth.models.weights import weights_hash

__all__ = [
    "Classifier",
    "OnnxModel",
    "build",
    "check",
    "check_images",
    "check_labels",
    "identity_of",
    "load",
    "names",
    "pick_device",
    "register",
    "save",
    "unwrapped",
    "weights_hash",
]
