"""Backends by name, ours and those of other packages, and the fastest of those that can run a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from randsmooth.certificates import PRECISIONS, Precision
from randsmooth.certification.backends.base import Backend
from randsmooth.certification.backends.registry import BACKENDS, check_backend
from randsmooth.errors import InputError, unknown
from randsmooth.models import ForeignModel

CLEARLY = 1.15  # another backend must be faster by this factor, so that two runs on one machine choose alike


def make_backend(name: str, model: nn.Module | ForeignModel, device: torch.device, precision: Precision) -> Backend:
    """The backend called `name` around `model`.

    Raises:
        InputError: no such backend or precision, one that is not installed, or one that cannot run this model.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
        >>> backend = make_backend("torch", model, torch.device("cpu"), "32")
        >>> with torch.inference_mode():
        ...     backend.logits(torch.zeros(3, 1, 2, 2)).shape
        torch.Size([3, 2])
    """
    if precision not in PRECISIONS:
        raise unknown("precision", str(precision), PRECISIONS)
    check_backend(name)
    kind = BACKENDS[name]
    if not kind.accepts(model):
        raise InputError(f"backend={name} {kind.runs}")
    return kind(model, device, precision)


def usual_backend(model: nn.Module | ForeignModel) -> str:
    """The backend of a model where the user names none.

    Example:
        >>> usual_backend(nn.Flatten())
        'torch'
    """
    return next(name for name, kind in BACKENDS.items() if kind.accepts(model))


def candidates(model: nn.Module | ForeignModel, device: torch.device) -> list[str]:
    """Backends that `auto` chooses among: the usual one first, then the others that are installed.

    Example:
        >>> candidates(nn.Flatten(), torch.device("cuda"))
        ['torch']
    """
    usual = usual_backend(model)
    others = (name for name, kind in BACKENDS.items() if kind.accepts(model) and kind.tried_by_auto(device))
    return [usual, *(name for name in others if name != usual and BACKENDS[name].installed())]


def fastest(
    names: Sequence[str],
    model: nn.Module | ForeignModel,
    device: torch.device,
    precision: Precision,
    measure: Callable[[Backend], float],
) -> tuple[Backend, dict[str, float]]:
    """The fastest backend, and images per second of each that could be tried, as `measure` finds them.

    The first of `names` is taken unless another is clearly faster. One that cannot run the model is left out, but for
    the first.

    Example:
        >>> model, cpu = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval(), torch.device("cpu")
        >>> backend, rates = fastest(["torch"], model, cpu, "32", lambda backend: 100.0)
        >>> backend.name, rates
        ('torch', {'torch': 100.0})
    """
    made, rates = {}, {}
    for name in names:
        try:
            backend = make_backend(name, model, device, precision)
            made[name], rates[name] = backend, measure(backend)
        except InputError:
            if name == names[0]:
                raise
    best = names[0]
    for name in made:
        if rates[name] > CLEARLY * rates[best]:
            best = name
    return made[best], rates
