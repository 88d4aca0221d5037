"""What a training method is, and what it may remember across epochs."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from randsmooth.methods.checks import check_types
from randsmooth.noise import Stream


class Loss(NamedTuple):
    """A scalar to minimise, and what to log of it (scalars without gradient, still on the device).

    Attributes:
        total: the loss.
        terms: its parts, which add up to it.
        figures: shares that tell how training goes: of easy images, of attacks that succeed, ...

    Example:
        >>> from randsmooth import methods
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        >>> x, y, noise = torch.rand(3, 1, 8, 8), torch.tensor([0, 1, 2]), torch.randn(2, 3, 1, 8, 8)
        >>> loss = methods.create("stability", lbd=2.0, m=2).loss(model, x, y, noise)
        >>> torch.allclose(loss.total, sum(loss.terms.values()))
        True
    """

    total: Tensor
    terms: dict[str, Tensor]
    figures: dict[str, Tensor]


class LossInputs(NamedTuple):
    """What some methods need beside images and noise.

    Attributes:
        u: (B,) one uniform number in [0, 1) an image, for methods that draw more than noise.
        target: (B, K) a teacher's smoothed prediction of each image.
        sigma: the standard deviation of the noise, where the loss itself depends on it.

    Example:
        >>> inputs = LossInputs(u=torch.rand(3))  # for a batch of three images
        >>> inputs.u.shape, inputs.target
        (torch.Size([3]), None)
    """

    u: Tensor | None = None
    target: Tensor | None = None
    sigma: float | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A training objective: a frozen dataclass of hyperparameters in its paper's letters.

    Raises:
        InputError: a hyperparameter of another type than it declares, or out of range.

    Example:
        >>> @dataclasses.dataclass(frozen=True, kw_only=True)
        ... class Plain(Method):
        ...     source = "an example"
        ...     m: int = 2
        ...
        ...     def loss(self, model, x, y, noise, inputs=LossInputs()):
        ...         logits = model((x + noise).flatten(0, 1))  # of m noisy copies of each image
        ...         loss = nn.functional.cross_entropy(logits, y.repeat(self.m))
        ...         return Loss(loss, {"cross_entropy": loss}, {})
        >>> x, y = torch.rand(3, 1, 8, 8), torch.tensor([0, 1, 2])
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        >>> Plain().loss(model, x, y, torch.randn(2, *x.shape)).total.shape
        torch.Size([])
    """

    source: ClassVar[str]  # the paper

    if TYPE_CHECKING:  # a field of most, a property of those whose paper calls it otherwise

        @property
        def m(self) -> int:
            """Noise samples an image."""

    def __post_init__(self) -> None:
        check_types(self)
        self.check()

    def check(self) -> None:  # noqa: B027 a method without ranges to check has nothing to add
        """Raise InputError for hyperparameters out of range; their types are right."""

    @classmethod  # noqa: B027 most methods can train in a single epoch
    def check_epochs(cls, epochs: int, hyperparameters: Mapping[str, Any], chosen: Collection[str]) -> None:
        """Raise InputError where `epochs` are too few for this method.

        Called before the hyperparameters that count epochs are fitted to a run of another length than the preset's.

        Args:
            epochs: of the run.
            hyperparameters: all of them by name, as in a run of the preset's length.
            chosen: the names of those that the user set, which are not fitted.
        """

    @abstractmethod
    def loss(self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, inputs: LossInputs = LossInputs()) -> Loss:
        """The objective on x (B, C, H, W) in [0, 1], y (B,) and noise (m, B, C, H, W).

        Raises:
            InputError: the method needs a part of `inputs` that is not given.
        """

    def schedule(self) -> Schedule:
        """A fresh schedule for one training run."""
        return Schedule(self)


class Probe(Protocol):
    """Asks a model how often it is right about training images under noise.

    Example:
        >>> def always_right(indices, m, of=None, *, augmented=False):
        ...     return torch.full((len(indices),), m)
        >>> probe: Probe = always_right
        >>> probe(torch.arange(3), m=16)
        tensor([16, 16, 16])
    """

    def __call__(self, indices: Tensor, m: int, of: str | None = None, *, augmented: bool = False) -> Tensor:
        """(M,) int64: to how many of m noisy copies of each image at `indices` (M,) its label is given.

        `of` names the folder of another model to ask instead of the one in training. `augmented`: all copies are of
        one version of the image as the data set's training augmentation makes it, not of the plain image.
        """


class Teacher(Protocol):
    """Asks another model for its smoothed predictions of the training images.

    Example:
        >>> def unsure(folder, n, *, augmented=False):
        ...     return torch.full((3, 10), 0.1)  # of three training images and ten classes
        >>> teacher: Teacher = unsure
        >>> teacher("runs/teacher", 100).sum(dim=1)
        tensor([1.0000, 1.0000, 1.0000])
    """

    def __call__(self, folder: str, n: int, *, augmented: bool = False) -> Tensor:
        """(N, K) float32: the shares of n noisy copies of each image that the model in `folder` gives each class.

        `augmented` as of `Probe`.
        """


class Schedule:
    """What changes from epoch to epoch. This one, of most methods: the same objective on every image once.

    Example:
        >>> from randsmooth import methods
        >>> schedule = methods.create("smoothadv", eps=1.0).schedule()
        >>> round(schedule.objective(epoch=0).eps, 3), schedule.objective(epoch=20).eps
        (0.1, 1.0)
        >>> sorted(schedule.order(0, total=4, stream=Stream(0, "an example")).tolist())
        [0, 1, 2, 3]
    """

    def __init__(self, method: Method) -> None:
        self.method = method

    def prepare(self, teacher: Teacher) -> None:
        """Ask the teacher of the run, if it has one, before the first epoch."""

    def advance(self, epoch: int, total: int, probe: Probe) -> dict[str, float]:
        """Prepare `epoch` (from 0) on `total` images; the figures returned are logged."""
        return {}

    def objective(self, epoch: int) -> Method:
        """The objective of `epoch`."""
        return self.method

    def order(self, epoch: int, total: int, stream: Stream) -> Tensor:
        """(total,) the images of `epoch`, in order; an epoch keeps its number of steps."""
        return torch.randperm(total, generator=stream.torch())

    def target(self, indices: Tensor) -> Tensor | None:
        """(B, K) the teacher's predictions of the images at `indices` (B,), for methods that learn from one."""
        return None

    def histograms(self) -> dict[str, Tensor]:
        """What is worth drawing as a histogram after `advance`: name -> values."""
        return {}

    def state(self) -> dict[str, Any]:
        """All that a resumed run needs, of tensors and plain values."""
        return {}

    def restore(self, state: Mapping[str, Any], total: int) -> None:
        """Take up the `state` of an interrupted run on `total` images; InputError where it cannot be of one."""


class Ramp(Schedule):
    """Hyperparameters that grow linearly to their values over the first `warmup` epochs, the first not from 0."""

    def __init__(self, method: Method, warmup: int, *names: str) -> None:
        super().__init__(method)
        self.warmup, self.names = warmup, names

    def objective(self, epoch: int) -> Method:
        share = min(1.0, (epoch + 1) / self.warmup)
        scaled = {name: getattr(self.method, name) * share for name in self.names}
        return dataclasses.replace(self.method, **scaled)
