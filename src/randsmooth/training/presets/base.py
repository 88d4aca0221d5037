"""What a preset is, the schedules that presets share, and functions that write down the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from randsmooth.errors import InputError
from randsmooth.training.schedule import Optimisation

SIGMAS = (0.25, 0.5, 1.0)


CIFAR = Optimisation(epochs=150, lr=0.1, lr_milestones=(50, 100))
MNIST = Optimisation(epochs=150, lr=0.01, lr_milestones=(50, 100))
IMAGENET = Optimisation(epochs=90, lr=0.1, lr_milestones=(30, 60))
DIGITS = Optimisation(epochs=40, lr=0.05, lr_milestones=(15, 30))
LOGGED = Optimisation(epochs=90, lr=0.01, lr_milestones=(30, 60))  # in the Consistency and SmoothMix papers' MNIST logs

CIFAR10 = ("cifar10", "cifar10-jpeg")  # the same images

USUAL = {"digits": DIGITS, "imagenet": IMAGENET}
USUAL |= dict.fromkeys(("mnist", "fashion-mnist"), MNIST) | dict.fromkeys((*CIFAR10, "cifar100", "svhn"), CIFAR)
USUAL_OF_ARCH = {"small-cnn": DIGITS, "lenet": MNIST}


def usual_optimisation(dataset: str, arch: str) -> Optimisation:
    """The schedule usual in the literature for a data set or, for a user's own data set, for the architecture."""
    return USUAL.get(dataset) or USUAL_OF_ARCH.get(arch, CIFAR)


# Two versions of one row of a main table: as the text describes it, and as the table's figures were made.
PROSE, TABLE = "prose", "table1"


@dataclass(frozen=True)
class Preset:
    """One method on some data sets, with the hyperparameters that may depend on sigma.

    Attributes:
        name: paper/method; paper/method/variation for a row of an ablation table, or for one of two versions of a row.
        method: its registered name.
        source: paper and table or appendix.
        datasets: names it was published for; empty: any data set.
        optimisation: the training schedule; None: the one usual for the data set.
        fixed: hyperparameters that are the same at every sigma.
        by_sigma: hyperparameters at each sigma, in addition to the fixed ones; empty: none depends on sigma.
        batch: noisy samples per step, instead of the schedule's.
        arch: architecture; None: the data set's.
        reference_epochs: the length of run for which hyperparameters that count epochs are given; None: the schedule's.

    Example:
        >>> preset = Preset("mine/gaussian", "gaussian", "an example", ("mnist",), fixed={"m": 2})
        >>> preset.serves("cifar10"), preset.hyperparameters(0.5)
        (False, {'m': 2})
    """

    name: str
    method: str
    source: str
    datasets: tuple[str, ...] = ()
    optimisation: Optimisation | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    by_sigma: Mapping[float, Mapping[str, Any]] = field(default_factory=dict)
    batch: int | None = None
    arch: str | None = None
    reference_epochs: int | None = None

    @property
    def base(self) -> str:
        """The name without the variation."""
        return "/".join(self.name.split("/")[:2])

    @property
    def variation(self) -> str:
        """What the row of an ablation table changes, or which of two versions this is; empty for a main preset."""
        return self.name.removeprefix(self.base).removeprefix("/")

    @property
    def main(self) -> bool:
        """Whether this is a model of a main table, in either version if there are two."""
        return self.variation in ("", PROSE, TABLE)

    def serves(self, dataset: str) -> bool:
        return not self.datasets or dataset in self.datasets

    def schedule(self, dataset: str, arch: str) -> Optimisation:
        """The training schedule of `arch` on `dataset`."""
        optimisation = self.optimisation or usual_optimisation(dataset, arch)
        return optimisation if self.batch is None else optimisation.replace(batch=self.batch)

    def hyperparameters(self, sigma: float) -> dict[str, Any]:
        """All hyperparameters at `sigma`, or at the nearest published sigma if this one is not published."""
        return {**self.fixed, **self.by_sigma.get(self.nearest(sigma), {})}

    def usual_sigma(self) -> float:
        """The sigma that it was published for or, of several, the middle one.

        Raises:
            InputError: it names none.
        """
        if not self.by_sigma:
            raise InputError(f"{self.name} names no sigma: give one, such as sigma=0.5 (--sigma 0.5)")
        return sorted(self.by_sigma)[len(self.by_sigma) // 2]

    def nearest(self, sigma: float) -> float:
        """The published sigma whose values are used at `sigma`."""
        return min(self.by_sigma, key=lambda known: abs(known - sigma), default=sigma)


def each(*, sigmas: tuple[float, ...] = SIGMAS, **columns: tuple[Any, ...]) -> dict[float, dict[str, Any]]:
    """Hyperparameters by sigma, from a column for each hyperparameter: lbd=(20.0, 10.0, 10.0)."""
    return {sigma: {key: column[i] for key, column in columns.items()} for i, sigma in enumerate(sigmas)}


def row(main: Preset, variation: str, source: str, *, sigmas: Iterable[float] = (), **changes: Any) -> Preset:
    """`main` with some hyperparameters changed as in a row of a table, at the table's `sigmas`."""
    by_sigma = {sigma: {**main.by_sigma.get(sigma, {}), **changes} for sigma in sigmas or main.by_sigma}
    return replace(main, name=f"{main.base}/{variation}", source=source, by_sigma=by_sigma)


def rows(
    main: Preset, key: str, values: Iterable[float], source: str, *, prefix: str = "", **same: Any
) -> tuple[Preset, ...]:
    """A `row` for each of the `values` of the hyperparameter `key`; `same` are the changes common to all rows."""
    changes: dict[float, dict[str, Any]] = {value: {key: value, **same} for value in values}
    return tuple(row(main, f"{prefix}{key}={value:g}", source, **change) for value, change in changes.items())
