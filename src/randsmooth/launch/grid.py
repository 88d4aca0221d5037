"""A grid: which models are trained and how each is certified, from a short YAML file whose lists are crossed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import Any, TypeVar

from randsmooth.certificates import CertificationSettings
from randsmooth.documents import parse_yaml, read_file, shown
from randsmooth.errors import InputError, unknown
from randsmooth.methods import METHODS
from randsmooth.methods.hyperparameters import model_folders
from randsmooth.training import DenoiserSettings, TrainingSettings
from randsmooth.training.schedule import Optimisation

KEYS = ("datasets", "methods", "sigmas", "seeds", "train", "certify")
LONGEST = 2**20  # bytes of a grid
MOST = 2_000  # models of a grid, or settings of a part of it
TRAINING = ({*TrainingSettings.model_fields} - {"method", "sigma", "seed", "set"}) | {"device"}
OPTIMISATION = {*Optimisation.model_fields} - {"epochs"}
CERTIFYING = {*CertificationSettings.model_fields} | {"split", "take", "skip", "device", "denoiser"}
DENOISING = {*DenoiserSettings.model_fields} - {"sigma"} | {"device"}
READING = ("image_column", "label_column", "resize", "crop")

T = TypeVar("T")


@dataclass(frozen=True)
class Reference:
    """Another model of the sweep that a hyperparameter names, in place of a folder: what is said of it."""

    said: Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """A model of a sweep.

    Attributes:
        dataset, method, sigma, seed: what it is trained on, and how.
        shared: settings of `train` that the grid gives for all methods.
        own: those that it gives for this method, hyperparameters among them.
        title: what the folder of the cell is called, as far as no other cell is called the same.
    """

    dataset: str
    method: str
    sigma: float
    seed: int
    shared: Mapping[str, Any]
    own: Mapping[str, Any]
    title: str

    @property
    def values(self) -> dict[str, Any]:
        """All settings by name, besides data set, method, sigma and seed."""
        return {**self.shared, **self.own}

    @property
    def place(self) -> tuple[str, str, float, int]:
        """Where in the grid it stands, settings aside."""
        return self.dataset, self.method, self.sigma, self.seed

    def options(self) -> dict[str, Any]:
        """The options of `randsmooth train`, with hyperparameters and settings of the optimisation below `set`."""
        given = {key: value for key, value in self.values.items() if key in TRAINING}
        rest = {key: value for key, value in self.values.items() if key not in TRAINING}
        first = {"method": self.method, "sigma": self.sigma, "seed": self.seed}
        return {**first, **given, **({"set": rest} if rest else {})}

    def reading(self) -> dict[str, Any]:
        """How the images are read, for training and for certification."""
        return {key: value for key, value in self.values.items() if key in READING}


@dataclass(frozen=True)
class Certification:
    """One way to certify every model of a sweep; `title` is what its table is called."""

    values: Mapping[str, Any]
    title: str


@dataclass(frozen=True)
class Grid:
    """The models of a sweep and how they are certified.

    Attributes:
        cells: the models.
        certifications: the ways in which each is certified.
        document: what the YAML file said.

    Example:
        >>> grid = Grid.read({"datasets": "digits", "methods": {"macer": {"lbd": [6, 16]}}, "sigmas": 0.5})
        >>> grid.cells[1].title, grid.certifications[0].title
        ('digits-macer-lbd=16-0.5-seed0', 'certificates')
    """

    cells: tuple[Cell, ...]
    certifications: tuple[Certification, ...]
    document: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, source: Path | str | Mapping[str, Any]) -> Grid:
        """The grid in a YAML file, or in the mapping that such a file would hold.

        | key | what it holds |
        | --- | --- |
        | `datasets` | names or paths; below one, settings of `train` for it |
        | `methods` | names; below one, its hyperparameters and settings of `train` for it |
        | `sigmas` | of the noise |
        | `seeds` | of training; 0 if not given |
        | `train` | settings of `train` for all |
        | `certify` | settings of `certify`; several mappings certify each model in several ways |

        Every list is crossed with all others, and a list of mappings stands for one mapping after the other.

        Raises:
            InputError: no such file, an unknown key, an empty list, a value or a model twice, a value of a type that
                cannot be, or more than 2,000 models or certifications.

        Example:
            >>> grid = Grid.read({"datasets": "digits", "methods": ["gaussian", "macer"], "sigmas": [0.25, 0.5]})
            >>> [cell.title for cell in grid.cells]  # doctest: +NORMALIZE_WHITESPACE
            ['digits-gaussian-0.25-seed0', 'digits-gaussian-0.5-seed0',
             'digits-macer-0.25-seed0', 'digits-macer-0.5-seed0']
            >>> Grid.read({"dataset": "digits"})
            Traceback (most recent call last):
            randsmooth.errors.InputError: unknown key of a grid 'dataset': did you mean 'datasets'? Expected one of: ...
        """
        document = source if isinstance(source, Mapping) else _document(Path(source))
        for key in document:
            if key not in KEYS:
                raise unknown("key of a grid", shown(key), KEYS)
        for key in KEYS[:3]:
            if document.get(key) in (None, "", {}):
                raise InputError(f"the grid is empty: it must name {key}; of {', '.join(KEYS)} it has {_has(document)}")
        cells = at_most(_cells(document), "the grid")
        for i, cell in enumerate(cells):
            if any(_same(cell, other) for other in cells[:i]):
                raise InputError(f"the grid has {cell.title} twice: leave one of them out")
        certifications = tuple(_certifications(document.get("certify")))
        at_most(product(cells, certifications), "models by certifications")
        return cls(_told_apart(cells), certifications, dict(document))

    @cached_property
    def by_title(self) -> dict[str, Cell]:
        return {cell.title: cell for cell in self.cells}

    def meant(self, by: Cell, key: str, reference: Reference) -> Cell:
        """The model that a hyperparameter `key` of the cell `by` refers to: one of the grid's, or one more.

        What the reference does not say is as in `by`, settings for one method aside.

        Raises:
            InputError: several models of the grid are meant.
        """
        said = dict(reference.said)
        place = [
            said.pop(name, usual) for name, usual in zip(_PLACE, (by.dataset, "gaussian", *by.place[2:]), strict=True)
        ]
        shared = {name: value for name, value in by.shared.items() if name not in said}
        fits = [
            cell
            for cell in self.cells
            if [*cell.place] == place
            and {name: value for name, value in cell.shared.items() if name not in said} == shared
            and said.items() <= cell.values.items()
        ]
        if len(fits) > 1:
            titles = " or ".join(cell.title for cell in fits)
            raise InputError(f"{by.title}: {key} may mean {titles}: say in which setting they differ")
        if fits:
            return fits[0]
        dataset, method, sigma, seed = place
        title = _title(dataset, method, sigma, seed, {**said})
        return Cell(dataset, method, sigma, seed, by.shared, said, title)


_PLACE = ("dataset", "method", "sigma", "seed")


def _document(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"no grid at {path}: give a YAML file with the keys {', '.join(KEYS)}")
    document = parse_yaml(read_file(path, LONGEST), path)
    if not isinstance(document, dict):
        raise InputError(f"{path} holds no grid: it must have lines `key: value` for {', '.join(KEYS[:3])}")
    return document


def _has(document: Mapping[str, Any]) -> str:
    return ", ".join(key for key in document if document[key] is not None) or "none"


def _cells(document: Mapping[str, Any]) -> Iterator[Cell]:
    sigmas = [_number(value, "sigmas") for value in listed(document["sigmas"], "sigmas")]
    seeds = [_seed(value) for value in listed(document.get("seeds", 0), "seeds")]
    base = crossed(document.get("train"), "train")
    methods = at_most(((name, _of_method(name, one)) for name, one in named(document["methods"], "methods")), "methods")
    datasets = at_most(named(document["datasets"], "datasets"), "datasets")
    for settings, where in [*((one, "train") for one in base), *((one, f"datasets: {name}") for name, one in datasets)]:
        _check_known(settings.values, TRAINING | OPTIMISATION, where)
    for (dataset, for_it), (method, own), shared, sigma, seed in product(datasets, methods, base, sigmas, seeds):
        common = {**shared.values, **for_it.values}
        said = {key: common[key] for key in common if key in {*shared.varied, *for_it.varied}}
        title = _title(dataset, method, sigma, seed, {**said, **own.values})
        yield Cell(dataset, method, sigma, seed, common, own.values, title)


def _of_method(name: str, settings: Crossed) -> Crossed:
    """The settings below a method's name, with references where a mapping stands for a folder."""
    kind = METHODS[name]
    own = {part.name for part in dataclasses.fields(kind)}
    _check_known(settings.values, TRAINING | OPTIMISATION | own, f"methods: {name}")
    values = dict(settings.values)
    for key in model_folders(kind):
        if isinstance(values.get(key), dict):
            values[key] = _reference(values[key], f"methods: {name}: {key}")
    for key, value in values.items():
        if isinstance(value, dict):
            raise InputError(f"methods: {name}: {key} is no model, and takes one value; got {shown(repr(value))}")
    return Crossed(values, settings.varied)


def _reference(said: Mapping[str, Any], where: str) -> Reference:
    method = said.get("method", "gaussian")
    if not isinstance(method, str):
        raise InputError(f"{where}: method must be the name of one; got {shown(repr(method))}")
    own = {part.name for part in dataclasses.fields(METHODS[method])}
    _check_known(said, {*_PLACE} | TRAINING | OPTIMISATION | own, where)
    numbers = {"sigma": _number(said["sigma"], where)} if "sigma" in said else {}
    return Reference({**said, **numbers, **({"seed": _seed(said["seed"])} if "seed" in said else {})})


def _certifications(document: Any) -> Iterator[Certification]:
    if document == []:
        return
    titles = set()
    for settings in crossed(document, "certify"):
        _check_known(settings.values, CERTIFYING, "certify")
        denoiser = settings.values.get("denoiser")
        while isinstance(denoiser, dict):
            _check_known(denoiser, DENOISING, "certify: denoiser")
            denoiser = denoiser.get("start")
        title = slug("-".join(_words(settings.values))) or "certificates"
        if title in titles:
            raise InputError(f"certify has {title} twice: leave one of them out")
        titles.add(title)
        yield Certification(settings.values, title)


def _check_known(values: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in values:
        if key not in known:
            raise unknown(f"setting below {where}:", shown(key), known)


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}: a sigma must be a number such as 0.25; got {shown(repr(value))}")
    return float(value)


def _seed(value: Any) -> int:
    if type(value) is not int:
        raise InputError(f"seeds: a seed must be a whole number such as 0; got {shown(repr(value))}")
    return value


def _title(dataset: str, method: str, sigma: float, seed: int, said: Mapping[str, Any]) -> str:
    return slug("-".join([Path(dataset).name, method, *_words(said), f"{sigma:g}", f"seed{seed}"]))


def _words(values: Mapping[str, Any]) -> list[str]:
    """Settings as they stand in the name of a folder, in whatever order a grid gives them."""
    return [f"{key}={_word(values[key])}" for key in sorted(values)]


def _word(value: Any) -> str:
    """A value as it stands in the name of a folder."""
    if isinstance(value, Reference):
        return "-".join(_word(value.said[key]) for key in sorted(value.said)) or "gaussian"
    if isinstance(value, dict):
        return "-".join(_word(value[key]) for key in sorted(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "-".join(map(_word, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def slug(text: str) -> str:
    """`text` as the name of a folder that any system takes and a shell need not quote.

    Example:
        >>> slug("runs/my model-lbd=0.5")
        'runs-my-model-lbd=0.5'
    """
    words = re.sub(r"[^\w.=+-]+", "-", text).strip("-.")
    return words if len(words) <= 100 else f"{words[:91]}-{digest(text)}"


def digest(text: str) -> str:
    """Eight letters that stand for `text`."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _same(cell: Cell, other: Cell) -> bool:
    return cell.place == other.place and cell.values == other.values


def _told_apart(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells, with letters behind the titles that several have."""
    titles = [cell.title for cell in cells]
    return tuple(
        cell
        if titles.count(cell.title) == 1
        else dataclasses.replace(cell, title=f"{cell.title}-{digest(repr((cell.place, sorted(cell.values.items()))))}")
        for cell in cells
    )


@dataclass(frozen=True)
class Crossed:
    """Settings by name, one of those that a part of a grid comes to; `varied` are those of which it had lists."""

    values: Mapping[str, Any] = field(default_factory=dict)
    varied: Collection[str] = ()


def listed(value: Any, where: str) -> list[Any]:
    """A value that may be a list, as a list without doubles.

    Raises:
        InputError: an empty list, one of more than MOST, or a value twice.

    Example:
        >>> listed(0.5, "sigmas"), listed([0, 1], "seeds")
        ([0.5], [0, 1])
        >>> listed([], "seeds")
        Traceback (most recent call last):
        randsmooth.errors.InputError: the grid is empty: seeds is []; give one value or more
    """
    values = at_most(value if isinstance(value, list) else [value], where)
    if not values:
        raise InputError(f"the grid is empty: {where} is []; give one value or more")
    for i, one in enumerate(values):
        if one in values[:i]:
            raise InputError(f"{where} has {shown(repr(one))} twice")
    return values


def at_most(values: Iterable[T], where: str) -> list[T]:
    """The values, of which no more are made than a sweep may have.

    Raises:
        InputError: there are more than MOST.

    Example:
        >>> at_most(product(range(300), range(300), range(300)), "train")
        Traceback (most recent call last):
        randsmooth.errors.InputError: train comes to more than 2,000: leave some out, or make several grids
    """
    found = list(islice(values, MOST + 1))
    if len(found) > MOST:
        raise InputError(f"{where} comes to more than {MOST:,}: leave some out, or make several grids")
    return found


def crossed(settings: Any, where: str) -> list[Crossed]:
    """A mapping whose lists are crossed; or a list of such mappings, one after the other. None stands for {}.

    Example:
        >>> for one in crossed({"n": 1000, "rule": ["fixed", "grid"]}, "certify"):
        ...     print(one.values, one.varied)
        {'n': 1000, 'rule': 'fixed'} ['rule']
        {'n': 1000, 'rule': 'grid'} ['rule']
    """
    if settings is None:
        return [Crossed()]
    if isinstance(settings, list):
        return at_most((one for part in listed(settings, where) for one in crossed(part, where)), where)
    if not isinstance(settings, dict):
        raise InputError(f"{where} must hold `setting: value` lines; got {shown(repr(settings))}")
    varied = [key for key, value in settings.items() if isinstance(value, list)]
    values = [listed(value, f"{where}: {key}") for key, value in settings.items()]
    return at_most((Crossed(dict(zip(settings, chosen, strict=True)), varied) for chosen in product(*values)), where)


def named(value: Any, where: str) -> Iterator[tuple[str, Crossed]]:
    """Names with their settings: a name, a list of names, or a mapping from names to what `crossed` takes.

    Example:
        >>> [(name, one.values) for name, one in named({"gaussian": None, "macer": {"lbd": [6, 16]}}, "methods")]
        [('gaussian', {}), ('macer', {'lbd': 6}), ('macer', {'lbd': 16})]
    """
    if isinstance(value, dict) and value:
        for name, settings in value.items():
            yield from ((name, one) for one in crossed(settings, f"{where}: {name}"))
        return
    for name in listed([] if isinstance(value, dict) else value, where):
        if isinstance(name, dict):
            yield from named(name, where)
        elif isinstance(name, str):
            yield name, Crossed()
        else:
            raise InputError(f"{where} must be names, or `name: settings` lines; got {shown(repr(name))}")
