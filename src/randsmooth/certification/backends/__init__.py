"""What runs the base classifier: torch, OpenVINO or ONNX Runtime."""

from randsmooth.certification.backends.base import Backend
from randsmooth.certification.backends.choose import (
    BACKENDS,
    CLEARLY,
    candidates,
    fastest,
    make_backend,
    usual_backend,
)

__all__ = ["BACKENDS", "CLEARLY", "Backend", "candidates", "fastest", "make_backend", "usual_backend"]
