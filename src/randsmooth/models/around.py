"""Modules of ours around models of any kind, those that are no torch modules too, and what models say of themselves."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import torch
from torch import Tensor, nn

from randsmooth.errors import InputError, article
from randsmooth.models.adapters.foreign_model import ForeignModel, PythonModel
from randsmooth.models.adapters.registry import BaseClassifier, adapt
from randsmooth.models.sources import open_source

M = TypeVar("M", bound=BaseClassifier)


class Around(nn.Module):
    """A module of ours around models of any kind, such as an `Ensemble`.

    Example:
        >>> issubclass(Around, nn.Module)
        True
    """

    def __init__(self) -> None:
        super().__init__()
        self.training = False  # of its own; the models keep their modes, which are checked before they are certified

    def for_classes(self, classes: Sequence[str]) -> Self:
        """The same, answering for `classes` in their order. InputError where a model knows others."""
        return self

    def replace(self, **modules: nn.Module) -> Self:
        """A copy with other `modules` in the places of those names; it shares the rest."""
        changed = copy.copy(self)
        changed._modules = {**self._modules, **modules}
        return changed


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

    shape = property(lambda self: self.model.shape)
    num_classes = property(lambda self: self.model.num_classes)
    kind = arch = property(lambda self: self.model.kind)
    notes = property(lambda self: self.model.notes)

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


def is_traced() -> bool:
    """Whether torch records what is called, to replay it on other images without calling it."""
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]


def for_classes(model: M, classes: Sequence[str]) -> M:
    """The model, answering for `classes` in their order, where it can be told them. InputError where it knows others.

    Example:
        >>> network = nn.Linear(2, 2)
        >>> for_classes(network, ["cat", "dog"]) is network
        True
    """
    told = model.for_classes(classes) if isinstance(model, ForeignModel | Around) else model
    return cast(M, told)  # of the model's own kind: `for_classes` returns Self


def notes_of(model: object) -> tuple[str, ...]:
    """What a model says to lie between a noisy image and its label, besides a network.

    Example:
        >>> notes_of(nn.Flatten())
        ()
    """
    notes = getattr(model, "notes", ())
    return notes if isinstance(notes, tuple) else ()


def provenance_of(model: object) -> dict[str, Any]:
    """How a model of ours was trained, as far as it says; nothing is known of another's.

    Example:
        >>> provenance_of(nn.Flatten())
        {}
    """
    known = getattr(model, "provenance", None)
    return known if isinstance(known, dict) else {}
