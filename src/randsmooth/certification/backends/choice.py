"""Which backend runs a model, and in which precision: as named, as usual, or as is
fastest.
"""

import statistics
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import nn

from randsmooth.certificates import ARITHMETICS, PRECISIONS, Precision
from randsmooth.certificates.settings import AskedPrecision
from randsmooth.certification.backends.base import Backend
from randsmooth.certification.backends.processors import lacks_bfloat16
from randsmooth.certification.backends.registry import AUTO, BACKENDS, check_backend
from randsmooth.errors import BadValue, check_known
from randsmooth.models import ForeignModel
from randsmooth.notes import Note

# How many rounds a trial has; in each of them every choice takes its turn.
ROUNDS = 5


class BackendChoice(NamedTuple):
    """The name of a backend, and the precision that it computes in.

    Example:
        >>> print(BackendChoice("openvino", "bf16"))
        openvino in bfloat16
    """

    backend: str
    precision: Precision

    def __str__(self) -> str:
        if self.precision == "32":
            return self.backend
        return f"{self.backend} in {ARITHMETICS[self.precision]}"


def make_backend(
    name: str,
    model: nn.Module | ForeignModel,
    device: torch.device,
    precision: Precision,
) -> Backend:
    """Return the backend called `name` around `model`.

    Raises:
        Problem: no such backend or precision, one that is not installed, or one that
            cannot run this model.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
        >>> backend = make_backend("torch", model, torch.device("cpu"), "32")
        >>> with torch.inference_mode():
        ...     backend.logits(torch.zeros(3, 1, 2, 2)).shape
        torch.Size([3, 2])
    """
    check_known("precision", PRECISIONS, precision)
    check_backend(name)
    backend_class = BACKENDS[name]
    if not backend_class.accepts(model):
        raise BadValue(field="backend", value=name, expected=backend_class.runs)
    return backend_class(model, device, precision)


def usual_backend(model: nn.Module | ForeignModel) -> str:
    """Return the name of the backend that runs a model where the user names none.

    Example:
        >>> usual_backend(nn.Flatten())
        'torch'
    """
    # The backends stand in the order of preference, and each model has one.
    return next(
        name for name, backend_class in BACKENDS.items() if backend_class.accepts(model)
    )


def usual_precisions(device: torch.device) -> tuple[Precision, ...]:
    """Return the precisions that "auto" tries: float32, and a format of half its length.

    The shorter one is bfloat16, or float16 on a GPU that has no units for bfloat16.

    Example:
        >>> usual_precisions(torch.device("cpu"))
        ('32', 'bf16')
    """
    if device.type == "cuda" and lacks_bfloat16(device):
        return "32", "fp16"
    return "32", "bf16"


def open_choices(
    model: nn.Module | ForeignModel,
    device: torch.device,
    backend: str | None,
    precision: AskedPrecision,
) -> list[BackendChoice]:
    """Return the choices that a backend and a precision leave open to run `model`.

    The first is the usual one.

    Args:
        model: the base classifier.
        device: where it is to run.
        backend: the name of a backend; None for the usual one; "auto" for the usual one
            and all others that are installed and may be tried on such a device.
        precision: a precision, or "auto" for those of `usual_precisions`.

    Example:
        >>> choices = open_choices(nn.Flatten(), torch.device("cpu"), None, "auto")
        >>> [str(choice) for choice in choices]
        ['torch', 'torch in bfloat16']
    """
    named = None if backend == AUTO else backend
    names = [named or usual_backend(model)]
    if backend == AUTO:
        names += [
            name
            for name, backend_class in BACKENDS.items()
            if name not in names
            and backend_class.accepts(model)
            and device.type in backend_class.tried_on
            and backend_class.installed()
        ]
    precisions = usual_precisions(device) if precision == "auto" else (precision,)
    return [
        BackendChoice(name, precision) for precision in precisions for name in names
    ]


def fastest(
    runs: Mapping[BackendChoice, Callable[[], float]],
) -> tuple[BackendChoice, dict[BackendChoice, float]]:
    """Return the fastest of several choices, and the rate of each.

    The rate of a choice is the median over ROUNDS rounds, in each of which all take
    their turn. The first choice is taken unless another is faster in every round, so
    that chance seldom decides: of two choices that are equally fast, the second is
    taken once in 2**ROUNDS trials.

    Args:
        runs: choice -> a function that runs it once, and returns its rate in that run.
            The first run of each choice warms it up, and does not count.

    Example:
        >>> torch_first = BackendChoice("torch", "32")
        >>> other = BackendChoice("openvino", "32")
        >>> best, rates = fastest({torch_first: lambda: 100.0, other: lambda: 103.0})
        >>> print(best, *rates.values())
        openvino 100.0 103.0
    """
    for run in runs.values():
        run()
    rounds = [{choice: run() for choice, run in runs.items()} for _ in range(ROUNDS)]
    best = next(iter(runs))
    for choice in runs:
        if all(rates[choice] > rates[best] for rates in rounds):
            best = choice
    medians = {
        choice: statistics.median(rates[choice] for rates in rounds) for choice in runs
    }
    return best, medians


def one_at_a_time(backend: Backend) -> Note | None:
    """Return the note on a model that takes one image at a time; None for others.

    Example:
        >>> backend = make_backend("torch", nn.Flatten(), torch.device("cpu"), "32")
        >>> one_at_a_time(backend) is None
        True
    """
    if not backend.one_by_one:
        return None
    return Note("one_image_at_a_time")


def slow_format(backend: Backend) -> Note | None:
    """Return the note on a precision that the processor computes in slowly; else None.

    Example:
        >>> backend = make_backend("torch", nn.Flatten(), torch.device("cpu"), "32")
        >>> slow_format(backend) is None
        True
    """
    if backend.precision != "bf16":
        return None
    processor = lacks_bfloat16(backend.device)
    if processor is None:
        return None
    kind_of_note = "slow_bfloat16"
    if backend.device.type == "cuda":
        kind_of_note = "slow_bfloat16_on_gpu"
    return Note(kind_of_note, processor=processor)
