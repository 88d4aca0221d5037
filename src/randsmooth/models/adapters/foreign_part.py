"""A base classifier that is no torch module, as a part of one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from randsmooth.errors import InputError, article
from randsmooth.models.adapters.foreign_model import ForeignModel
from randsmooth.models.adapters.python_model import PythonModel
from randsmooth.models.adapters.registry import adapt
from randsmooth.models.around import Around
from randsmooth.models.sources import open_source


def is_traced() -> bool:
    """Whether torch records what is called, to replay it on other images without calling it."""
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]


class ForeignPart(Around):
    """A scikit-learn estimator, a function or a file as a module; it takes no gradient.

    By itself it can answer only if it is called in Python, for one thread at a time. The backend `mixed` runs any.

    Args:
        model: as `adapt` makes it.

    Attributes:
        run: what answers for it, once a backend has said so: (B, K) logits of (B, C, H, W).
        padded: whether it may be asked about more images than are counted, so that its batches have one size.
    """

    _turn = threading.Lock()

    def __init__(self, model: ForeignModel) -> None:
        super().__init__()
        self.model = model
        self.run: Callable[[Tensor], Tensor] | None = None
        self.padded = True

    @property
    def shape(self) -> tuple[int, int, int] | None:
        return self.model.shape

    @property
    def num_classes(self) -> int | None:
        return self.model.num_classes

    @property
    def kind(self) -> str:
        return self.model.kind

    @property
    def notes(self) -> tuple[str, ...]:
        return self.model.notes

    def for_classes(self, classes: Sequence[str]) -> Self:
        """One that answers for these `classes` in their order."""
        return type(self)(self.model.for_classes(classes))

    def forward(self, x: Tensor) -> Tensor:
        """Logits or votes (B, K), float32."""
        if is_traced():  # a trace would keep this answer for all images
            raise RuntimeError(f"{article(self.kind)} cannot be traced; use the torch backend")
        if self.run is not None:
            return self.run(x)
        if not isinstance(self.model, PythonModel):
            raise InputError(f"a part that is {article(self.kind)} answers in a certification, not by itself")
        with self._turn:
            return self.model.answer(x.detach().float()).to(x.device, torch.float32)

    def get_extra_state(self) -> str:
        """What `weights_hash` reads in place of weights."""
        return self.model.weights_hash()

    def set_extra_state(self, state: Any) -> None:
        """Nothing is stored here."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """With the same model, which was copied when it was adapted, or cannot be."""
        return type(self)(self.model)


def as_module(model: object, num_classes: int | None = None) -> nn.Module:
    """What can be certified, or is named as in `open_source`, as a module or a part of one. Errors as there."""
    base = adapt(open_source(model) if isinstance(model, str | Path) else model, num_classes=num_classes)
    return base if isinstance(base, nn.Module) else ForeignPart(base)


def foreign_parts(model: object) -> list[ForeignPart]:
    """The parts of a module that are no torch modules.

    Example:
        >>> foreign_parts(nn.Sequential(nn.Flatten()))
        []
    """
    modules = model.modules() if isinstance(model, nn.Module) else ()
    return [module for module in modules if isinstance(module, ForeignPart)]
