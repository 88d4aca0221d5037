"""What runs the base classifier: torch, OpenVINO, ONNX Runtime, or what another package adds."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
