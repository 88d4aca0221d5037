"""The settings that the papers trained with. Each preset cites its source; each paper has a file of them, in YAML."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from randsmooth.documents import parse_yaml
from randsmooth.errors import BadValue, MissingValue, NotFound, unknown
from randsmooth.training.schedule import Optimisation

# The first preset for a data set and a method is the default there, unless it is a variation: so the order matters.
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
ACCOUNTS = (
    "prose",
    "table1",
)  # of one row of a main table: as the text describes it, and as its figures were made


def _read(name: str) -> Any:
    return parse_yaml(
        resources.files(__name__).joinpath(f"{name}.yaml").read_text(), name
    )


_SCHEDULES = _read("schedules")
SCHEDULES = {
    name: Optimisation(**values) for name, values in _SCHEDULES["schedules"].items()
}


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
        return self.variation in ("", *ACCOUNTS)

    def serves(self, dataset: str) -> bool:
        return not self.datasets or dataset in self.datasets

    def schedule(self, dataset: str, arch: str) -> Optimisation:
        """The training schedule of `arch` on `dataset`."""
        usual = _SCHEDULES["usual"].get(dataset) or _SCHEDULES["usual_for_arch"].get(
            arch, "cifar"
        )
        optimisation = self.optimisation or SCHEDULES[usual]
        return (
            optimisation
            if self.batch is None
            else optimisation.replace(batch=self.batch)
        )

    def hyperparameters(self, sigma: float) -> dict[str, Any]:
        """All hyperparameters at `sigma`, or at the nearest published sigma if this one is not published."""
        return {**self.fixed, **self.by_sigma.get(self.nearest(sigma), {})}

    def usual_sigma(self) -> float:
        """The sigma that it was published for or, of several, the middle one. Problem if it names none."""
        if not self.by_sigma:
            raise MissingValue(
                f"{self.name} names no sigma: give one, such as sigma=0.5 (--sigma 0.5)"
            )
        return self.middle_sigma()

    def middle_sigma(self) -> float:
        """The middle one of its sigmas; 1 where nothing depends on it."""
        return sorted(self.by_sigma or [1.0])[len(self.by_sigma) // 2]

    def nearest(self, sigma: float) -> float:
        """The published sigma whose values are used at `sigma`."""
        return min(self.by_sigma, key=lambda known: abs(known - sigma), default=sigma)


def _presets(
    papers: Mapping[str, str], entry: dict[str, Any], known: Sequence[Preset]
) -> Iterator[Preset]:
    """The preset of an entry of a paper's file, or the rows of a table that it has, each an entry that varies it.

    Args:
        papers: the first part of a preset's name -> how its paper is cited.
        entry: as `_varied` takes it; with `like: NAME DATASET` it varies that preset, else none. A row is another
            entry, and stands for several where it has the `values` of a hyperparameter that it is to `vary`.
        known: the presets before.
    """
    name, _, dataset = entry.get("like", "").partition(" ")
    nothing = Preset("", "", "")
    main = next(
        preset
        for preset in (*known, nothing)
        if preset.name == name and preset.serves(dataset)
    )
    made = _varied(papers, main, entry)
    if "rows" not in entry:
        yield made
    for row in entry.get("rows", ()):
        for value in row.get("values", [None]):
            varied = {} if value is None else {row["vary"]: value}
            variation = row.get("row", "") + "".join(
                f"{key}={number:g}" for key, number in varied.items()
            )
            yield _varied(
                papers,
                made,
                row
                | {
                    "name": f"{made.base}/{variation}",
                    "set": row.get("set", {}) | varied,
                },
            )


def _varied(papers: Mapping[str, str], main: Preset, entry: dict[str, Any]) -> Preset:
    """`main` with the fields that `entry` has.

    Its `by_sigma` has a column for each hyperparameter, with a value for each of the `sigmas`; its `set` holds at all
    of them. A `schedule` is a name, or values that are changed in that of `main`.
    """
    name, sigmas, by_sigma = (
        entry.get("name", main.name),
        entry.get("sigmas"),
        main.by_sigma,
    )
    plain = ("arch", "fixed", "batch", "reference_epochs")
    values: dict[str, Any] = {key: entry[key] for key in plain if key in entry}
    if "source" in entry:
        colon = entry["source"].startswith("the authors")
        values["source"] = (
            f"{papers[name.split('/')[0]]}{':' if colon else ','} {entry['source']}"
        )
    if "datasets" in entry:
        values["datasets"] = tuple(entry["datasets"])
    if "by_sigma" in entry or not by_sigma:
        columns = entry.get("by_sigma", {}).items()
        by_sigma = {
            sigma: {key: each[i] for key, each in columns}
            for i, sigma in enumerate(sigmas or SIGMAS)
        }
    values["by_sigma"] = {
        sigma: by_sigma.get(sigma, {}) | entry.get("set", {})
        for sigma in sigmas or by_sigma
    }
    values["optimisation"] = _schedule(entry.get("schedule"), main.optimisation)
    return replace(main, name=name, method=name.split("/")[1].split("+")[-1], **values)


def _schedule(
    given: str | dict[str, Any] | None, before: Optimisation | None
) -> Optimisation | None:
    """A schedule by name ("usual": that of the data set), the values changed in the one `before`, or all values."""
    if isinstance(given, str):
        return None if given == "usual" else SCHEDULES[given]
    return (
        before
        if given is None
        else before.replace(**given)
        if before
        else Optimisation(**given)
    )


PAPERS: dict[
    str, str
] = {}  # the paper that the first part of a preset's name stands for
_found: list[Preset] = []
for _facts in map(_read, FILES):
    PAPERS.update(_facts["paper"])
    for _entry in _facts["presets"]:
        _found.extend(_presets(_facts["paper"], _entry, _found))
PRESETS = tuple(_found)


def default(method: str, dataset: str) -> Preset:
    """The preset with which `method` is trained on `dataset` unless another is named.

    A method that has no preset at all, as one from another package may, is trained with its own defaults.

    Raises:
        Problem: all presets of the method are for other data sets.
    """
    of_method = [preset for preset in PRESETS if preset.method == method]
    own = Preset(
        f"defaults/{method}", method, "the defaults of the method, not from a paper"
    )
    found = next(
        (
            preset
            for preset in of_method or [own]
            if preset.serves(dataset) and preset.main
        ),
        None,
    )
    if found is None:
        raise NotFound(
            f"no preset trains {method!r} on {dataset!r}; see `randsmooth methods --presets`"
        )
    return found


def find(
    method: str | None,
    dataset: str,
    preset: str | None = None,
    *,
    anywhere: bool = False,
) -> Preset:
    """The preset called `preset`, or the default one, for `method` on `dataset`.

    Without a method it is the preset's; with neither, `gaussian`.

    Raises:
        Problem: there is no such preset, or it is not for this method; or there are two versions of it for this data
            set; or it is not for this data set and may not be used `anywhere`.
    """
    if preset is None:
        return default(method or "gaussian", dataset)
    candidates = named(preset)
    wanted = candidates[0].method
    if method not in (None, wanted):
        raise BadValue(f"preset {preset!r} is for --method {wanted}, not {method}")
    for candidate in candidates:
        if candidate.serves(dataset):
            return candidate
    versions = [
        p
        for p in PRESETS
        if p.base == preset and p.main and p.variation and p.serves(dataset)
    ]
    if versions:
        choices = " or ".join(
            f"--preset {p.name} ({p.schedule(dataset, '').epochs} epochs)"
            for p in versions
        )
        raise MissingValue(
            f"preset {preset!r} on {dataset} is ambiguous: the paper's text gives one schedule, the figures of its "
            f"table come from another. Choose {choices}"
        )
    if anywhere:
        return candidates[0]
    served, instead = (
        ", ".join(sorted({name for p in candidates for name in p.datasets})),
        default(wanted, dataset),
    )
    raise BadValue(
        f"preset {preset!r} is for {served}, not {dataset!r}: take --preset {instead.name}, or --anywhere"
    )


def named(name: str) -> list[Preset]:
    """The presets called `name`, each for other data sets. Problem if there are none."""
    presets = [p for p in PRESETS if p.name == name]
    if not presets:  # all variations of its preset are suggested, or all main presets
        variations = {p.name for p in PRESETS if name.startswith(f"{p.base}/")}
        raise unknown("preset", name, variations or {p.name for p in PRESETS if p.main})
    return presets
