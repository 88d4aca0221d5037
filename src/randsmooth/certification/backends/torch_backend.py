"""The base classifier in torch, as it is or compiled."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.certificates import Precision
from randsmooth.certification.backends.base import Backend, own_copy, refused
from randsmooth.certification.backends.folding import fold_batch_norm

DTYPES = {"32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Torch(Backend):
    """A frozen copy of the model, batch normalisation folded into its convolutions, in channels-last memory."""

    name = "torch"
    parallel = True

    def __init__(self, model: nn.Module, device: torch.device, precision: Precision) -> None:
        self.device, self.precision = device, precision
        self.dtype = DTYPES[precision]
        folded = fold_batch_norm(own_copy(model)).to(device, self.dtype).requires_grad_(False)
        self.model = folded.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @property
    def arithmetic(self) -> str:
        """On CUDA, torch may shorten float32 factors to TF32."""
        if self.device.type != "cuda" or self.precision != "32":
            return super().arithmetic
        allowed = {"convolutions": torch.backends.cudnn.allow_tf32, "products": torch.backends.cuda.matmul.allow_tf32}
        shortened = " and ".join(what for what, allows in allowed.items() if allows)
        return super().arithmetic + (f" (TF32 {shortened})" if shortened else "")

    def answer(self, noisy: Tensor) -> Any:
        try:
            return self.model(noisy.to(self.dtype, memory_format=torch.channels_last))
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # torch's word for shapes that do not fit
            raise refused(noisy, error) from error


class Compiled(Torch):
    """The same, fused by torch.compile; on CUDA its kernels are launched as one graph."""

    name = "compile"
    parallel = False

    def __init__(self, model: nn.Module, device: torch.device, precision: Precision) -> None:
        super().__init__(model, device, precision)
        mode = "reduce-overhead" if device.type == "cuda" else "default"
        self.model = torch.compile(self.model, mode=mode, dynamic=False)

    def answer(self, noisy: Tensor) -> Any:
        answer = super().answer(noisy)
        # The next run of a CUDA graph writes over its answer.
        return answer.clone() if self.device.type == "cuda" and isinstance(answer, Tensor) else answer
