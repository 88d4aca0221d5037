"""The settings that the papers trained with.

Each preset cites its source; each paper has a file of them, in YAML.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from randsmooth.documents import parse_yaml
from randsmooth.errors import (
    BadValue,
    Conflict,
    MissingValue,
    NotFound,
    Setting,
    unknown,
)
from randsmooth.training.schedule import Optimisation

# The order matters: the first preset for a data set and a method is the default there,
# unless it is a variation.
FILES = (
    "acr",
    "cat-rs",
    "macer",
    "jeong",
    "acr-baselines",
    "randsmooth",
    "cat-rs-imagenet",
)
SIGMAS = (0.25, 0.5, 1.0)
# Two accounts of one row of a main table: as the text describes it, and as its figures
# were made.
ACCOUNTS = ("prose", "table1")


def _read(name: str) -> Any:
    file = resources.files(__name__).joinpath(f"{name}.yaml")
    return parse_yaml(file.read_text(), name)


_SCHEDULES = _read("schedules")
SCHEDULES = {
    name: Optimisation(**values) for name, values in _SCHEDULES["schedules"].items()
}


@dataclass(frozen=True)
class Preset:
    """One method on some data sets, with the hyperparameters that may depend on sigma.

    Attributes:
        name: paper/method; paper/method/variation for a row of an ablation table, or
            for one of two versions of a row.
        method: the registered name of the method.
        source: paper and table or appendix.
        datasets: names it was published for; empty: any data set.
        optimisation: the training schedule; None: the one usual for the data set.
        fixed: hyperparameters that are the same at every sigma.
        by_sigma: hyperparameters at each sigma, in addition to the fixed ones; empty:
            none depends on sigma.
        batch: noisy samples per step, instead of the schedule's.
        arch: architecture; None: the data set's.
        reference_epochs: the length of run for which hyperparameters that count epochs
            are given; None: the schedule's.

    Example:
        >>> preset = Preset(
        ...     "mine/gaussian", "gaussian", "an example", ("mnist",), fixed={"m": 2}
        ... )
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
        """Return the name without the variation."""
        return "/".join(self.name.split("/")[:2])

    @property
    def variation(self) -> str:
        """Return what the row of an ablation table changes, or which version this is.

        It is empty for a main preset.
        """
        return self.name.removeprefix(self.base).removeprefix("/")

    @property
    def main(self) -> bool:
        """Return whether this is a model of a main table, in either version."""
        return self.variation in ("", *ACCOUNTS)

    def serves(self, dataset: str) -> bool:
        """Return whether it was published for `dataset`, or for any data set."""
        return not self.datasets or dataset in self.datasets

    def schedule(self, dataset: str, arch: str) -> Optimisation:
        """Return the training schedule of `arch` on `dataset`."""
        optimisation = self.optimisation or _usual_schedule(dataset, arch)
        if self.batch is None:
            return optimisation
        return optimisation.replace(batch=self.batch)

    def hyperparameters(self, sigma: float) -> dict[str, Any]:
        """Return all hyperparameters at `sigma`, or at the nearest published sigma."""
        at_sigma = self.by_sigma.get(self.nearest(sigma), {})
        return {**self.fixed, **at_sigma}

    def usual_sigma(self) -> float:
        """Return the sigma that it was published for or, of several, the middle one.

        Raises:
            Problem: it names none.
        """
        if not self.by_sigma:
            raise MissingValue(
                f"{self.name} names no sigma",
                field="sigma",
                fix=("give one, such as ", Setting("sigma", 0.5)),
            )
        return self.middle_sigma()

    def middle_sigma(self) -> float:
        """Return the middle one of its sigmas; 1 where nothing depends on it."""
        if not self.by_sigma:
            return 1.0
        sigmas = sorted(self.by_sigma)
        return sigmas[len(sigmas) // 2]

    def nearest(self, sigma: float) -> float:
        """Return the published sigma whose values are used at `sigma`."""
        return min(self.by_sigma, key=lambda known: abs(known - sigma), default=sigma)


def _usual_schedule(dataset: str, arch: str) -> Optimisation:
    """Return the schedule that is usual for `dataset` or else for `arch`."""
    of_arch = _SCHEDULES["usual_for_arch"].get(arch, "cifar")
    of_dataset = _SCHEDULES["usual"].get(dataset)
    return SCHEDULES[of_dataset or of_arch]


# What an entry varies that is like no other preset.
EMPTY = Preset("", "", "")


def _presets(
    papers: Mapping[str, str], entry: dict[str, Any], known: Sequence[Preset]
) -> Iterator[Preset]:
    """Yield the preset of an entry of a paper's file, and those of its rows.

    Rows are of a table of variations. Each is another entry, which varies the first; it
    stands for several where it has the `values` of a hyperparameter that it is to
    `vary`.

    Args:
        papers: the first part of a preset's name -> how its paper is cited.
        entry: as `_varied` takes it; with `like: NAME DATASET` it varies that preset.
        known: the presets before.
    """
    main = _varied(papers, _preset_like(entry.get("like", ""), known), entry)
    if "rows" not in entry:
        yield main
        return
    for row in entry["rows"]:
        if "values" in row:
            for value in row["values"]:
                yield _row(papers, main, row, {row["vary"]: value})
        else:
            yield _row(papers, main, row, {})


def _preset_like(like: str, known: Sequence[Preset]) -> Preset:
    """Return the preset that `like` names, as NAME DATASET; an empty one without it."""
    if not like:
        return EMPTY
    name, _, dataset = like.partition(" ")
    for preset in known:
        if preset.name == name and preset.serves(dataset):
            return preset
    raise LookupError(f"no preset before it is called {name} and serves {dataset}")


def _row(
    papers: Mapping[str, str],
    main: Preset,
    row: dict[str, Any],
    varied: dict[str, float],
) -> Preset:
    """Return the preset of a row of a table, which has the `varied` hyperparameters."""
    values = "".join(f"{key}={number:g}" for key, number in varied.items())
    variation = row.get("row", "") + values
    entry = dict(row)
    entry["name"] = f"{main.base}/{variation}"
    entry["set"] = row.get("set", {}) | varied
    return _varied(papers, main, entry)


def _varied(papers: Mapping[str, str], main: Preset, entry: dict[str, Any]) -> Preset:
    """Return `main` with the fields that `entry` has.

    Its `by_sigma` has a column for each hyperparameter, with a value for each of the
    `sigmas`; its `set` holds at all of them. A `schedule` is a name, or values that are
    changed in that of `main`.
    """
    name = entry.get("name", main.name)
    plain = ("arch", "fixed", "batch", "reference_epochs")
    values: dict[str, Any] = {key: entry[key] for key in plain if key in entry}
    if "source" in entry:
        values["source"] = _source(papers[name.split("/")[0]], entry["source"])
    if "datasets" in entry:
        values["datasets"] = tuple(entry["datasets"])
    values["by_sigma"] = _by_sigma(main.by_sigma, entry)
    values["optimisation"] = _schedule(entry.get("schedule"), main.optimisation)
    # "smoothadv+consistency" is trained by consistency.
    method = name.split("/")[1].split("+")[-1]
    return replace(main, name=name, method=method, **values)


def _source(paper: str, place: str) -> str:
    """Return how a preset's source is cited: the paper, and the place in it."""
    if place.startswith("the authors"):
        return f"{paper}: {place}"
    return f"{paper}, {place}"


def _by_sigma(
    before: Mapping[float, Mapping[str, Any]], entry: dict[str, Any]
) -> dict[float, dict[str, Any]]:
    """Return the hyperparameters at each sigma, of an entry or else as `before`."""
    sigmas = entry.get("sigmas")
    by_sigma = dict(before)
    if "by_sigma" in entry or not before:
        by_sigma = _rows_of(entry.get("by_sigma", {}), sigmas or SIGMAS)
    at_all_sigmas = entry.get("set", {})
    return {
        sigma: {**by_sigma.get(sigma, {}), **at_all_sigmas}
        for sigma in sigmas or by_sigma
    }


def _rows_of(
    columns: Mapping[str, Sequence[Any]], sigmas: Sequence[float]
) -> dict[float, Mapping[str, Any]]:
    """Return sigma -> its hyperparameters, of columns with a value for each sigma."""
    return {
        sigma: {name: column[row] for name, column in columns.items()}
        for row, sigma in enumerate(sigmas)
    }


def _schedule(
    given: str | dict[str, Any] | None, before: Optimisation | None
) -> Optimisation | None:
    """Return a schedule by name, or `before` with given values, or one of all values.

    "usual" is None: the usual schedule of the data set.
    """
    if given is None:
        return before
    if given == "usual":
        return None
    if isinstance(given, str):
        return SCHEDULES[given]
    return before.replace(**given) if before else Optimisation(**given)


# The paper that the first part of a preset's name stands for.
PAPERS: dict[str, str] = {}


def _all_presets() -> tuple[Preset, ...]:
    """Read the presets of all papers, of which later ones may vary earlier ones."""
    presets: list[Preset] = []
    for file in FILES:
        facts = _read(file)
        PAPERS.update(facts["paper"])
        for entry in facts["presets"]:
            presets.extend(_presets(facts["paper"], entry, presets))
    return tuple(presets)


PRESETS = _all_presets()


def default(method: str, dataset: str) -> Preset:
    """Return the preset with which `method` is trained unless one is named.

    A method that has no preset at all, as one from another package may, is trained with
    its own defaults.

    Raises:
        Problem: all presets of the method are for other data sets.
    """
    presets = [preset for preset in PRESETS if preset.method == method]
    if not presets:
        source = "the defaults of the method, not from a paper"
        return Preset(f"defaults/{method}", method, source)
    for preset in presets:
        if preset.serves(dataset) and preset.main:
            return preset
    raise NotFound(
        f"no preset trains {method!r} on {dataset!r}; `randsmooth methods` lists the "
        "presets"
    )


def find(
    method: str | None,
    dataset: str,
    preset: str | None = None,
    *,
    anywhere: bool = False,
) -> Preset:
    """Return the preset called `preset`, or the default one, for `method` on `dataset`.

    Without a method it is the preset's; with neither, `gaussian`.

    Raises:
        Problem: there is no such preset, or it is not for this method; or there are two
            versions of it for this data set; or it is not for this data set and may not
            be used `anywhere`.
    """
    if preset is None:
        return default(method or "gaussian", dataset)
    candidates = named(preset)
    preset_method = candidates[0].method
    if method is not None and method != preset_method:
        raise Conflict(
            f"preset {preset!r} is for method {preset_method}, not {method}",
            field="preset",
            value=preset,
            fix=Setting("method", preset_method),
        )
    for candidate in candidates:
        if candidate.serves(dataset):
            return candidate
    _check_unambiguous(preset, dataset)
    if anywhere:
        return candidates[0]
    served = {name for candidate in candidates for name in candidate.datasets}
    usual = default(preset_method, dataset)
    raise BadValue(
        f"preset {preset!r} is for {', '.join(sorted(served))}, not {dataset!r}",
        field="preset",
        value=preset,
        fix=(
            "take ",
            Setting("preset", usual.name),
            ", or ",
            Setting("anywhere", True),
        ),
    )


def _check_unambiguous(preset: str, dataset: str) -> None:
    """Raise Problem if there are two versions of the `preset` for `dataset`."""
    versions = _versions(preset, dataset)
    if not versions:
        return
    choices = []
    for version in versions:
        epochs = version.schedule(dataset, "").epochs
        choices.append(f"{version.name} ({epochs} epochs)")
    raise MissingValue(
        f"preset {preset!r} on {dataset} is ambiguous: the paper's text gives one "
        "schedule, the figures of its table come from another. Choose "
        f"{' or '.join(choices)}",
        field="preset",
        value=preset,
    )


def _versions(base: str, dataset: str) -> list[Preset]:
    """Return the versions of a main preset for `dataset`, if there are two."""
    return [
        preset
        for preset in PRESETS
        if preset.base == base
        and preset.main
        and preset.variation
        and preset.serves(dataset)
    ]


def named(name: str) -> list[Preset]:
    """Return the presets called `name`, each for other data sets.

    Raises:
        Problem: there are none. All variations of its preset are suggested, or else all
            main presets.
    """
    presets = [preset for preset in PRESETS if preset.name == name]
    if presets:
        return presets
    variations = {
        preset.name for preset in PRESETS if name.startswith(f"{preset.base}/")
    }
    main_presets = {preset.name for preset in PRESETS if preset.main}
    raise unknown("preset", name, variations or main_presets)
