"""What runs the base classifier: torch, OpenVINO or ONNX Runtime."""

from randsmooth.certification.backends.base import PRECISIONS, Backend
from randsmooth.certification.backends.choose import BACKENDS, candidates, fastest, images_a_second, make_backend

__all__ = ["BACKENDS", "PRECISIONS", "Backend", "candidates", "fastest", "images_a_second", "make_backend"]
