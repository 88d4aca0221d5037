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
    """A scalar to minimise, and what to log about it.

    What is logged are scalars without gradient, still on the device.

    Attributes:
        total: the loss.
        terms: its parts, which add up to it.
        figures: shares that show how training is going: of easy images, of attacks that
            succeed, ...

    Example:
        >>> from randsmooth import methods
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        >>> x, y = torch.rand(3, 1, 8, 8), torch.tensor([0, 1, 2])
        >>> noise = torch.randn(2, 3, 1, 8, 8)
        >>> loss = methods.create("stability", lbd=2.0, m=2).loss(model, x, y, noise)
        >>> torch.allclose(loss.total, sum(loss.terms.values()))
        True
    """

    total: Tensor
    terms: dict[str, Tensor]
    figures: dict[str, Tensor]

    @classmethod
    def of(cls, figures: dict[str, Tensor], **terms: Tensor) -> Loss:
        """Return the loss that is the sum of the `terms`."""
        return cls(
            total=torch.stack(list(terms.values())).sum(),
            terms={name: term.detach() for name, term in terms.items()},
            figures=figures,
        )


class LossInputs(NamedTuple):
    """What some methods need in addition to images and noise.

    Attributes:
        u: (B,) a uniform random number in [0, 1) for each image, for methods whose loss
            is random beyond the noise.
        target: (B, K) a teacher's smoothed prediction for each image.
        sigma: the standard deviation of Gaussian noise, where the loss itself depends
            on it.
        classifier: the classifier that a denoiser is trained for, in eval mode; it
            takes no gradient itself.

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
        """Return the part `name`, for a loss that needs it.

        Raises:
            Problem: it is None.
        """
        value = getattr(self, name)
        if value is None:
            raise BadValue(
                f"this loss needs inputs.{name}: pass loss(..., "
                f"inputs=LossInputs({name}=...))"
            )
        return value


@dataclasses.dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A training objective.

    It is a frozen dataclass of hyperparameters in its paper's letters.

    A field is annotated with its type and range, such as `Count`, `Positive` or
    `Annotated[float, Field(le=2)]`.

    Raises:
        Problem: a hyperparameter has another type than its field declares, or is out of
            range.

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
        ...         noisy = (x + noise).flatten(0, 1)  # m copies of each image
        ...         logits = model(noisy)
        ...         loss = nn.functional.cross_entropy(logits, y.repeat(self.m))
        ...         return Loss.of({}, cross_entropy=loss)
        >>> x, y = torch.rand(3, 1, 8, 8), torch.tensor([0, 1, 2])
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        >>> Plain().loss(model, x, y, torch.randn(2, *x.shape)).total.shape
        torch.Size([])
    """

    # The paper.
    source: ClassVar[str]
    # Whether its formula holds under Gaussian noise of one sigma alone.
    gaussian_only: ClassVar[bool] = False

    if TYPE_CHECKING:
        # A field in most methods, a property where the paper has another letter for it.
        @property
        def m(self) -> int:
            """Count the noise samples of an image."""

    def __post_init__(self) -> None:
        record_of(type(self))(**self.hyperparameters())
        self.check()

    def hyperparameters(self) -> dict[str, Any]:
        """Return the value of each field by its name."""
        names = [field.name for field in dataclasses.fields(self)]
        return {name: getattr(self, name) for name in names}

    def check(self) -> None:  # noqa: B027 most need not override it
        """Raise Problem for hyperparameters that do not go together.

        Their types and ranges have been checked before.
        """

    @abstractmethod
    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """Return the objective, a mean over the images.

        The network sees x + noise. Under a noise that adds channels to an image, x and
        noise have them too, and under one that is not added, such as splitting, `noise`
        is what its copies are apart from x (see `Noise.offsets`).

        On several devices each is given a part of the batch, and the gradients' mean,
        weighted by the number of images, is taken. What a loss computes from a batch as
        a whole, it computes there from its part.

        Args:
            model: the network, which gives logits.
            x: (B, C, H, W) in [0, 1].
            y: (B,) labels.
            noise: (m, B, C, H, W)
            inputs: what some methods need besides.

        Raises:
            Problem: the method needs a part of `inputs` that is None.
        """

    def check_noise(self, x: Tensor, noise: Tensor) -> None:
        """Raise Problem unless noise (m, *) holds m noises for each of x (*)."""
        fitting_shape = (self.m, *x.shape)
        if noise.shape != fitting_shape:
            raise BadValue(
                f"noise of shape {tuple(noise.shape)} does not fit: m={self.m} noises "
                f"of each image have shape {fitting_shape}"
            )

    def schedule(self) -> Schedule:
        """Return a fresh schedule for one training run."""
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
        """Count (M,) how many noisy copies of each image are classified correctly.

        Args:
            indices: (M,) positions in the training split.
            m: noisy copies of each image.
            of: folder of another model to use instead of the one in training.
            augmented: copy one randomly augmented version of each image instead of the
                image itself.
            enough: ask about an image only until so many copies were classified
                correctly, or cannot be any more. Its count is then at least `enough` if
                and only if that of all m is, and otherwise says no more.
        """


class Teacher(Protocol):
    """Gives another model's smoothed predictions for the training images.

    Example:
        >>> def unsure(folder, n, *, augmented=False):
        ...     return torch.full((3, 10), 0.1)  # of three images and ten classes
        >>> teacher: Teacher = unsure
        >>> teacher("runs/teacher", 100).sum(dim=1)
        tensor([1.0000, 1.0000, 1.0000])
    """

    def __call__(self, folder: str, n: int, *, augmented: bool = False) -> Tensor:
        """Return (N, K) the share of n noisy copies of each image in each class.

        The model in `folder` classifies them. `augmented` has the same meaning as for a
        `Probe`.
        """


class Schedule:
    """What changes from epoch to epoch.

    This class serves most methods: each image once, and always the same objective, but
    for parts that begin late and hyperparameters that grow, as the method's fields say
    (see `begins`, `ramps`).

    Attributes:
        method: the hyperparameters.
        remark: what the user is told of the epoch that `advance` prepared.

    Example:
        >>> from randsmooth import methods
        >>> schedule = methods.create("smoothadv", eps=1.0).schedule()
        >>> round(schedule.objective(epoch=0).eps, 3), schedule.objective(epoch=20).eps
        (0.1, 1.0)
        >>> sorted(schedule.order(0, total=4, stream=Stream(0, "an example")).tolist())
        [0, 1, 2, 3]
    """

    remark = ""

    def __init__(self, method: Method) -> None:
        self.method = method

    def prepare(self, teacher: Teacher) -> None:
        """Get a teacher's predictions, if there is one, before the first epoch."""

    def advance(self, epoch: int, total: int, probe: Probe) -> dict[str, float]:
        """Prepare `epoch` (from 0) on `total` images, and return figures to log."""
        return {}

    def copies(self, epoch: int) -> int:
        """Return about how many noisy copies of each image `advance` asks about.

        It is for the estimate of time.
        """
        return 0

    def objective(self, epoch: int) -> Method:
        """Return the objective of `epoch`.

        It is without the parts that begin later, and with what grows as large as it is
        then.
        """
        method = self.method
        now: dict[str, Any] = {}
        for field_of_epoch, parts in declared(type(method), "begins").items():
            if epoch < getattr(method, field_of_epoch):
                for part in parts:
                    # False, 0 or 0.0, by which a part is off.
                    now[part] = type(getattr(method, part))(0)
        for field_of_warmup, names in declared(type(method), "ramps").items():
            share = min(1.0, (epoch + 1) / getattr(method, field_of_warmup))
            for name in names:
                now[name] = getattr(method, name) * share
        return dataclasses.replace(method, **now) if now else method

    def order(self, epoch: int, total: int, stream: Stream) -> Tensor:
        """Return (total,) indices of the images of `epoch`, in order.

        All epochs thus have equally many steps.
        """
        return torch.randperm(total, generator=stream.torch())

    def target(self, indices: Tensor) -> Tensor | None:
        """Return (B, K) the teacher's predictions for the images at `indices` (B,).

        None for a method without a teacher.
        """
        return None

    def histograms(self) -> dict[str, Tensor]:
        """Return what to log as histograms after `advance`: name -> values."""
        return {}

    def state(self) -> dict[str, Any]:
        """Return all that a resumed run needs, as tensors and plain values by name."""
        return {}

    def restore(self, state: Mapping[str, Any], total: int) -> None:
        """Continue from the `state` of an interrupted run on `total` images.

        Raises:
            Problem: it cannot be the state of such a run.
        """


def label_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Return (m, B) cross-entropies of logits (m, B, K) with labels (B,)."""
    m, images = logits.shape[:2]
    losses = F.cross_entropy(logits.flatten(0, 1), y.repeat(m), reduction="none")
    return losses.view(m, images)


def p_a_shares(right: Tensor) -> dict[str, Tensor]:
    """Return the shares of easy (p_A > 0.5) and hard (p_A < 0.5) images.

    p_A is the share of m noises at which right (m, B).
    """
    p_a = right.float().mean(dim=0)
    return {
        "easy_share": (p_a > 0.5).float().mean(),
        "hard_share": (p_a < 0.5).float().mean(),
    }


def attacked_shares(before: Tensor, after: Tensor) -> dict[str, Tensor]:
    """Return `p_a_shares` before an attack, and which share of samples it made wrong.

    It is a share of the samples (m, B) that were right before. This is known from the
    network in eval mode, what is right after it from the network in training mode: with
    batch normalisation the two differ a little even if the attack does nothing.
    """
    made_wrong = (before & ~after).sum()
    attack_success = made_wrong / before.sum().clamp_min(1)
    return p_a_shares(before) | {"attack_success": attack_success}
