"""Backends that run the base classifier in torch, with or without torch.compile."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.certificates import Precision
from randsmooth.certification.backends.base import Backend, own_copy, refused
from randsmooth.certification.backends.folding import fold_batch_norm

DTYPES = {"32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Torch(Backend):
    """A frozen copy of the model, in channels-last memory, with batch normalisation folded into the convolutions."""

    name = "torch"
    parallel = True

    def __init__(self, model: nn.Module, device: torch.device, precision: Precision) -> None:
        self.device, self.precision = device, precision
        self.dtype = DTYPES[precision]
        folded = fold_batch_norm(own_copy(model)).to(device, self.dtype).requires_grad_(False)
        self.model = folded.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @property
    def arithmetic(self) -> str:
        """The number format. On CUDA, torch may round the factors of float32 products to TF32, which is added."""
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
        except RuntimeError as error:  # what torch raises for shapes that do not fit
            raise refused(noisy, error) from error


class Compiled(Torch):
    """The same, compiled by torch.compile; on CUDA its kernels are launched as one CUDA graph."""

    name = "compile"
    parallel = False

    def __init__(self, model: nn.Module, device: torch.device, precision: Precision) -> None:
        super().__init__(model, device, precision)
        mode = "reduce-overhead" if device.type == "cuda" else "default"
        self.model = torch.compile(self.model, mode=mode, dynamic=False)

    def answer(self, noisy: Tensor) -> Any:
        answer = super().answer(noisy)
        # The next run of a CUDA graph overwrites the output of this one.
        return answer.clone() if self.device.type == "cuda" and isinstance(answer, Tensor) else answer
