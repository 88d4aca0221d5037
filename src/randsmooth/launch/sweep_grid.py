"""A grid: which models are trained and how each is certified, from a short YAML file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any, TypeVar

from randsmooth.certificates import CertificationOptions
from randsmooth.documents import MOST_YAML_BYTES, parse_yaml, read_file, shown
from randsmooth.errors import BadValue, MissingValue, NotFound, check_known
from randsmooth.number_text import shortest
from randsmooth.training import TrainingOptions

# The keys of a grid; each of the first needs a value.
NEEDED_KEYS = ("datasets", "methods", "sigmas")
KEYS = (*NEEDED_KEYS, "seeds", "train", "certify")

# The most models of a grid, or settings of a part of it.
MOST_CROSSED = 2_000
# The most characters of the name of a folder, and those of the hash that ends a longer
# one.
LONGEST_NAME = 100
HASH_LENGTH = 8

# Settings of `train` itself; all others are of the method, or of the optimisation.
OF_THE_GRID = {"method", "sigma", "seed", "set"}
TRAINING = {*TrainingOptions.__optional_keys__, "device"} - OF_THE_GRID
CERTIFYING = {
    *CertificationOptions.__optional_keys__,
    "split",
    "take",
    "skip",
    "device",
    "denoiser",
}

T = TypeVar("T")
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """A model of a sweep.

    Attributes:
        dataset, method, sigma, seed: the data set, the method, the sigma and the seed
            of the training; the text of a noise may stand in sigma's place.
        shared: settings of `train` that the grid gives for all methods.
        own: the settings that the grid gives for this method alone, hyperparameters
            among them. Where a setting names the folder of a model, a mapping in its
            place refers to another model of the sweep.
        title: the name of the folder of the cell.
    """

    dataset: str
    method: str
    sigma: float | str
    seed: int
    shared: Settings
    own: Settings
    title: str

    @property
    def place(self) -> dict[str, Any]:
        """Return data set, method, sigma and seed."""
        return {
            "dataset": self.dataset,
            "method": self.method,
            "sigma": self.sigma,
            "seed": self.seed,
        }

    @property
    def values(self) -> dict[str, Any]:
        """Return all settings by name, besides data set, method, sigma and seed."""
        return {**self.shared, **self.own}

    def training_options(self) -> dict[str, Any]:
        """Return the settings of `train` by name.

        Hyperparameters and settings of the optimisation stand below `set`.
        """
        level = "noise" if isinstance(self.sigma, str) else "sigma"
        options: dict[str, Any] = {
            "method": self.method,
            level: self.sigma,
            "seed": self.seed,
        }
        others = {}
        for key, value in self.values.items():
            if key in TRAINING:
                options[key] = value
            else:
                others[key] = value
        if others:
            options["set"] = others
        return options


@dataclass(frozen=True)
class SweepGrid:
    """The models of a sweep and how they are certified.

    Attributes:
        cells: the models.
        certifications: settings of the ways in which each is certified, by the names of
            their tables.
        document: the content of the YAML file.

    Example:
        >>> document = {
        ...     "datasets": "digits",
        ...     "methods": {"macer": {"lbd": [6, 16]}},
        ...     "sigmas": 0.5,
        ... }
        >>> grid = SweepGrid.read(document)
        >>> grid.cells[1].title, grid.certifications
        ('digits-macer-lbd=16-0.5-seed0', {'certificates': {}})
    """

    cells: tuple[Cell, ...]
    certifications: Mapping[str, Settings]
    document: Settings = field(repr=False)

    @classmethod
    def read(cls, source: Path | str | Settings) -> SweepGrid:
        """Return the grid in a YAML file, or in the mapping that such a file would hold.

        | key | what it holds |
        | --- | --- |
        | `datasets` | names or paths; below one, settings of `train` for it |
        | `methods` | names; below one, its hyperparameters and settings of `train` for it |
        | `sigmas` | sigmas of the noise; or another noise by its text: `uniform=0.6` |
        | `seeds` | seeds of training; 0 if not given |
        | `train` | settings of `train` for all |
        | `certify` | settings of `certify`; several mappings stand for several ways |

        Every list is crossed with all others, and a list of mappings stands for one mapping
        after the other. What the settings of `train` mean is left to the steps that have
        them.

        Raises:
            Problem: no such file, an unknown key, an empty list, a value or a model twice,
                a value of a type that cannot be, or more than 2,000 models or
                certifications.

        Example:
            >>> document = {
            ...     "datasets": "digits",
            ...     "methods": ["gaussian", "macer"],
            ...     "sigmas": [0.25, 0.5],
            ... }
            >>> for cell in SweepGrid.read(document).cells:
            ...     print(cell.title)
            digits-gaussian-0.25-seed0
            digits-gaussian-0.5-seed0
            digits-macer-0.25-seed0
            digits-macer-0.5-seed0
            >>> SweepGrid.read({"dataset": "digits"})
            Traceback (most recent call last):
            randsmooth.errors.UnknownName: unknown key of a grid 'dataset': did you mean ...
        """
        document = source if isinstance(source, Mapping) else _document(Path(source))
        check_known("key of a grid", KEYS, *document)
        for key in NEEDED_KEYS:
            if document.get(key) in (None, "", {}):
                raise MissingValue(
                    f"the grid lacks {key}: it must name {', '.join(NEEDED_KEYS)}"
                )
        cells = by_title(((cell.title, cell) for cell in _cells(document)), "the grid")
        certifications = by_title(_certifications(document.get("certify")), "certify")
        at_most(product(cells, certifications), "models by certifications")
        return cls(tuple(cells.values()), certifications, dict(document))

    def meant(self, by: Cell, key: str, reference: Settings) -> Cell:
        """Return the model that a hyperparameter `key` of the cell `by` refers to.

        It is one of the grid's, or one more.

        What the reference does not say is as in `by`, settings for one method aside.

        Raises:
            BadValue: several models of the grid are meant.
        """
        stated = {**by.place, "method": "gaussian", **reference}
        place = {name: stated.pop(name) for name in by.place}

        fitting = [
            cell
            for cell in self.cells
            if cell.place == place
            and _without(cell.shared, stated) == _without(by.shared, stated)
            and stated.items() <= cell.values.items()
        ]
        if len(fitting) > 1:
            titles = " or ".join(cell.title for cell in fitting)
            raise BadValue(
                f"{by.title}: {key} may mean {titles}: say in which setting they differ"
            )
        if fitting:
            return fitting[0]
        title = _title(**place, stated=stated)
        return Cell(**place, shared=by.shared, own=stated, title=title)


def _without(settings: Settings, names: Settings) -> dict[str, Any]:
    """Return the settings without the ones of these names."""
    return {name: value for name, value in settings.items() if name not in names}


def _document(path: Path) -> dict[str, Any]:
    """Return the content of the YAML file of a grid."""
    document = None
    if path.is_file():
        document = parse_yaml(read_file(path, MOST_YAML_BYTES), path)
    if not isinstance(document, dict):
        raise NotFound(
            f"no grid at {path}: "
            f"give a YAML file with lines `key: value` for {', '.join(KEYS)}"
        )
    return document


def _cells(document: Settings) -> Iterator[Cell]:
    """Cross the lists of a grid."""
    sigmas = listed(document["sigmas"], "sigmas")
    seeds = listed(document.get("seeds", 0), "seeds")
    datasets = at_most(named(document["datasets"], "datasets"), "datasets")
    methods = at_most(named(document["methods"], "methods"), "methods")
    common = at_most(
        (
            (dataset, training | own)
            for dataset, own in datasets
            for training in crossed(document.get("train"), "train")
        ),
        "the grid",
    )
    varied = {
        dataset: _varied([shared for other, shared in common if other == dataset])
        for dataset, _ in datasets
    }
    crossed_all = product(common, methods, sigmas, seeds)
    for (dataset, shared), (method, own), sigma, seed in crossed_all:
        stated = {key: value for key, value in shared.items() if key in varied[dataset]}
        title = _title(dataset, method, sigma, seed, stated | own)
        yield Cell(dataset, method, sigma, seed, shared, own, title)


def _varied(settings: Sequence[Settings]) -> set[str]:
    """Return the names of settings in which some differ, which titles must state."""
    first = settings[0]
    return {
        key
        for others in settings
        for key in {*others, *first}
        if others.get(key) != first.get(key)
    }


def _certifications(document: Any) -> Iterator[tuple[str, Settings]]:
    """Yield the ways in which models are certified, each with the name of its table."""
    # An empty list says that none is certified.
    if document == []:
        return
    for settings in crossed(document, "certify"):
        check_known("setting below certify:", CERTIFYING, *settings)
        yield slug("-".join(_words(settings))) or "certificates", settings


def by_title(pairs: Iterable[tuple[str, T]], where: str) -> dict[str, T]:
    """Return the named things by name.

    Raises:
        BadValue: two models, or two tables, would have one name, or they are too many.
    """
    named_so_far: dict[str, T] = {}
    for title, value in at_most(pairs, where):
        if title in named_so_far:
            raise BadValue(
                f"{where} has {title} twice: "
                "leave one of them out, or put it into another grid"
            )
        named_so_far[title] = value
    return named_so_far


def _title(
    dataset: str, method: str, sigma: float | str, seed: int, stated: Settings
) -> str:
    """Return the name of the folder of a model, whose settings are `stated`."""
    words = [
        Path(dataset).name,
        str(method),
        *_words(stated),
        _word(sigma),
        f"seed{seed}",
    ]
    return slug("-".join(words))


def _words(values: Settings) -> list[str]:
    """Return settings as they stand in the name of a folder, whatever their order."""
    return [f"{key}={_word(values[key])}" for key in sorted(values)]


def _word(value: Any) -> str:
    """Return the value of a setting as it stands in the name of a folder."""
    if isinstance(value, dict):
        return "-".join(_word(value[key]) for key in sorted(value)) or "default"
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "-".join(map(_word, value))
    return shortest(value) if isinstance(value, float) else str(value)


def slug(text: str) -> str:
    """Return `text` as the name of a folder that any system takes and a shell need not quote.

    Example:
        >>> slug("runs/my model-lbd=0.5")
        'runs-my-model-lbd=0.5'
    """
    name = re.sub(r"[^\w.=+-]+", "-", text).strip("-.")
    if len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]
    return f"{name[: LONGEST_NAME - HASH_LENGTH - 1]}-{digest}"


def listed(value: Any, where: str) -> list[Any]:
    """Return a value that may be a list, as a list.

    Raises:
        BadValue: an empty list, or one of more than MOST_CROSSED.

    Example:
        >>> listed(0.5, "sigmas"), listed([0, 1], "seeds")
        ([0.5], [0, 1])
        >>> listed([], "seeds")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: the grid is empty: seeds is []; give one value or more
    """
    values = at_most(value if isinstance(value, list) else [value], where)
    if not values:
        raise BadValue(f"the grid is empty: {where} is []; give one value or more")
    return values


def at_most(values: Iterable[T], where: str) -> list[T]:
    """Return the values; making more than a sweep may have is refused.

    Raises:
        BadValue: there are more than MOST_CROSSED.

    Example:
        >>> at_most(product(range(300), range(300), range(300)), "train")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: train comes to more than 2,000: leave some out, or ...
    """
    made = list(islice(values, MOST_CROSSED + 1))
    if len(made) > MOST_CROSSED:
        raise BadValue(
            f"{where} comes to more than {MOST_CROSSED:,}: "
            "leave some out, or make several grids"
        )
    return made


def crossed(settings: Any, where: str) -> Iterator[dict[str, Any]]:
    """Cross the lists in a mapping, or in each of a list of mappings. None stands for {}.

    Example:
        >>> [*crossed({"n": 1000, "rule": ["fixed", "grid"]}, "certify")]
        [{'n': 1000, 'rule': 'fixed'}, {'n': 1000, 'rule': 'grid'}]
    """
    if isinstance(settings, list):
        for part in listed(settings, where):
            yield from crossed(part, where)
        return
    if not isinstance(settings, dict | None):
        raise BadValue(
            f"{where} must hold `setting: value` lines; got {shown(repr(settings))}"
        )
    by_key = settings or {}
    values = [listed(value, f"{where}: {shown(key)}") for key, value in by_key.items()]
    for chosen in product(*values):
        yield dict(zip(by_key, chosen, strict=True))


def named(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names with their settings.

    Args:
        value: a name, a list of names, or a mapping from names to what `crossed` takes.
        where: the name that an error gives it.

    Example:
        >>> [*named({"gaussian": None, "macer": {"lbd": [6, 16]}}, "methods")]
        [('gaussian', {}), ('macer', {'lbd': 6}), ('macer', {'lbd': 16})]
    """
    for part in listed(value, where):
        if isinstance(part, str):
            yield part, {}
        elif isinstance(part, dict):
            for name, settings in part.items():
                for chosen in crossed(settings, f"{where}: {shown(name)}"):
                    yield name, chosen
        else:
            raise BadValue(
                f"{where} must be names, or `name: settings` lines; "
                f"got {shown(repr(part))}"
            )
