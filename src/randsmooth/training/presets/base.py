"""What a preset is, the schedules that presets share, and how an entry of a paper's file is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from randsmooth.errors import InputError
from randsmooth.training.schedule import Optimisation

SIGMAS = (0.25, 0.5, 1.0)


SCHEDULES = {
    "cifar": Optimisation(epochs=150, lr=0.1, lr_milestones=(50, 100)),
    "mnist": Optimisation(epochs=150, lr=0.01, lr_milestones=(50, 100)),
    "imagenet": Optimisation(epochs=90, lr=0.1, lr_milestones=(30, 60)),
    "digits": Optimisation(epochs=40, lr=0.05, lr_milestones=(15, 30)),
    "logged": Optimisation(epochs=90, lr=0.01, lr_milestones=(30, 60)),  # in logs of Consistency and SmoothMix on MNIST
}
CIFAR10 = ("cifar10", "cifar10-jpeg")  # the same images
USUAL = {name: SCHEDULES[name] for name in ("digits", "imagenet", "mnist")} | {"fashion-mnist": SCHEDULES["mnist"]}
USUAL_OF_ARCH = {"small-cnn": SCHEDULES["digits"], "lenet": SCHEDULES["mnist"]}


def usual_optimisation(dataset: str, arch: str) -> Optimisation:
    """The schedule usual in the literature for a data set or, for a user's own data set, for the architecture."""
    if dataset in (*CIFAR10, "cifar100", "svhn"):
        return SCHEDULES["cifar"]
    return USUAL.get(dataset) or USUAL_OF_ARCH.get(arch, SCHEDULES["cifar"])


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


def read(papers: Mapping[str, str], entry: dict[str, Any], known: Sequence[Preset]) -> Iterator[Preset]:
    """The preset of an entry of a paper's file, or the rows of a table that it has, each an entry that varies it.

    Args:
        papers: the first part of a preset's name -> how its paper is cited.
        entry: fields of a `Preset`, with a column for each hyperparameter in `by_sigma`, one value for each of the
            `sigmas`; and the name or the values of its `schedule`. Those of another preset are taken where there are
            none: `like: NAME DATASET`.
        known: the presets before.
    """
    main = Preset(entry.get("name", ""), "", "")
    if "like" in entry:
        name, dataset = entry["like"].split()
        main = next(preset for preset in known if preset.name == name and preset.serves(dataset))
    name, sigmas, rows = entry.get("name", main.name), entry.get("sigmas", SIGMAS), entry.get("rows", ())
    plain: dict[str, Any] = {key: entry[key] for key in ("arch", "fixed") if key in entry}
    if "name" in entry:
        plain |= {"name": name, "method": name.split("/")[1].split("+")[-1]}
    if "source" in entry:
        plain["source"] = _cited(papers, name, entry["source"])
    if "datasets" in entry:
        several = isinstance(entry["datasets"], list)
        plain["datasets"] = tuple(entry["datasets"]) if several else _ALIKE.get(entry["datasets"], (entry["datasets"],))
    if "by_sigma" in entry or not main.by_sigma:
        columns = entry.get("by_sigma", {})
        plain["by_sigma"] = {sigma: {key: columns[key][i] for key in columns} for i, sigma in enumerate(sigmas)}
    made = replace(main, **plain, optimisation=_schedule(entry.get("schedule"), main.optimisation))
    if not rows:
        yield made
    for row in rows:
        for value in row.get("values", [None]):
            yield _row(papers, made, row, value)


_ALIKE = {"cifar10": CIFAR10}


def _row(papers: Mapping[str, str], main: Preset, row: dict[str, Any], value: Any) -> Preset:
    """`main` with some hyperparameters changed as in a row of a table, at the table's sigmas."""
    varied = {} if value is None else {row["vary"]: value}
    variation = row.get("row", "") + "".join(f"{key}={number:g}" for key, number in varied.items())
    changes, source = row.get("set", {}) | varied, row.get("source")
    return replace(
        main,
        name=f"{main.base}/{variation}",
        source=_cited(papers, main.name, source) if source else main.source,
        by_sigma={sigma: main.by_sigma.get(sigma, {}) | changes for sigma in row.get("sigmas", main.by_sigma)},
        optimisation=_schedule(row.get("schedule"), main.optimisation),
    )


def _cited(papers: Mapping[str, str], name: str, source: str) -> str:
    return f"{papers[name.split('/')[0]]}{':' if source.startswith('the authors') else ','} {source}"


def _schedule(given: str | dict[str, Any] | None, before: Optimisation | None) -> Optimisation | None:
    """A schedule by name, the values that it changes in the one `before`, or all of its own."""
    if given is None:
        return before
    if isinstance(given, str):
        return SCHEDULES[given]
    return Optimisation(**given) if before is None else before.replace(**given)
