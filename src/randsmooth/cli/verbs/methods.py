"""`randsmooth methods`: training methods, and the settings that papers publish."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from randsmooth import data
from randsmooth.cli.options import Answered
from randsmooth.cli.settings import Argument, Unsaved
from randsmooth.methods import METHODS, OUR_METHODS
from randsmooth.number_text import shortest

if TYPE_CHECKING:
    from randsmooth.methods import Method
    from randsmooth.training.presets import Preset

# Letters of the column of names in the list of methods.
NAME_WIDTH = 12

# Above the list of presets: what its lines mean.
KEY = (
    "`randsmooth train DATASET --preset NAME --sigma SIGMA` trains as published; "
    "--set overrides any value.",
    "a|b|c: values at sigma 0.25|0.5|1, unless the line names other sigmas. Presets "
    "for cifar10 also serve cifar10-jpeg.",
    "Epochs (E_t, lbd_from, milestones) count from 0: E_t=70 begins after 70 epochs. "
    "They belong to the paper's schedule;",
    "with another number of epochs they scale. batch: noisy samples per step, m of "
    "them of each image. Where a paper",
    "describes a model in two ways, /prose follows its text, /table1 the runs "
    "behind its table. Your own data get the",
    "schedule of digits with the architecture small-cnn, that of mnist with lenet, and "
    "that of cifar10 with any other.",
    "Indented: rows of ablation tables. `randsmooth methods NAME` says all of one "
    "preset, its schedule too.",
    "",
)


class Methods(Unsaved, Answered):
    """Settings of `randsmooth methods`.

    Attributes:
        name: Explain this method, or this preset, such as acr/amplify. (default: list
            all methods)
        presets: List the published settings instead, by paper; with NAME, those of one
            method.
    """

    name: Argument[str | None] = None
    presets: bool = False


def run(settings: Methods) -> None:
    """List the training methods, explain one, or list the published presets.

    Example: randsmooth methods amplify
    """
    name = settings.name
    # The name of a preset has a slash, that of a method has none.
    if name is not None and "/" in name:
        settings.answer(
            explained_preset(name),
            lambda: _presets_for_programs(lambda preset: preset.base == name),
        )
        return
    # Raises for an unknown method.
    if name is not None:
        METHODS.check(name)
    chosen = [*METHODS] if name is None else [name]

    if settings.presets:
        settings.answer(
            presets(chosen),
            lambda: _presets_for_programs(lambda preset: preset.method in chosen),
        )
        return
    lines = listing() if name is None else explained_method(name)
    settings.answer(lines, lambda: [_method_for_programs(method) for method in chosen])


def _method_for_programs(name: str) -> dict[str, Any]:
    """Return a method as plain values; a hyperparameter without a default has None."""
    method = METHODS[name]
    summary, source = summary_of(method)
    defaults = {}
    for field in dataclasses.fields(method):
        has_default = field.default is not dataclasses.MISSING
        defaults[field.name] = field.default if has_default else None
    return {"name": name, "summary": summary, "source": source, "defaults": defaults}


def _presets_for_programs(chosen: Callable[[Preset], bool]) -> list[dict[str, Any]]:
    """Return the presets for which `chosen` is true, as plain values.

    Each has the hyperparameters that are the same at every sigma as "fixed", and the
    others as "by_sigma": sigma -> their values.
    """
    # Late, as it reads the files of all presets, which the list of methods does not need.
    from randsmooth.training.presets import PRESETS

    return [
        {
            "name": preset.name,
            "method": preset.method,
            "arch": preset.arch,
            "source": preset.source,
            "datasets": _served(preset),
            "fixed": dict(preset.fixed),
            "by_sigma": {
                shortest(sigma): dict(values)
                for sigma, values in preset.by_sigma.items()
            },
        }
        for preset in PRESETS
        if chosen(preset)
    ]


def listing() -> Iterator[str]:
    """Yield two lines a method: its name and what it trains on, and its paper."""
    for name in METHODS:
        lines = f"{name:{NAME_WIDTH}} {_described(name)}"
        yield from lines.split("\n")
    yield ""
    yield (
        "`randsmooth methods NAME` explains one with its hyperparameters; --presets "
        "lists the published settings."
    )


def _described(name: str) -> str:
    """Return the two lines on a method: its summary above its paper."""
    # The summary of our own methods is known without importing them, which loads torch.
    if name in OUR_METHODS:
        method = OUR_METHODS[name]
        return _summary_above_source(method.summary, method.source)
    # A method of another package may be broken: `describe` says so in its place.
    return METHODS.describe(
        name, lambda method: _summary_above_source(*summary_of(method))
    )


def summary_of(method: type[Method]) -> tuple[str, str]:
    """Return the first paragraph of a method's docstring, and its paper."""
    return _first_paragraph(inspect.getdoc(method)), method.source


def _first_paragraph(docstring: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    paragraph = (docstring or "").partition("\n\n")[0]
    return " ".join(paragraph.split())


def _summary_above_source(summary: str, source: str) -> str:
    """Return two lines, the second of them indented to the column behind the names."""
    return f"{summary}\n{'':{NAME_WIDTH}} {source}"


def explained_method(name: str) -> Iterator[str]:
    """Yield lines that explain a method: its hyperparameters, defaults and preset."""
    method = METHODS[name]
    # The credit names the package of a method that is not ours.
    sources = [source for source in (method.source, METHODS.credit(name)) if source]
    yield f"{name}  ({'; '.join(sources)})"
    for line in inspect.cleandoc(method.__doc__ or "").splitlines():
        heading = "Hyperparameters:" if line == "Attributes:" else line
        yield f"  {heading}".rstrip()
    defaults = [
        f"{field.name}={field.default!r}" for field in dataclasses.fields(method)
    ]
    yield f"  Defaults of the class: {', '.join(defaults)}"
    yield from _preset_for_digits(name)


def _preset_for_digits(method: str) -> Iterator[str]:
    """Yield two lines on the preset that `train digits` takes for a method, if any."""
    # Late, as in `_presets_for_programs`.
    from randsmooth.training.presets import PRESETS, default

    serves_digits = any(
        preset.method == method and preset.main and preset.serves("digits")
        for preset in PRESETS
    )
    if serves_digits:
        preset = default(method, "digits")
        values = values_by_sigma(preset)
        yield f"  `train digits` uses the preset {preset.name}: {values}"
        command = f"randsmooth methods {method} --presets"
        yield f"  `{command}` lists those for other data sets."


def presets(methods: Sequence[str]) -> Iterator[str]:
    """Yield the lines on all presets for `methods`, by paper."""
    # Late, as in `_presets_for_programs`.
    from randsmooth.training.presets import PAPERS, PRESETS

    yield from KEY
    # A paper by the first part of its presets' names, such as "acr", and its citation.
    for paper_name, paper in PAPERS.items():
        of_paper = [
            preset
            for preset in PRESETS
            if preset.method in methods and preset.name.startswith(f"{paper_name}/")
        ]
        if of_paper:
            yield paper
            yield from presets_of_paper(of_paper, paper)
            yield ""


def presets_of_paper(presets: Sequence[Preset], paper: str) -> Iterator[str]:
    """Yield a line for each main preset, and below one for each with variations.

    Args:
        presets: the presets of a paper.
        paper: the citation of the paper, with which the source of a preset begins.
    """
    main = [preset for preset in presets if preset.main]
    rows = [preset for preset in presets if not preset.main]
    width = max((len(preset.name) for preset in main), default=0)
    for preset in main:
        # The heading above has cited the paper; what is left is the place in it.
        source = preset.source.removeprefix(paper).lstrip(",: ")
        values = f"{_datasets(preset)}: {values_by_sigma(preset)}"
        yield f"  {preset.name:{width}}  {values}  ({source})"
    # Each once: presets of one name are for several data sets.
    for base in dict.fromkeys(preset.base for preset in rows):
        variations = dict.fromkeys(
            f"/{preset.variation}" for preset in rows if preset.base == base
        )
        yield f"    {base} {', '.join(variations)}"


def explained_preset(name: str) -> Iterator[str]:
    """Yield the lines on the presets of a name, each for other data sets.

    Below them are the names of the variations.
    """
    # Late, as in `_presets_for_programs`.
    from randsmooth.training.presets import PRESETS, named

    of_name = [preset for preset in PRESETS if preset.base == name]
    # A paper may describe a model in two ways, /prose and /table1: both are main.
    accounts = [preset for preset in of_name if preset.main and preset.variation]
    for preset in (*named(name), *accounts):
        yield from _lines_of_preset(preset)
        yield ""

    rows = [preset.name for preset in of_name if not preset.main]
    if rows:
        yield f"variations: {', '.join(rows)}"


def _lines_of_preset(preset: Preset) -> Iterator[str]:
    """Yield the lines on a preset: its source, values and schedules."""
    yield f"{preset.name}  ({preset.source})"
    architecture = f" with {preset.arch}" if preset.arch else ""
    yield f"  --method {preset.method} on {_datasets(preset)}{architecture}"
    values, _ = _values_of(preset)
    sigmas = _joined([*preset.by_sigma]) if preset.by_sigma else "any"
    yield f"  {values} at sigma {sigmas}"
    for dataset in _served(preset):
        # The architecture matters only where no data set has a usual schedule.
        schedule = preset.schedule(dataset, arch="")
        yield f"  {dataset}: {schedule.summary()}"


def _served(preset: Preset) -> list[str]:
    """Return the data sets that a preset is for.

    Whatever serves cifar10-jpeg also serves cifar10, which alone is named.
    """
    return [name for name in preset.datasets or data.DATASETS if name != "cifar10-jpeg"]


def _datasets(preset: Preset) -> str:
    """Return the data sets that a preset is for, in words."""
    return ", ".join(_served(preset)) if preset.datasets else "any data set"


def values_by_sigma(preset: Preset) -> str:
    """Return the values of a preset as a text: m=4, T=3|6|4 at sigma 0.25|0.5|1.

    The sigmas are left out where no value depends on them.
    """
    values, depend_on_sigma = _values_of(preset)
    if depend_on_sigma:
        values += f" at sigma {_joined([*preset.by_sigma])}"
    return values


def _values_of(preset: Preset) -> tuple[str, bool]:
    """Return the values of a preset as a text, and whether any depends on sigma."""
    # A preset that lists no sigma has the same values at every sigma, so any will do.
    sigmas = [*preset.by_sigma] or [1.0]
    hyperparameters = [preset.hyperparameters(sigma) for sigma in sigmas]
    texts = []
    depend_on_sigma = False
    # Every sigma has the same names.
    for name in hyperparameters[0]:
        values = [at_sigma[name] for at_sigma in hyperparameters]
        texts.append(f"{name}={_joined(values)}")
        if len(set(_texts(values))) > 1:
            depend_on_sigma = True
    return ", ".join(texts), depend_on_sigma


def _joined(values: Sequence[Any]) -> str:
    """Return values as the text 3|6|4, or as one value where all are the same."""
    texts = _texts(values)
    if len(set(texts)) == 1:
        return texts[0]
    return "|".join(texts)


def _texts(values: Sequence[Any]) -> list[str]:
    """Return each value as it is printed: floats by their shortest digits."""
    return [
        shortest(value) if isinstance(value, float) else str(value) for value in values
    ]
