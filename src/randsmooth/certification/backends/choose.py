"""Backends by name, ours and those of other packages, and which of them count fastest."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import nn

from randsmooth.certificates import ARITHMETICS, PRECISIONS, Precision
from randsmooth.certification.backends.base import Backend
from randsmooth.certification.backends.processor import lacks_bfloat16
from randsmooth.certification.backends.registry import BACKENDS, check_backend
from randsmooth.errors import InputError, unknown
from randsmooth.models import ForeignModel

ROUNDS = 5  # of a trial


class Way(NamedTuple):
    """A way to run a base classifier: the name of a backend, and its precision.

    Example:
        >>> print(Way("torch", "32"), Way("openvino", "bf16"), sep=", ")
        torch, openvino in bfloat16
    """

    backend: str
    precision: Precision

    def __str__(self) -> str:
        return self.backend if self.precision == "32" else f"{self.backend} in {ARITHMETICS[self.precision]}"


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


def weighed(device: torch.device) -> tuple[Precision, ...]:
    """The precisions that `auto` weighs: float32, and the shorter format for which `device` has units.

    Example:
        >>> weighed(torch.device("cpu"))
        ('32', 'bf16')
    """
    return ("32", "fp16") if device.type == "cuda" and lacks_bfloat16(device) else ("32", "bf16")


def slow_format(backend: Backend) -> str | None:
    """What to say before a run whose precision the processor computes in slowly, with the better choice; else None.

    Example:
        >>> slow_format(make_backend("torch", nn.Flatten(), torch.device("cpu"), "32")) is None
        True
    """
    slow = lacks_bfloat16(backend.device) if backend.precision == "bf16" else None
    if slow is None:
        return None
    if backend.device.type == "cuda":
        return f"{slow} has no units for bfloat16 and computes in it slowly: --precision fp16 is faster"
    return (
        f"{slow} has no units for bfloat16 and computes in it slowly: --precision 32 with --backend auto is faster, an "
        "int8 model (`randsmooth quantise`) faster still"
    )


def fastest(runs: Mapping[Way, Callable[[], float]]) -> tuple[Way, dict[Way, float]]:
    """The fastest of several ways, and the rate of each: the median of rounds, in which all take their turn.

    The first is taken unless another is faster in every round. How much faster that must be depends on how far the
    rounds scatter; of two ways that are equally fast, the second is taken once in 2**ROUNDS trials.

    Args:
        runs: what runs each way once, and gives its rate in that run. The first run of each warms it up.

    Example:
        >>> runs = {Way("torch", "32"): lambda: 100.0, Way("openvino", "32"): lambda: 103.0}
        >>> best, rates = fastest(runs)
        >>> print(best, *rates.values())
        openvino 100.0 103.0
    """
    for run in runs.values():
        run()
    rounds = [{way: run() for way, run in runs.items()} for _ in range(ROUNDS)]
    best = next(iter(runs))
    for way in runs:
        if all(rates[way] > rates[best] for rates in rounds):
            best = way
    return best, {way: statistics.median(rates[way] for rates in rounds) for way in runs}
