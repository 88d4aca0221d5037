"""What a training method is, and what it may keep from one epoch to the next."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.errors import BadValue
from randsmooth.methods.hyperparameters import declared, record_of
from randsmooth.noise import Stream


class Loss(NamedTuple):
    """A scalar to minimise, and what to log about it (scalars without gradient, still on the device).

    Attributes:
        total: the loss.
        terms: its parts, which add up to it.
        figures: shares that show how training is going: of easy images, of attacks that succeed, ...

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

    @classmethod
    def of(cls, figures: dict[str, Tensor], **terms: Tensor) -> Loss:
        """The sum of the `terms`."""
        return cls(
            torch.stack([*terms.values()]).sum(),
            {name: term.detach() for name, term in terms.items()},
            figures,
        )


class LossInputs(NamedTuple):
    """What some methods need in addition to images and noise.

    Attributes:
        u: (B,) a uniform random number in [0, 1) for each image, for methods whose loss is random beyond the noise.
        target: (B, K) a teacher's smoothed prediction for each image.
        sigma: the standard deviation of Gaussian noise, where the loss itself depends on it.
        classifier: the classifier that a denoiser is trained for, in eval mode; it takes no gradient itself.

    Example:
        >>> inputs = LossInputs(u=torch.rand(3))  # for a batch of three images
        >>> inputs.u.shape, inputs.target
        (torch.Size([3]), None)
    """

    u: Tensor | None = None
    target: Tensor | None = None
    sigma: float | None = None
    classifier: nn.Module | None = None

    def given(self, name: str) -> Any:
        """The part `name`; Problem if it is None: for a loss that needs it."""
        value = getattr(self, name)
        if value is None:
            raise BadValue(
                f"this loss needs inputs.{name}: pass loss(..., inputs=LossInputs({name}=...))"
            )
        return value


@dataclasses.dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A training objective: a frozen dataclass of hyperparameters in its paper's letters.

    A field is annotated with its type and range, such as `Count`, `Positive` or `Annotated[float, Field(le=2)]`.

    Raises:
        Problem: a hyperparameter has another type than its field declares, or is out of range.

    Example:
        >>> @dataclasses.dataclass(frozen=True, kw_only=True)
        ... class Plain(Method):
        ...     '''Cross-entropy of noisy copies.'''
        ...
        ...     source: ClassVar[str] = "an example"
        ...     m: int = 2
        ...
        ...     def loss(self, model, x, y, noise, inputs=LossInputs()):
        ...         self.check_noise(x, noise)
        ...         logits = model((x + noise).flatten(0, 1))  # of m noisy copies of each image
        ...         return Loss.of({}, cross_entropy=nn.functional.cross_entropy(logits, y.repeat(self.m)))
        >>> x, y = torch.rand(3, 1, 8, 8), torch.tensor([0, 1, 2])
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        >>> Plain().loss(model, x, y, torch.randn(2, *x.shape)).total.shape
        torch.Size([])
    """

    source: ClassVar[str]  # the paper
    gaussian_only: ClassVar[bool] = (
        False  # whether its formula holds under Gaussian noise of one sigma alone
    )

    if (
        TYPE_CHECKING
    ):  # a field in most methods, a property where the paper has another letter for it

        @property
        def m(self) -> int:
            """Noise samples per image."""

    def __post_init__(self) -> None:
        record_of(type(self))(**self.hyperparameters())
        self.check()

    def hyperparameters(self) -> dict[str, Any]:
        """Return the value of each field by its name."""
        names = [field.name for field in dataclasses.fields(self)]
        return {name: getattr(self, name) for name in names}

    def check(self) -> None:  # noqa: B027 most need not override it
        """Raise Problem for hyperparameters that do not go together; their types and ranges have been checked."""

    @abstractmethod
    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """The objective on x (B, C, H, W) in [0, 1], y (B,) and noise (m, B, C, H, W): a mean over the images.

        The network sees x + noise. Under a noise that adds channels to an image, x and noise have them too, and under
        one that is not added, such as splitting, `noise` is what its copies are apart from x (see `Noise.offsets`).

        On several devices each is given a part of the batch, and the gradients' mean, weighted by the number of images,
        is taken. What a loss computes from a batch as a whole, it computes there from its part.

        Raises:
            Problem: the method needs a part of `inputs` that is None.
        """

    def check_noise(self, x: Tensor, noise: Tensor) -> None:
        """Raise Problem unless noise (m, B, C, H, W) holds the method's m noises for each of x (B, C, H, W)."""
        if noise.shape != (wanted := (self.m, *x.shape)):
            got = tuple(noise.shape)
            raise BadValue(
                f"noise of shape {got} does not fit: m={self.m} noises of each image have shape {wanted}"
            )

    def schedule(self) -> Schedule:
        """A fresh schedule for one training run."""
        return Schedule(self)


class Probe(Protocol):
    """Counts how often a model classifies noisy copies of training images correctly.

    Example:
        >>> def always_right(indices, m, of=None, *, augmented=False, enough=None):
        ...     return torch.full((len(indices),), m)
        >>> probe: Probe = always_right
        >>> probe(torch.arange(3), m=16)
        tensor([16, 16, 16])
    """

    def __call__(
        self,
        indices: Tensor,
        m: int,
        of: str | None = None,
        *,
        augmented: bool = False,
        enough: int | None = None,
    ) -> Tensor:
        """(M,) int64: of m noisy copies of each image at `indices` (M,), how many are classified correctly.

        Args:
            indices: positions in the training split.
            m: noisy copies of each image.
            of: folder of another model to use instead of the one in training.
            augmented: copy one randomly augmented version of each image instead of the image itself.
            enough: ask about an image only until so many copies were classified correctly, or cannot be any more. Its
                count is then at least `enough` if and only if that of all m is, and otherwise says no more.
        """


class Teacher(Protocol):
    """Gives another model's smoothed predictions for the training images.

    Example:
        >>> def unsure(folder, n, *, augmented=False):
        ...     return torch.full((3, 10), 0.1)  # of three training images and ten classes
        >>> teacher: Teacher = unsure
        >>> teacher("runs/teacher", 100).sum(dim=1)
        tensor([1.0000, 1.0000, 1.0000])
    """

    def __call__(self, folder: str, n: int, *, augmented: bool = False) -> Tensor:
        """(N, K) float32: the share of n noisy copies of each image that the model in `folder` puts into each class.

        `augmented` has the same meaning as for a `Probe`.
        """


class Schedule:
    """What changes from epoch to epoch. This class serves most methods: each image once, and always the same objective,
    but for parts that begin late and hyperparameters that grow, as the method's fields say (see `begins`, `ramps`).

    Example:
        >>> from randsmooth import methods
        >>> schedule = methods.create("smoothadv", eps=1.0).schedule()
        >>> round(schedule.objective(epoch=0).eps, 3), schedule.objective(epoch=20).eps
        (0.1, 1.0)
        >>> sorted(schedule.order(0, total=4, stream=Stream(0, "an example")).tolist())
        [0, 1, 2, 3]
    """

    remark = ""  # what the user is told of the epoch that `advance` prepared

    def __init__(self, method: Method) -> None:
        self.method = method

    def prepare(self, teacher: Teacher) -> None:
        """Get the predictions of a teacher, if the method has one; called once, before the first epoch."""

    def advance(self, epoch: int, total: int, probe: Probe) -> dict[str, float]:
        """Prepare `epoch` (from 0) on `total` images; the figures returned are logged."""
        return {}

    def copies(self, epoch: int) -> int:
        """About how many noisy copies of each image `advance` asks its probe about, for the estimate of time."""
        return 0

    def objective(self, epoch: int) -> Method:
        """The objective of `epoch`: without the parts that begin later, and with what grows as large as it is then."""
        method, now = self.method, dict[str, Any]()
        for first, parts in declared(type(method), "begins").items():
            now |= {
                part: type(getattr(method, part))(0)
                for part in parts
                if epoch < getattr(method, first)
            }
        for warmup, names in declared(type(method), "ramps").items():
            share = min(1.0, (epoch + 1) / getattr(method, warmup))
            now |= {name: getattr(method, name) * share for name in names}
        return dataclasses.replace(method, **now) if now else method

    def order(self, epoch: int, total: int, stream: Stream) -> Tensor:
        """(total,) indices of the images of `epoch`, in order; all epochs thus have equally many steps."""
        return torch.randperm(total, generator=stream.torch())

    def target(self, indices: Tensor) -> Tensor | None:
        """(B, K) the teacher's predictions for the images at `indices` (B,); None for a method without a teacher."""
        return None

    def histograms(self) -> dict[str, Tensor]:
        """What to log as histograms after `advance`: name -> values."""
        return {}

    def state(self) -> dict[str, Any]:
        """All that a resumed run needs, as tensors and plain values by name."""
        return {}

    def restore(self, state: Mapping[str, Any], total: int) -> None:
        """Continue from the `state` of an interrupted run on `total` images; Problem if it cannot be one."""


def label_loss(logits: Tensor, y: Tensor) -> Tensor:
    """(m, B) cross-entropies of logits (m, B, K) with labels (B,)."""
    m, images = logits.shape[:2]
    return F.cross_entropy(logits.flatten(0, 1), y.repeat(m), reduction="none").view(
        m, images
    )


def p_a_shares(right: Tensor) -> dict[str, Tensor]:
    """Shares of easy (p_A > 0.5) and hard (p_A < 0.5) images; p_A is the share of m noises at which right (m, B)."""
    p_a = right.float().mean(dim=0)
    return {
        "easy_share": (p_a > 0.5).float().mean(),
        "hard_share": (p_a < 0.5).float().mean(),
    }


def attacked_shares(before: Tensor, after: Tensor) -> dict[str, Tensor]:
    """`p_a_shares` before an attack, and of the samples (m, B) that were right then, the share that is wrong after it.

    Before an attack this is known from the network in eval mode, after it from the network in training mode: with
    batch normalisation the two differ a little even if the attack does nothing.
    """
    return p_a_shares(before) | {
        "attack_success": (before & ~after).sum() / before.sum().clamp_min(1)
    }
