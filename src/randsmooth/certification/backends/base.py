"""What runs the base classifier, one call from noisy images to logits; on what processor; and what is fastest there."""

import copy
import os
import platform
import statistics
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from randsmooth.certificates import ARITHMETICS, PRECISIONS, Precision
from randsmooth.certificates.settings import AskedPrecision
from randsmooth.certification.backends.registry import AUTO, BACKENDS, check_backend
from randsmooth.documents import shown
from randsmooth.errors import BadValue, ModelFailed, Problem, WrongModel, check_known
from randsmooth.models import ForeignModel, check_logits, foreign_parts
from randsmooth.notes import Note

ROUNDS = 5  # of a trial
LIMITS = (
    "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",
)  # of oneDNN's instructions: the first one that is set counts
RECORDED = (
    *LIMITS,
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
)  # as they are, where set
WITH_BFLOAT16 = (
    "BF16",
    "FP16",
    "AMX",
    "AVX10_1_512",
    "ALL",
    "DEFAULT",
)  # ends of the limits that leave them
AMPERE = (
    8,
    0,
)  # the compute capability from which on NVIDIA's GPUs have units for bfloat16


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
        tried_on: kinds of device, such as "cpu", on which `auto` measures how fast it is.
        packages: modules that it needs, on whose versions the logits depend besides torch's.
        workers: how many answers are computed at once; set before the first, above 1 only where `parallel`.
        spare: how many more threads ask than that: each draws noise while the others wait for their answers.
        padded: whether batches are filled up to one size, with images whose answers are thrown away.
        size: samples of a full batch; set before the first answer.
        one_by_one: whether it turned out that the model takes one image at a time.
        answered: whether it has answered a batch of several images.

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
    tried_on: ClassVar[tuple[str, ...]] = ()
    packages: ClassVar[tuple[str, ...]] = ()
    workers: int = 1
    spare: ClassVar[int] = 0
    padded: bool = True
    size: int = 0
    one_by_one: bool = False
    answered: bool = False
    precision: Precision
    device: torch.device

    @abstractmethod
    def __init__(self, model: Any, device: torch.device, precision: Precision) -> None:
        """Make ready to run `model`, which the class accepts. Problem where it cannot, in a sentence."""

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        """Whether it runs models of this kind: by default torch modules, without parts of other kinds."""
        return isinstance(model, nn.Module) and not foreign_parts(model)

    @classmethod
    def installed(cls) -> bool:
        """Whether the packages that it needs are installed."""
        return all(find_spec(package) is not None for package in cls.packages)

    @property
    def votes(self) -> bool:
        """Whether its logits are votes, 1 for the label and 0 elsewhere; known once it has answered."""
        model = getattr(self, "model", None)
        return isinstance(model, ForeignModel) and model.labels

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
        return torch_instructions(self.device)

    def logits(self, noisy: Tensor) -> Tensor:
        """(B, K) float32 or float64, of noisy images (B, C, H, W) float32.

        Raises:
            Problem: the classifier refuses the shape, or answers with something else than logits.
        """
        return check_logits(self.asked(noisy), len(noisy))

    def asked(self, noisy: Tensor) -> Any:
        """What the base classifier says of `noisy`, unchecked; image by image where it takes no batch of several.

        That is found out by the first batch alone, of a model that is given full batches.
        """
        if self.one_by_one:
            return torch.cat([self.answer(image).clone() for image in noisy.split(1)])
        try:
            answer = self.answer(noisy)
        except ModelFailed:
            if (
                self.answered
                or not self.padded
                or len(noisy) == 1
                or not self._takes_one(noisy[:1])
            ):
                raise
            self.one_by_one = True
            return self.asked(noisy)
        self.answered = True
        return answer

    def _takes_one(self, image: Tensor) -> bool:
        """Whether it gives logits (1, K) to one image."""
        try:
            check_logits(self.answer(image), 1)
        except Problem:
            return False
        return True

    @abstractmethod
    def answer(self, noisy: Tensor) -> Any:
        """What the base classifier says of `noisy`, unchecked."""


def own_copy(model: nn.Module) -> nn.Module:
    """A copy of the model; itself where it holds what cannot be copied, such as a connection, and no weights.

    Raises:
        Problem: it cannot be copied, and has weights that may change meanwhile.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> own_copy(model) is model
        False
    """
    try:
        with warnings.catch_warnings(
            action="ignore"
        ):  # torch's, of its exported programs and of traces
            return copy.deepcopy(model)
    except (
        TypeError,
        ValueError,
        RuntimeError,
        RecursionError,
        NotImplementedError,
    ) as error:
        if next(iter(model.state_dict()), None) is None:
            return model
        said = f"the model cannot be copied ({shown(error)}): keep locks, connections and such apart from its weights"
        raise WrongModel(said) from error


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


def in_batches(
    answer: Callable[[Tensor], Tensor],
    images: Tensor,
    size: int | None,
    *,
    filled: bool = True,
) -> Tensor:
    """What `answer` gives for `images`, asked in batches of `size` (None: all at once), the last filled up with zeros.

    Example:
        >>> in_batches(lambda part: part[:, :1] * len(part), torch.arange(6.0).reshape(3, 2), 2).tolist()
        [[0.0], [4.0], [8.0]]
    """
    if size in (None, len(images)):
        return answer(images)
    missing = -len(images) % size if filled else 0
    images_and_zeros = nn.functional.pad(
        images, (0, 0) * (images.dim() - 1) + (0, missing)
    )
    return torch.cat([answer(part).clone() for part in images_and_zeros.split(size)])[
        : len(images)
    ]


class Way(NamedTuple):
    """A way to run a base classifier: the name of a backend, and its precision.

    Example:
        >>> print(Way("torch", "32"), Way("openvino", "bf16"), sep=", ")
        torch, openvino in bfloat16
    """

    backend: str
    precision: Precision

    def __str__(self) -> str:
        return (
            self.backend
            if self.precision == "32"
            else f"{self.backend} in {ARITHMETICS[self.precision]}"
        )


def make_backend(
    name: str,
    model: nn.Module | ForeignModel,
    device: torch.device,
    precision: Precision,
) -> Backend:
    """The backend called `name` around `model`.

    Raises:
        Problem: no such backend or precision, one that is not installed, or one that cannot run this model.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
        >>> backend = make_backend("torch", model, torch.device("cpu"), "32")
        >>> with torch.inference_mode():
        ...     backend.logits(torch.zeros(3, 1, 2, 2)).shape
        torch.Size([3, 2])
    """
    check_known("precision", PRECISIONS, precision)
    check_backend(name)
    kind = BACKENDS[name]
    if not kind.accepts(model):
        raise BadValue(field="backend", value=name, expected=f"{kind.runs}")
    return kind(model, device, precision)


def usual_backend(model: nn.Module | ForeignModel) -> str:
    """The backend of a model where the user names none.

    Example:
        >>> usual_backend(nn.Flatten())
        'torch'
    """
    return next(name for name, kind in BACKENDS.items() if kind.accepts(model))


def weighed(device: torch.device) -> tuple[Precision, ...]:
    """The precisions that `auto` weighs: float32, and the shorter format for which `device` has units.

    Example:
        >>> weighed(torch.device("cpu"))
        ('32', 'bf16')
    """
    return (
        ("32", "fp16")
        if device.type == "cuda" and lacks_bfloat16(device)
        else ("32", "bf16")
    )


def ways(
    model: nn.Module | ForeignModel,
    device: torch.device,
    backend: str | None,
    precision: AskedPrecision,
) -> list[Way]:
    """The ways to run `model` that a backend (None: the usual one) and a precision leave open, the usual ones first.

    "auto" leaves open the usual backend and all others that are installed and say that it may try them.

    Example:
        >>> [str(way) for way in ways(nn.Flatten(), torch.device("cpu"), None, "auto")]
        ['torch', 'torch in bfloat16']
    """
    names = [usual_backend(model) if backend in (None, AUTO) else str(backend)]
    if backend == AUTO:
        others = (
            (n, kind)
            for n, kind in BACKENDS.items()
            if n not in names and kind.accepts(model)
        )
        names += [
            n for n, kind in others if device.type in kind.tried_on and kind.installed()
        ]
    precisions = weighed(device) if precision == "auto" else (precision,)
    return [Way(name, each) for each in precisions for name in names]


def one_at_a_time(backend: Backend) -> Note | None:
    """What to say before a run of a model that takes one image at a time; None of others.

    Example:
        >>> one_at_a_time(make_backend("torch", nn.Flatten(), torch.device("cpu"), "32")) is None
        True
    """
    if not backend.one_by_one:
        return None
    return Note("one_image_at_a_time")


def slow_format(backend: Backend) -> Note | None:
    """What to say before a run whose precision the processor computes in slowly, with the better choice; else None.

    Example:
        >>> slow_format(make_backend("torch", nn.Flatten(), torch.device("cpu"), "32")) is None
        True
    """
    if backend.precision != "bf16":
        return None
    processor = lacks_bfloat16(backend.device)
    if processor is None:
        return None
    kind = "slow_bfloat16"
    if backend.device.type == "cuda":
        kind = "slow_bfloat16_on_gpu"
    return Note(kind, processor=processor)


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
    return best, {
        way: statistics.median(rates[way] for rates in rounds) for way in runs
    }


def processor() -> str:
    """The CPU's name, with its family, model and stepping, since virtual machines may call theirs just `AMD EPYC`.

    Example:
        >>> processor() != ""
        True
    """
    linux = _from_linux()
    name = (
        features().get("cpu_name")
        or linux.get("model name")
        or platform.processor()
        or platform.machine()
    )
    numbers = ", ".join(
        f"{key} {linux[key]}"
        for key in ("cpu family", "model", "stepping")
        if key in linux
    )
    return f"{name} ({numbers})" if numbers else str(name)


def torch_instructions(device: torch.device) -> str:
    """The instructions that torch computes with on `device`: on a CPU those that it has, and what limits them.

    Example:
        >>> torch_instructions(torch.device("cpu")).split()[0]
        'ATen'
    """
    if device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(device)
        return f"compute capability {major}.{minor}"
    return f"ATen {torch.backends.cpu.get_cpu_capability()}, {cpu_instructions()}"


def cpu_instructions() -> str:
    """The vector instructions of the CPU, and the variables, where they are set, that limit what libraries use."""
    had = sorted(
        name
        for name, has in features().items()
        if has is True and name.startswith(("avx", "amx", "sse4"))
    )
    limits = [f"{name}={os.environ[name]}" for name in RECORDED if os.environ.get(name)]
    return ", ".join([" ".join(had) or platform.machine(), *limits])


def lacks_bfloat16(device: torch.device) -> str | None:
    """What computes on `device`, in words, where it has no units for bfloat16; None if it has, or that is not known.

    A limit on oneDNN's instruction set (ONEDNN_MAX_CPU_ISA) counts, since torch does not use what lies beyond it.

    Example:
        >>> lacks_bfloat16(torch.device("cpu")) in ("this processor", None)
        True
    """
    if device.type == "cuda":
        return (
            None
            if torch.cuda.get_device_capability(device) >= AMPERE
            else torch.cuda.get_device_name(device)
        )
    limit = next(
        (os.environ[name].upper() for name in LIMITS if os.environ.get(name)), "ALL"
    )
    has_units = features().get("avx512_bf16") and limit.endswith(WITH_BFLOAT16)
    return None if has_units or "avx2" not in features() else "this processor"


@cache
def features() -> Mapping[str, Any]:
    """The CPU's features as torch reports them; which differ from one architecture to another.

    Example:
        >>> features().get("avx2", False) in (True, False)
        True
    """
    return torch.cpu.get_capabilities()


@cache
def _from_linux() -> dict[str, str]:
    """What /proc/cpuinfo says of the first CPU; empty on systems other than Linux."""
    path = Path("/proc/cpuinfo")
    first = path.read_text().partition("\n\n")[0] if path.exists() else ""
    facts = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in facts}
