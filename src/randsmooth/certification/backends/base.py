"""What runs the base classifier, one call from noisy images to logits, and which backend counts fastest."""

from __future__ import annotations

import copy
import statistics
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from randsmooth.certificates import ARITHMETICS, PRECISIONS, Precision
from randsmooth.certification.backends.processor import lacks_bfloat16, processor, with_torch
from randsmooth.certification.backends.registry import BACKENDS, check_backend
from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown
from randsmooth.models import ForeignModel, foreign_parts

ROUNDS = 5  # of a trial
RAISED = ("RuntimeError:", "ValueError:", "AssertionError:", "TypeError:")  # begin the last line of a script's error


class Backend(ABC):
    """Runs batches of one fixed shape, so that an answer's rounding never depends on how full a batch is.

    One that is not `padded` is given what is to be counted and nothing else, in batches of any size up to `size`.

    Another package adds one by an entry point of the group `randsmooth.backends`: a subclass whose `name` is that of
    the entry point.

    Attributes:
        name: what users call it.
        runs: for the error about a model that it does not accept: what it runs, and what to do.
        parallel: whether several threads may ask at once.
        precision: "32", "bf16" or "fp16": the arithmetic of the layers, and so a part of the base classifier.
        device: where the noisy images are made and the logits end up.
        packages: modules that it needs, on whose versions the logits depend besides torch's.
        workers: how many answers are computed at once; set before the first, above 1 only where `parallel`.
        spare: how many more threads ask than that: each draws noise while the others wait for their answers.
        padded: whether batches are filled up to one size, with images whose answers are thrown away.
        size: samples of a full batch; set before the first answer.

    Example:
        >>> class Double(Backend):
        ...     name = "double"
        ...     def __init__(self, model, device, precision):
        ...         self.model, self.device, self.precision = own_copy(model).double(), device, precision
        ...     def answer(self, noisy):
        ...         return self.model(noisy.double())
        >>> Double(nn.Flatten(), torch.device("cpu"), "32").logits(torch.zeros(2, 1, 2, 2)).dtype
        torch.float64
    """

    name: ClassVar[str]
    runs: ClassVar[str] = "runs torch models, not ONNX files; use onnx or openvino"
    parallel: ClassVar[bool] = False
    packages: ClassVar[tuple[str, ...]] = ()
    workers: int = 1
    spare: ClassVar[int] = 0
    padded: bool = True
    size: int = 0
    precision: Precision
    device: torch.device

    @abstractmethod
    def __init__(self, model: Any, device: torch.device, precision: Precision) -> None:
        """Make ready to run `model`, which the class accepts. InputError where it cannot, in a sentence."""

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        """Whether it runs models of this kind: by default torch modules, without parts of other kinds."""
        return isinstance(model, nn.Module) and not foreign_parts(model)

    @classmethod
    def installed(cls) -> bool:
        """Whether the packages that it needs are installed."""
        return all(find_spec(package) is not None for package in cls.packages)

    @classmethod
    def tried_by_auto(cls, device: torch.device) -> bool:
        """Whether `auto` measures how fast it is on `device`: by default it does not."""
        return False

    @property
    def votes(self) -> bool:
        """Whether its logits are votes, 1 for the label and 0 elsewhere; known once it has answered."""
        return False

    @property
    def arithmetic(self) -> str:
        """The number format of the layers, in words."""
        return ARITHMETICS[self.precision]

    @property
    def processor(self) -> str:
        """Kind and model of what computes: another may give other last bits, and a GPU's generator other noise."""
        if self.device.type == "cuda":
            return torch.cuda.get_device_name(self.device)
        return f"cpu, {processor()}"

    @property
    def instructions(self) -> str:
        """The instructions that it computes with, as this runtime chooses them."""
        return with_torch(self.device)

    def logits(self, noisy: Tensor) -> Tensor:
        """(B, K) float32 or float64, of noisy images (B, C, H, W) float32.

        Raises:
            InputError: the classifier refuses the shape, or answers with something else than logits.
        """
        answer = self.answer(noisy)
        if not isinstance(answer, Tensor) or answer.dim() != 2 or len(answer) != len(noisy) or answer.shape[1] < 2:
            got = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
            raise InputError(
                f"the model answers {len(noisy)} images with {got}; expected logits ({len(noisy)}, K), K >= 2"
            )
        return answer.float() if answer.element_size() == 2 else answer

    @abstractmethod
    def answer(self, noisy: Tensor) -> Any:
        """What the base classifier says of `noisy`, unchecked."""


def own_copy(model: nn.Module) -> nn.Module:
    """A copy of the model; itself where it holds what cannot be copied, such as a connection, and no weights.

    Raises:
        InputError: it cannot be copied, and has weights that may change meanwhile.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> own_copy(model) is model
        False
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # torch's, of the parts of its own exported programs
            return copy.deepcopy(model)
    except (TypeError, ValueError, RuntimeError, RecursionError, NotImplementedError) as error:
        if next(iter(model.state_dict()), None) is None:
            return model
        raise InputError(
            f"the model ({type(model).__qualname__}) cannot be copied ({shown(error)}), so it could change while it is "
            "counted: keep what cannot be copied (a lock, a connection) outside of the module that holds the weights"
        ) from error


def frozen(model: nn.Module) -> nn.Module:
    """The model, whose parameters ask for no gradients from now on; TorchScript has no `requires_grad_` for them all.

    Example:
        >>> any(parameter.requires_grad for parameter in frozen(nn.Linear(2, 2)).parameters())
        False
    """
    for parameter in model.parameters():
        if parameter.is_leaf:  # those of a copied script are not
            parameter.requires_grad_(False)
    return model


def refused(noisy: Tensor, error: Exception, model: object = None) -> InputError:
    """The error for images that a classifier cannot take.

    Args:
        noisy: (B, C, H, W) the images.
        error: the runtime's own, of which the message keeps the line that says most.
        model: the classifier; of a torch module the message says what its first layer takes.

    Example:
        >>> print(refused(torch.zeros(4, 1, 8, 8), RuntimeError("expected 3 channels")))
        the model refuses images of shape (1, 8, 8) (expected 3 channels): is it for images of another number of \
channels or another size?
        >>> print(refused(torch.zeros(4, 1, 8, 8), RuntimeError("so many words"), nn.Sequential(nn.Conv2d(3, 8, 3))))
        the model refuses images of shape (1, 8, 8) (so many words): its first layer, 0, takes 3 channels
    """
    way_out = _first_layer(model) if isinstance(model, nn.Module) else ""
    return InputError(
        f"the model refuses images of shape {tuple(noisy.shape[1:])} ({_reason(error)}): "
        + (way_out or "is it for images of another number of channels or another size?")
    )


def _reason(error: Exception) -> str:
    """The line of the error's message that says what was wrong: TorchScript's own words come before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return shown(next((line for line in reversed(lines) if line.startswith(RAISED)), lines[0]))


def _first_layer(model: nn.Module) -> str:
    """What the first layer with weights takes, as far as it is a usual one; empty otherwise."""
    for name, layer in model.named_modules():
        for attribute, what in (("in_channels", "channels"), ("in_features", "numbers an image")):
            if type(number := getattr(layer, attribute, None)) is int:
                return f"its first layer, {name or type(layer).__name__}, takes {number} {what}"
    return ""


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
