"""The base classifier in float64, for a look at what rounding changes."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from randsmooth import Problem
from randsmooth.certificates import Precision
from randsmooth.certification.backends import Backend, own_copy, refused


class Float64(Backend):
    """A copy of the model with all of its numbers in float64, whatever its layers are."""

    name: ClassVar[str] = "float64"

    def __init__(
        self, model: nn.Module, device: torch.device, precision: Precision
    ) -> None:
        if precision != "32":
            raise Problem(
                f"precision={precision}: float64 takes no shorter format; leave it at 32"
            )
        self.device, self.precision = device, precision
        self.model = (
            own_copy(model).to(device, torch.float64).eval().requires_grad_(False)
        )

    @property
    def arithmetic(self) -> str:
        return "float64"

    def answer(self, noisy: Tensor) -> Any:
        try:
            return self.model(noisy.double())
        except RuntimeError as error:
            raise refused(noisy, error) from error
