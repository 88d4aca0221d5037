"""Modules of ours around models of any kind, and what models say of themselves."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self, TypeVar, cast

from torch import nn

from randsmooth.models.adapters.foreign_model import ForeignModel
from randsmooth.models.adapters.registry import BaseClassifier

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
