"""A base classifier that is no torch module, as a part of one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.errors import InputError
from randsmooth.models.adapters.python_model import PythonModel
from randsmooth.models.foreign_model import ForeignModel


def is_traced() -> bool:
    """Whether torch records what is called, to replay it on other images without calling it."""
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]


class ForeignPart(nn.Module):
    """A scikit-learn estimator or a function as a module; it takes no gradient, and is called by one thread at a time.

    Args:
        model: as `adapt` makes it.

    Raises:
        InputError: the model is a file, which another runtime than torch runs.
    """

    _turn = threading.Lock()

    def __init__(self, model: ForeignModel) -> None:
        super().__init__()
        if not isinstance(model, PythonModel):
            raise InputError(
                f"a model in a file ({model.kind}) cannot be a part of a torch module: give a function that asks it, "
                "from images (B, C, H, W) to logits (B, K)"
            )
        self.model = model
        self.training = False

    @property
    def shape(self) -> tuple[int, int, int] | None:
        return self.model.shape

    @property
    def num_classes(self) -> int | None:
        return self.model.num_classes

    @property
    def kind(self) -> str:
        return self.model.kind

    def for_classes(self, classes: Sequence[str]) -> ForeignPart:
        """One that answers for these `classes` in their order."""
        return ForeignPart(self.model.for_classes(classes))

    def forward(self, x: Tensor) -> Tensor:
        """Logits or votes (B, K), float32."""
        if is_traced():  # a trace would keep this answer for all images
            raise RuntimeError(f"a {self.kind} cannot be traced; use the torch backend")
        with self._turn:
            return self.model.answer(x.detach().float()).to(x.device, torch.float32)

    def get_extra_state(self) -> str:
        """What `weights_hash` reads in place of weights."""
        return self.model.weights_hash()

    def set_extra_state(self, state: Any) -> None:
        """Nothing is stored here."""
