"""What the papers trained with: each preset is a value that cites its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from randsmooth.errors import InputError, unknown

SIGMAS = (0.25, 0.5, 1.0)


@dataclass(frozen=True, kw_only=True)
class Optimisation:
    """How a step is taken. `batch` counts forward samples: m noises of each of batch / m images."""

    epochs: int
    lr: float
    lr_drops: tuple[int, ...]
    batch: int = 256
    lr_factor: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 1e-4


CIFAR = Optimisation(epochs=150, lr=0.1, lr_drops=(50, 100))
MNIST = Optimisation(epochs=150, lr=0.01, lr_drops=(50, 100))
IMAGENET = Optimisation(epochs=90, lr=0.1, lr_drops=(30, 60))
DIGITS = Optimisation(epochs=40, lr=0.05, lr_drops=(15, 30))

FAMILIES: dict[str, tuple[str, ...]] = {
    "mnist": ("mnist", "fashion-mnist"),
    "cifar10": ("cifar10", "cifar10-jpeg"),
}


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One method on some data sets, with the hyperparameters that may depend on sigma.

    Attributes:
        name: paper/method.
        method: registered name.
        datasets: names it was published for; empty: any data set.
        optimisation: the training schedule; None: the one usual for the data set.
        fixed: hyperparameters the same at every sigma.
        by_sigma: hyperparameters by sigma; empty: any sigma.
        reference_epochs: the schedule that hyperparameters measured in epochs refer to; None: `optimisation`.
        source: paper and table or appendix.
    """

    name: str
    method: str
    source: str
    datasets: tuple[str, ...] = ()
    optimisation: Optimisation | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    by_sigma: Mapping[float, Mapping[str, Any]] = field(default_factory=dict)
    reference_epochs: int | None = None

    def serves(self, dataset: str) -> bool:
        return not self.datasets or dataset in self.datasets

    def hyperparameters(self, sigma: float) -> dict[str, Any]:
        """All hyperparameters at `sigma`; the nearest published sigma's where this one is not published."""
        return {**self.fixed, **self.by_sigma.get(self.nearest(sigma), {})}

    def nearest(self, sigma: float) -> float:
        """The published sigma whose values are used at `sigma`."""
        return min(self.by_sigma, key=lambda known: abs(known - sigma), default=sigma)


AMPLIFY_CIFAR = {
    0.25: {"E_t": 60, "p_t": 0.5, "T": 3, "eps": 0.25},
    0.5: {"E_t": 70, "p_t": 0.4, "T": 6, "eps": 0.25},
    1.0: {"E_t": 60, "p_t": 0.4, "T": 4, "eps": 0.5},
}

# The first preset that serves a data set is the default there for its method.
PRESETS = (
    Preset(
        name="cat-rs/gaussian",
        method="gaussian",
        source="Jeong et al., AAAI 2023, section 4 (training setups)",
        datasets=FAMILIES["mnist"],
        optimisation=MNIST,
        fixed={"m": 1},
    ),
    Preset(
        name="acr/gaussian",
        method="gaussian",
        source="Sun et al., ICML 2025, table 2 and appendix A.1",
        datasets=FAMILIES["cifar10"],
        optimisation=CIFAR,
        fixed={"m": 4},
    ),
    Preset(
        name="cat-rs/gaussian",
        method="gaussian",
        source="Jeong et al., AAAI 2023, section 4 (training setups)",
        datasets=FAMILIES["cifar10"],
        optimisation=CIFAR,
        fixed={"m": 1},
    ),
    Preset(
        name="macer/gaussian",
        method="gaussian",
        source="Zhai et al., ICLR 2020, section 5.1 (baselines)",
        datasets=(*FAMILIES["cifar10"], "mnist", "svhn"),
        fixed={"m": 1},
    ),
    Preset(
        name="acr/gaussian",
        method="gaussian",
        source="Sun et al., ICML 2025, appendix A.1",
        datasets=("imagenet",),
        optimisation=IMAGENET,
        fixed={"m": 1},
    ),
    Preset(
        name="acr/amplify",
        method="amplify",
        source="Sun et al., ICML 2025, appendix A.1, table 6",
        datasets=FAMILIES["cifar10"],
        optimisation=CIFAR,
        fixed={"m": 4},
        by_sigma=AMPLIFY_CIFAR,
    ),
    Preset(
        name="acr/amplify",
        method="amplify",
        source="Sun et al., ICML 2025, appendix A.1, table 7",
        datasets=("imagenet",),
        optimisation=IMAGENET,
        fixed={"E_t": 0, "reweight": False, "discard_noises": 50},
        by_sigma={
            0.25: {"m": 1, "p_t": 0.2, "T": 2, "eps": 0.5},
            0.5: {"m": 1, "p_t": 0.2, "T": 2, "eps": 1.0},
            1.0: {"m": 2, "p_t": 0.1, "T": 1, "eps": 2.0},
        },
    ),
    Preset(
        name="randsmooth/gaussian",
        method="gaussian",
        source="not from a paper: four noises an image, as Sun et al. use, on the data set's usual schedule",
        fixed={"m": 4},
    ),
    Preset(
        name="randsmooth/amplify",
        method="amplify",
        source="not from a paper: the CIFAR-10 values of Sun et al. on the data set's usual schedule",
        fixed={"m": 4},
        by_sigma=AMPLIFY_CIFAR,
        reference_epochs=CIFAR.epochs,
    ),
)


def find(method: str, dataset: str, preset: str | None = None) -> Preset:
    """The preset called `preset`, or the default one, for `method` on `dataset`.

    Raises:
        InputError: no such preset, or it is not for this method or data set.
    """
    if preset is None:
        fitting = [p for p in PRESETS if p.method == method and p.serves(dataset)]
        if not fitting:
            raise InputError(f"no preset trains {method!r} on {dataset!r}; see `randsmooth methods --presets`")
        return fitting[0]
    named = [p for p in PRESETS if p.name == preset]
    if not named:
        raise unknown("preset", preset, {p.name for p in PRESETS})
    if named[0].method != method:
        raise InputError(f"preset {preset!r} is for --method {named[0].method}, not {method}")
    for candidate in named:
        if candidate.serves(dataset):
            return candidate
    served = sorted({name for p in named for name in p.datasets})
    raise InputError(f"preset {preset!r} is for {', '.join(served)}, not {dataset!r}; leave --preset out")


USUAL = {"digits": DIGITS, "imagenet": IMAGENET, "cifar100": CIFAR, "svhn": CIFAR}
USUAL |= dict.fromkeys(FAMILIES["mnist"], MNIST) | dict.fromkeys(FAMILIES["cifar10"], CIFAR)
USUAL_OF_ARCH = {"small-cnn": DIGITS, "lenet": MNIST}


def usual_optimisation(dataset: str, arch: str) -> Optimisation:
    """The literature's schedule for a data set; for the user's own, the one usual for the architecture."""
    return USUAL.get(dataset) or USUAL_OF_ARCH.get(arch, CIFAR)
