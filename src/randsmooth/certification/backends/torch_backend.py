"""Backends that run the base classifier in torch, with or without torch.compile."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.certificates import Precision
from randsmooth.certification.backends.base import Backend, frozen, own_copy, refused
from randsmooth.certification.backends.folding import fold_batch_norm
from randsmooth.errors import InputError
from randsmooth.models import ForeignModel, traceable

NEEDS_ROWS = "view size is not compatible"  # says torch of a view of what lies in channels-last memory
DTYPES = {"32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Torch(Backend):
    """A frozen copy of the model, in channels-last memory, with batch normalisation folded into the convolutions."""

    name = "torch"
    parallel = True

    def __init__(self, model: nn.Module, device: torch.device, precision: Precision) -> None:
        self.device, self.precision = device, precision
        self.dtype = DTYPES[precision]
        folded = frozen(fold_batch_norm(own_copy(model)).to(device, self.dtype))
        self.layout = torch.contiguous_format if getattr(model, "keeps_layout", False) else torch.channels_last
        self.model = folded.to(memory_format=self.layout)  # type: ignore[call-overload]

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
            return self.model(noisy.to(self.dtype, memory_format=self.layout))
        except (torch.OutOfMemoryError, InputError):
            raise
        except Exception as error:  # torch raises RuntimeErrors where shapes do not fit, a model's own checks others
            if self.layout == torch.channels_last and NEEDS_ROWS in str(error):
                return self._answer_in_rows(noisy)
            raise refused(noisy, error, self.model) from error

    def _answer_in_rows(self, noisy: Tensor) -> Any:
        """The answer of a model whose `view` needs images row by row, from now on."""
        self.layout = torch.contiguous_format
        self.model = self.model.to(memory_format=self.layout)
        return self.answer(noisy)


class Compiled(Torch):
    """The same, compiled by torch.compile; on CUDA its kernels are launched as one CUDA graph."""

    name = "compile"
    runs = "runs torch modules, but none whose steps depend on the images; use torch"
    parallel = False

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        return traceable(model)

    def __init__(self, model: nn.Module, device: torch.device, precision: Precision) -> None:
        super().__init__(model, device, precision)
        mode = "reduce-overhead" if device.type == "cuda" else "default"
        self.model = torch.compile(self.model, mode=mode, dynamic=False)

    def answer(self, noisy: Tensor) -> Any:
        answer = super().answer(noisy)
        # The next run of a CUDA graph overwrites the output of this one.
        return answer.clone() if self.device.type == "cuda" and isinstance(answer, Tensor) else answer
