"""`randsmooth methods`: the training methods, and the settings that papers trained with."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.cli.settings import Unsaved, argument, option
from randsmooth.escape import say

if TYPE_CHECKING:
    from randsmooth.methods import Method
    from randsmooth.training.presets import Preset

LEGEND = """\
`randsmooth train DATASET --preset NAME --sigma SIGMA` trains as published; --set overrides any value.
a|b|c: values at sigma 0.25|0.5|1, unless the line names other sigmas. Presets for cifar10 also serve cifar10-jpeg.
Epochs (E_t, lbd_from, milestones) count from 0: E_t=70 begins after 70 epochs. They belong to the paper's schedule;
with another number of epochs they scale. batch: noisy samples per step, m of them of each image. Where a paper
describes a model in two ways, /prose is what its text says, /table1 the runs behind its table. Your own data get the
schedule of digits with the architecture small-cnn, that of mnist with lenet, and that of cifar10 with any other.
Indented: rows of ablation tables. `randsmooth methods NAME` says all of one preset, its schedule too.
"""


class Methods(Unsaved):
    """Settings of `randsmooth methods`."""

    name: str | None = argument(
        "Explain this method, or this preset, such as acr/amplify. (default: list all methods)", default=None
    )
    presets: bool = option("List the published settings instead, by paper; with NAME, those of one method.", False)


def methods(settings: Methods) -> None:
    """List the training methods, explain one with its hyperparameters, or list the published presets.

    Example: randsmooth methods amplify
    """
    from randsmooth.methods import METHODS

    if settings.name and "/" in settings.name:
        say("\n".join(explained_preset(settings.name)))
        return
    if settings.name:
        METHODS.check(settings.name)
    if settings.presets:
        say("\n".join(presets([settings.name] if settings.name else [*METHODS])))
    else:
        say("\n".join(explained_method(settings.name) if settings.name else listing()))


def listing() -> Iterator[str]:
    """Two lines a method: what it trains on, and its paper."""
    from randsmooth.methods import METHODS

    for name in METHODS:
        if METHODS.source(name) == "randsmooth":
            yield f"{name:12} {_two_lines(*written_summary(METHODS.place(name)))}"
        else:
            foreign = partial(lambda credit, method: _two_lines(*summary_of(method), credit), METHODS.credit(name))
            yield f"{name:12} {METHODS.describe(name, foreign)}"
    yield ""
    yield "`randsmooth methods NAME` explains one with its hyperparameters; --presets lists the published settings."


def written_summary(place: str) -> tuple[str, str]:
    """What `summary_of` says of the class at "module:class", read from its source: a listing need not load torch.

    Example:
        >>> written_summary("randsmooth.methods.gaussian:Gaussian")[1]
        'Cohen, Rosenfeld & Kolter, ICML 2019'
    """
    module, _, name = place.partition(":")
    found = find_spec(module)
    assert found is not None and found.origin is not None, place
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    (kind,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    assigned = (node for node in kind.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "source")
    sources = [ast.literal_eval(node.value) for node in assigned if node.value is not None]
    return _first_paragraph(ast.get_docstring(kind)), sources[0]


def summary_of(method: type[Method]) -> tuple[str, str]:
    """The first paragraph of a method's docstring, on one line, and its paper."""
    return _first_paragraph(method.__doc__), method.source


def _first_paragraph(docstring: str | None) -> str:
    return " ".join(inspect.cleandoc(docstring or "").partition("\n\n")[0].split())


def _two_lines(summary: str, *sources: str) -> str:
    return f"{summary}\n{'':12} {'; '.join(filter(None, sources))}"


def explained_method(name: str) -> Iterator[str]:
    """What a method is, what its hyperparameters mean, their defaults, and the values that `train` takes by itself."""
    from randsmooth.methods import METHODS
    from randsmooth.training.presets import PRESETS, default

    method = METHODS[name]
    yield f"{name}  ({'; '.join(filter(None, [method.source, METHODS.credit(name)]))})"
    for line in inspect.cleandoc(method.__doc__ or "").splitlines():
        yield f"  {'Hyperparameters:' if line == 'Attributes:' else line}".rstrip()
    yield f"  Defaults of the class: {', '.join(f'{f.name}={f.default!r}' for f in dataclasses.fields(method))}"
    if any(preset.method == name and preset.main and preset.serves("digits") for preset in PRESETS):
        preset = default(name, "digits")
        yield f"  `train digits` uses the preset {preset.name}: {values_by_sigma(preset)}"
        yield f"  `randsmooth methods {name} --presets` lists those for other data sets."


def presets(methods: Sequence[str]) -> Iterator[str]:
    """The list of all presets for `methods`, by paper: a line for each, and one for the rows of ablation tables."""
    from randsmooth.training.presets import PAPERS, PRESETS

    yield LEGEND
    for key, paper in PAPERS.items():
        found = [preset for preset in PRESETS if preset.method in methods and preset.name.startswith(f"{key}/")]
        width = max((len(preset.name) for preset in found if preset.main), default=0)
        yield from [paper] * bool(found)
        for preset in found:
            if preset.main:
                source = preset.source.removeprefix(paper).lstrip(",: ")
                yield f"  {preset.name:{width}}  {_datasets(preset)}: {values_by_sigma(preset)}  ({source})"
        rows: dict[str, dict[str, None]] = {}
        for preset in found:
            if not preset.main:
                rows.setdefault(preset.base, {})[f"/{preset.variation}"] = None
        yield from (f"    {base} {', '.join(names)}" for base, names in rows.items())
        yield from [""] * bool(found)


def explained_preset(name: str) -> Iterator[str]:
    """The lines on the preset called `name`, one part for each of its groups of data sets, and on its variations."""
    from randsmooth.training.presets import PRESETS, named

    accounts = [preset for preset in PRESETS if preset.base == name and preset.main and preset.variation]
    for preset in (*named(name), *accounts):
        yield f"{preset.name}  ({preset.source})"
        yield f"  --method {preset.method} on {_datasets(preset)}" + (f" with {preset.arch}" if preset.arch else "")
        sigmas = _joined([*preset.by_sigma]) if preset.by_sigma else "any"
        yield f"  {values_by_sigma(preset).partition(' at sigma')[0]} at sigma {sigmas}"
        for dataset in _served(preset):
            yield f"  {dataset}: {preset.schedule(dataset, '').summary()}"
        yield ""
    rows = [preset.name for preset in PRESETS if preset.base == name and not preset.main]
    yield from [f"variations: {', '.join(rows)}"] * bool(rows)


def _served(preset: Preset) -> list[str]:
    from randsmooth import data

    return [name for name in preset.datasets or data.DATASETS if name != "cifar10-jpeg"]


def _datasets(preset: Preset) -> str:
    return ", ".join(_served(preset)) if preset.datasets else "any data set"


def values_by_sigma(preset: Preset) -> str:
    """m=4, T=3|6|4 at sigma 0.25|0.5|1"""
    at = [preset.hyperparameters(sigma) for sigma in preset.by_sigma or (1.0,)]
    words = ", ".join(f"{key}={_joined([values[key] for values in at])}" for key in at[0])
    return f"{words} at sigma {_joined([*preset.by_sigma])}" if "|" in words else words


def _joined(values: Sequence[Any]) -> str:
    """3|6|4, or one value where all are the same."""
    words = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return words[0] if len(set(words)) == 1 else "|".join(words)
