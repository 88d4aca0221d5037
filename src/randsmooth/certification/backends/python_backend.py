"""A backend that calls a model in Python: a scikit-learn estimator, or any function."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from randsmooth.certificates import Precision
from randsmooth.certification.backends.base import Backend
from randsmooth.errors import InputError, article
from randsmooth.models import ForeignModel, PythonModel


class Python(Backend):
    """Calls the model, one batch at a time, in the precision in which it computes itself."""

    name = "python"
    runs = "calls scikit-learn estimators and functions; torch models, ONNX files and OpenVINO IR have their own"

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        return isinstance(model, PythonModel)

    def __init__(self, model: PythonModel, device: torch.device, precision: Precision) -> None:
        if precision != "32":
            raise InputError(f"precision={precision}: {article(model.kind)} computes as it was made; leave it at 32")
        self.model, self.device, self.precision = model, device, precision
        self.padded = model.padded

    @property
    def votes(self) -> bool:
        return self.model.labels

    def answer(self, noisy: Tensor) -> Tensor:
        return self.model.answer(noisy)
