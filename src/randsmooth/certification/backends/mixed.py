"""A backend for modules with parts that are no torch modules, such as an ONNX file or a function behind a resize."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.certificates import Precision
from randsmooth.certification.backends.choose import make_backend, usual_backend
from randsmooth.certification.backends.torch_backend import Torch
from randsmooth.errors import InputError
from randsmooth.models import Ensemble, ForeignModel, foreign_parts


class Mixed(Torch):
    """Runs the module in torch and each part of another kind by its usual backend.

    If a part is not padded, nothing is: networks are then asked about full batches inside, and it alone about exactly
    what is counted.
    """

    name = "mixed"
    runs = "runs modules with parts of other kinds; leave the backend open for others"

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        return bool(foreign_parts(model))

    def __init__(self, model: nn.Module, device: torch.device, precision: Precision) -> None:
        if precision != "32":
            raise InputError(f"precision={precision}: parts of other kinds compute as they do; leave it at 32")
        super().__init__(model, device, precision)
        self.parts = foreign_parts(self.model)
        self.inner = [make_backend(usual_backend(part.model), part.model, device, precision) for part in self.parts]
        self.padded = all(backend.padded for backend in self.inner)
        self.parallel = all(backend.parallel for backend in self.inner)  # type: ignore[misc]
        used = (package for backend in self.inner for package in backend.packages)
        self.packages = tuple(dict.fromkeys(used))  # type: ignore[misc]
        for part, backend in zip(self.parts, self.inner, strict=True):
            part.padded, part.run = backend.padded, partial(self._run, backend.logits, backend.padded)

    @property
    def processor(self) -> str:
        """Of the networks and of each part."""
        return "; ".join(dict.fromkeys([super().processor, *(backend.processor for backend in self.inner)]))

    @property
    def instructions(self) -> str:
        return "; ".join(dict.fromkeys([super().instructions, *(backend.instructions for backend in self.inner)]))

    def answer(self, noisy: Tensor) -> Tensor:
        if not self.padded:
            for module in self.model.modules():
                if isinstance(module, Ensemble):
                    module.rows = self.size
        answer: Tensor = super().answer(noisy)
        rules = {module.rule for module in self.model.modules() if isinstance(module, Ensemble)}
        if self.votes and rules - {"vote"}:
            raise InputError("a member of the ensemble answers with labels, which have no mean: let the members vote")
        return answer

    @property
    def votes(self) -> bool:
        return any(backend.votes for backend in self.inner)

    def _run(self, logits: Callable[[Tensor], Tensor], padded: bool, x: Tensor) -> Tensor:
        """What a part answers; one that wants batches of one size is asked about `size` images."""
        if not padded or self.padded or len(x) >= self.size:
            return logits(x.contiguous())
        return logits(F.pad(x, (0, 0) * (x.dim() - 1) + (0, self.size - len(x))))[: len(x)]
