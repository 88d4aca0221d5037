"""A grid: which models are trained and how each is certified, from a short YAML file whose lists are crossed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any, TypeVar

from randsmooth.certificates import CertificationSettings
from randsmooth.documents import MOST_YAML_BYTES, parse_yaml, read_file, shown
from randsmooth.errors import BadValue, NotFound, check_known
from randsmooth.training import TrainingSettings

KEYS = ("datasets", "methods", "sigmas", "seeds", "train", "certify")
PLACE = ("dataset", "method", "sigma", "seed")
MOST = 2_000  # models of a grid, or settings of a part of it
TRAINING = ({*TrainingSettings.model_fields} - {"method", "sigma", "seed", "set"}) | {
    "device"
}
CERTIFYING = {*CertificationSettings.model_fields} | {
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
        dataset, method, sigma, seed: what it is trained on, and how; in sigma's place may stand the text of a noise.
        shared: settings of `train` that the grid gives for all methods.
        own: those that it gives for this method, hyperparameters among them. Where one names the folder of a model, a
            mapping in its place refers to another model of the sweep.
        title: what the folder of the cell is called.
    """

    dataset: str
    method: str
    sigma: float | str
    seed: int
    shared: Settings
    own: Settings
    title: str

    @property
    def values(self) -> dict[str, Any]:
        """All settings by name, besides data set, method, sigma and seed."""
        return {**self.shared, **self.own}

    def options(self) -> dict[str, Any]:
        """The options of `randsmooth train`, with hyperparameters and settings of the optimisation below `set`."""
        given = {key: value for key, value in self.values.items() if key in TRAINING}
        rest = {key: value for key, value in self.values.items() if key not in TRAINING}
        level = "noise" if isinstance(self.sigma, str) else "sigma"
        first = {"method": self.method, level: self.sigma, "seed": self.seed}
        return {**first, **given, **({"set": rest} if rest else {})}


@dataclass(frozen=True)
class SweepGrid:
    """The models of a sweep and how they are certified.

    Attributes:
        cells: the models.
        certifications: settings of the ways in which each is certified, by the names of their tables.
        document: what the YAML file said.

    Example:
        >>> grid = SweepGrid.read({"datasets": "digits", "methods": {"macer": {"lbd": [6, 16]}}, "sigmas": 0.5})
        >>> grid.cells[1].title, grid.certifications
        ('digits-macer-lbd=16-0.5-seed0', {'certificates': {}})
    """

    cells: tuple[Cell, ...]
    certifications: Mapping[str, Settings]
    document: Settings = field(repr=False)

    @classmethod
    def read(cls, source: Path | str | Settings) -> SweepGrid:
        """The grid in a YAML file, or in the mapping that such a file would hold.

        | key | what it holds |
        | --- | --- |
        | `datasets` | names or paths; below one, settings of `train` for it |
        | `methods` | names; below one, its hyperparameters and settings of `train` for it |
        | `sigmas` | of the noise; or another noise, as in `--noise`: `uniform=0.6` |
        | `seeds` | of training; 0 if not given |
        | `train` | settings of `train` for all |
        | `certify` | settings of `certify`; several mappings certify each model in several ways |

        Every list is crossed with all others, and a list of mappings stands for one mapping after the other. What the
        settings of `train` mean is left to the steps that have them.

        Raises:
            Problem: no such file, an unknown key, an empty list, a value or a model twice, a value of a type that
                cannot be, or more than 2,000 models or certifications.

        Example:
            >>> grid = SweepGrid.read({"datasets": "digits", "methods": ["gaussian", "macer"], "sigmas": [0.25, 0.5]})
            >>> [cell.title for cell in grid.cells]  # doctest: +NORMALIZE_WHITESPACE
            ['digits-gaussian-0.25-seed0', 'digits-gaussian-0.5-seed0',
             'digits-macer-0.25-seed0', 'digits-macer-0.5-seed0']
            >>> SweepGrid.read({"dataset": "digits"})
            Traceback (most recent call last):
            randsmooth.errors.UnknownName: unknown key of a grid 'dataset': did you mean 'datasets'? Expected one ...
        """
        document = source if isinstance(source, Mapping) else _document(Path(source))
        check_known("key of a grid", KEYS, *document)
        for key in KEYS[:3]:
            if document.get(key) in (None, "", {}):
                raise BadValue(
                    f"the grid is empty: it must name {key}, as it must {', '.join(KEYS[:3])}"
                )
        cells = by_title(((cell.title, cell) for cell in _cells(document)), "the grid")
        certifications = by_title(_certifications(document.get("certify")), "certify")
        at_most(product(cells, certifications), "models by certifications")
        return cls(tuple(cells.values()), certifications, dict(document))

    def meant(self, by: Cell, key: str, reference: Settings) -> Cell:
        """The model that a hyperparameter `key` of the cell `by` refers to: one of the grid's, or one more.

        What the reference does not say is as in `by`, settings for one method aside.

        Raises:
            Problem: several models of the grid are meant.
        """
        said = {name: getattr(by, name) for name in PLACE} | {
            "method": "gaussian",
            **reference,
        }
        place = {name: said.pop(name) for name in PLACE}

        def as_shared(cell: Cell) -> dict[str, Any]:
            return {
                name: value for name, value in cell.shared.items() if name not in said
            }

        there = [cell for cell in self.cells if place.items() <= vars(cell).items()]
        fits = [
            one
            for one in there
            if as_shared(one) == as_shared(by) and said.items() <= one.values.items()
        ]
        if len(fits) > 1:
            titles = " or ".join(cell.title for cell in fits)
            raise BadValue(
                f"{by.title}: {key} may mean {titles}: say in which setting they differ"
            )
        title = _title(**place, said=said)
        return (
            fits[0] if fits else Cell(**place, shared=by.shared, own=said, title=title)
        )


def _document(path: Path) -> dict[str, Any]:
    document = (
        parse_yaml(read_file(path, MOST_YAML_BYTES), path) if path.is_file() else None
    )
    if not isinstance(document, dict):
        raise NotFound(
            f"no grid at {path}: give a YAML file with lines `key: value` for {', '.join(KEYS)}"
        )
    return document


def _cells(document: Settings) -> Iterator[Cell]:
    sigmas, seeds = (
        listed(document["sigmas"], "sigmas"),
        listed(document.get("seeds", 0), "seeds"),
    )
    datasets, methods = (
        at_most(named(document[key], key), key) for key in ("datasets", "methods")
    )
    shared = (
        (name, one | own)
        for name, own in datasets
        for one in crossed(document.get("train"), "train")
    )
    common = at_most(shared, "the grid")
    varied = {
        name: _varied([one for other, one in common if other == name])
        for name, _ in datasets
    }
    for (dataset, shared), (method, own), sigma, seed in product(
        common, methods, sigmas, seeds
    ):
        said = {
            key: value for key, value in shared.items() if key in varied[dataset]
        } | own
        yield Cell(
            dataset,
            method,
            sigma,
            seed,
            shared,
            own,
            _title(dataset, method, sigma, seed, said),
        )


def _varied(settings: Sequence[Settings]) -> set[str]:
    """The settings in which some of these differ, so that names must say them."""
    return {
        key
        for one in settings
        for key in {*one, *settings[0]}
        if one.get(key) != settings[0].get(key)
    }


def _certifications(document: Any) -> Iterator[tuple[str, Settings]]:
    for settings in [] if document == [] else crossed(document, "certify"):
        check_known("setting below certify:", CERTIFYING, *settings)
        yield slug("-".join(_words(settings))) or "certificates", settings


def by_title(named: Iterable[tuple[str, T]], where: str) -> dict[str, T]:
    """What is named, by its name. Problem where two models, or two tables, would have one name, or are too many."""
    found = dict[str, T]()
    for title, one in at_most(named, where):
        if title in found:
            raise BadValue(
                f"{where} has {title} twice: leave one of them out, or put it into another grid"
            )
        found[title] = one
    return found


def _title(
    dataset: str, method: str, sigma: float | str, seed: int, said: Settings
) -> str:
    return slug(
        "-".join(
            [
                Path(dataset).name,
                str(method),
                *_words(said),
                _word(sigma),
                f"seed{seed}",
            ]
        )
    )


def _words(values: Settings) -> list[str]:
    """Settings as they stand in the name of a folder, in whatever order a grid gives them."""
    return [f"{key}={_word(values[key])}" for key in sorted(values)]


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return "-".join(_word(value[key]) for key in sorted(value)) or "default"
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
    return (
        words
        if len(words) <= 100
        else f"{words[:91]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    )


def listed(value: Any, where: str) -> list[Any]:
    """A value that may be a list, as a list.

    Raises:
        Problem: an empty list, or one of more than MOST.

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
    """The values, of which no more are made than a sweep may have.

    Raises:
        Problem: there are more than MOST.

    Example:
        >>> at_most(product(range(300), range(300), range(300)), "train")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: train comes to more than 2,000: leave some out, or make several grids
    """
    found = list(islice(values, MOST + 1))
    if len(found) > MOST:
        raise BadValue(
            f"{where} comes to more than {MOST:,}: leave some out, or make several grids"
        )
    return found


def crossed(settings: Any, where: str) -> Iterator[dict[str, Any]]:
    """A mapping whose lists are crossed; or a list of such mappings, one after the other. None stands for {}.

    Example:
        >>> [*crossed({"n": 1000, "rule": ["fixed", "grid"]}, "certify")]
        [{'n': 1000, 'rule': 'fixed'}, {'n': 1000, 'rule': 'grid'}]
    """
    if isinstance(settings, list):
        for part in listed(settings, where):
            yield from crossed(part, where)
    elif isinstance(settings, dict | None):
        values = [
            listed(value, f"{where}: {shown(key)}")
            for key, value in (settings or {}).items()
        ]
        yield from (
            dict(zip(settings or {}, chosen, strict=True))
            for chosen in product(*values)
        )
    else:
        raise BadValue(
            f"{where} must hold `setting: value` lines; got {shown(repr(settings))}"
        )


def named(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names with their settings: a name, a list of names, or a mapping from names to what `crossed` takes.

    Example:
        >>> [*named({"gaussian": None, "macer": {"lbd": [6, 16]}}, "methods")]
        [('gaussian', {}), ('macer', {'lbd': 6}), ('macer', {'lbd': 16})]
    """
    for part in listed(value, where):
        if isinstance(part, str):
            yield part, {}
        elif isinstance(part, dict):
            yield from (
                (name, one)
                for name in part
                for one in crossed(part[name], f"{where}: {shown(name)}")
            )
        else:
            raise BadValue(
                f"{where} must be names, or `name: settings` lines; got {shown(repr(part))}"
            )
