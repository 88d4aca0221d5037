"""Where the metrics of a training run go besides its history.csv: TensorBoard, CSV, MLflow, W&B, or any logger of
Lightning."""

from randsmooth.extras import attach_room

__getattr__, __dir__, __all__ = attach_room(__name__, __file__)
