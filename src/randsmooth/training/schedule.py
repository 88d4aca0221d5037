"""The learning rate of every epoch, and the optimiser's other settings.

Another schedule is another `lr_at` here.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import Field, field_validator

from randsmooth.errors import BadValue
from randsmooth.frozen_record import FrozenRecord
from randsmooth.methods.hyperparameters import Count, NotNegative, Positive


class Optimisation(FrozenRecord):
    """The optimiser's settings.

    The rate `lr` is multiplied at `lr_milestones`, as torch's MultiStepLR does. The
    names begin with `lr_` because MACER has a gamma of its own. `batch` counts noisy
    samples: m noises for each of batch / m images.

    Attributes:
        epochs: length of the run
        lr: first learning rate
        lr_milestones: epochs, counted from 0, at which it is multiplied by `lr_gamma`
        lr_gamma: the factor of the learning rate at each milestone
        batch: noisy samples a step: m for each of batch / m images
        momentum: the momentum of SGD
        weight_decay: the weight decay of SGD

    Raises:
        Problem: a value of a wrong type or out of its range.

    Example:
        >>> settings = Optimisation(epochs=150, lr=0.1, lr_milestones=(50, 100))
        >>> settings.summary()
        '150 epochs, lr 0.1 (x0.1 at epochs 50, 100), batch 256, weight decay 0.0001'
        >>> [round(settings.lr_at(epoch), 4) for epoch in (0, 49, 50, 100)]
        [0.1, 0.1, 0.01, 0.001]
        >>> settings.stretched(30).lr_milestones
        (10, 20)
    """

    epochs: Count
    lr: Positive
    lr_milestones: tuple[int, ...] = ()
    lr_gamma: Positive = 0.1
    batch: Count = 256
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    weight_decay: NotNegative = 1e-4

    def lr_at(self, epoch: int) -> float:
        """Return the learning rate in `epoch`, counted from 0."""
        passed = [milestone for milestone in self.lr_milestones if epoch >= milestone]
        return self.lr * self.lr_gamma ** len(passed)

    def stretched(self, epochs: int) -> Self:
        """Return the same schedule over a run of another length."""
        factor = epochs / self.epochs
        # A set, since two milestones at one epoch would multiply the learning rate
        # twice.
        scaled_milestones = {scaled(epoch, factor) for epoch in self.lr_milestones}
        reached = [epoch for epoch in scaled_milestones if epoch < epochs]
        milestones = tuple(sorted(reached))
        return self.model_copy(update={"epochs": epochs, "lr_milestones": milestones})

    def summary(self) -> str:
        """Return the settings in one line."""
        rate = f"lr {self.lr:g}"
        if self.lr_milestones:
            milestones = ", ".join(map(str, self.lr_milestones))
            rate += f" (x{self.lr_gamma:g} at epochs {milestones})"
        parts = [
            counted_epochs(self.epochs),
            rate,
            f"batch {self.batch}",
            f"weight decay {self.weight_decay:g}",
        ]
        return ", ".join(parts)

    @field_validator("lr_milestones", mode="before")
    @classmethod
    def _rising(cls, value: Any) -> Any:
        if isinstance(value, list | tuple) and _are_rising_epochs(value):
            return tuple(value)
        raise BadValue(
            field="lr_milestones",
            value=value,
            expected="must be epochs above 0 in rising order, such as [50, 100]",
        )


def _are_rising_epochs(values: Sequence[Any]) -> bool:
    """Return whether the values are whole numbers above 0 in rising order."""
    # Not isinstance, by which True and False are whole numbers.
    if not all(type(value) is int and value > 0 for value in values):
        return False
    return list(values) == sorted(set(values))


def scaled(epoch: int, factor: float) -> int:
    """Return an epoch's number in a run `factor` times as long; never the first."""
    return max(1, round(epoch * factor))


def counted_epochs(number: int) -> str:
    """Return a number of epochs in words.

    Example:
        >>> counted_epochs(1), counted_epochs(2)
        ('1 epoch', '2 epochs')
    """
    return "1 epoch" if number == 1 else f"{number} epochs"
