"""`randsmooth methods`, `data`, `cite` and `completion`: what there is, where it is from, and its names for a shell."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from randsmooth import data, papers
from randsmooth.cli.options import DATASET, Answered, Images
from randsmooth.cli.output import COMPLETION
from randsmooth.cli.settings import Argument, Unsaved, option
from randsmooth.data import is_at_hand
from randsmooth.escape import LONG, printable, say, shortened, to_json
from randsmooth.methods import METHODS
from randsmooth.models.places import shipped
from randsmooth.urls import fetched, is_url

if TYPE_CHECKING:
    from randsmooth.methods import Method
    from randsmooth.training.presets import Preset


class Methods(Unsaved, Answered):
    """Settings of `randsmooth methods`.

    Attributes:
        name: Explain this method, or this preset, such as acr/amplify. (default: list all methods)
        presets: List the published settings instead, by paper; with NAME, those of one method.
    """

    name: Argument[str | None] = None
    presets: bool = False


def methods(settings: Methods) -> None:
    """List the training methods, explain one with its hyperparameters, or list the published presets.

    Example: randsmooth methods amplify
    """
    name, chosen = settings.name, [settings.name] if settings.name else [*METHODS]
    if name and "/" in name:
        settings.answer(
            explained_preset(name), lambda: _presets(lambda preset: preset.base == name)
        )
        return
    if name:
        METHODS.check(name)
    if settings.presets:
        settings.answer(
            presets(chosen), lambda: _presets(lambda preset: preset.method in chosen)
        )
    else:
        settings.answer(
            explained_method(name) if name else listing(),
            lambda: [_method(each) for each in chosen],
        )


def _method(name: str) -> dict[str, Any]:
    """A method for a program."""
    method = METHODS[name]
    summary, source = summary_of(method)
    defaults = {
        f.name: None if f.default is dataclasses.MISSING else f.default
        for f in dataclasses.fields(method)
    }
    return {"name": name, "summary": summary, "source": source, "defaults": defaults}


def _presets(chosen: Callable[[Preset], bool]) -> list[dict[str, Any]]:
    """Presets for a program."""
    from randsmooth.training.presets import PRESETS

    facts = ("name", "method", "arch", "source")
    return [
        {fact: getattr(preset, fact) for fact in facts}
        | {"datasets": _served(preset), "set": values_by_sigma(preset)}
        for preset in filter(chosen, PRESETS)
    ]


def listing() -> Iterator[str]:
    """Two lines a method: what it trains on, and its paper."""
    for name in METHODS:
        lines = METHODS.describe(name, lambda method: _two(*summary_of(method)))
        yield from f"{name:12} {lines}".split("\n")
    yield ""
    yield "`randsmooth methods NAME` explains one with its hyperparameters; --presets lists the published settings."


def summary_of(method: type[Method]) -> tuple[str, str]:
    """The first paragraph of a method's docstring, on one line, and its paper."""
    return " ".join(
        inspect.cleandoc(method.__doc__ or "").partition("\n\n")[0].split()
    ), method.source


def _two(summary: str, source: str) -> str:
    return f"{summary}\n{'':12} {source}"


def explained_method(name: str) -> Iterator[str]:
    """What a method is, what its hyperparameters mean, their defaults, and the values that `train` takes by itself."""
    from randsmooth.training.presets import PRESETS, default

    method = METHODS[name]
    yield f"{name}  ({'; '.join(filter(None, [method.source, METHODS.credit(name)]))})"
    for line in inspect.cleandoc(method.__doc__ or "").splitlines():
        yield f"  {'Hyperparameters:' if line == 'Attributes:' else line}".rstrip()
    yield f"  Defaults of the class: {', '.join(f'{f.name}={f.default!r}' for f in dataclasses.fields(method))}"
    if any(
        preset.method == name and preset.main and preset.serves("digits")
        for preset in PRESETS
    ):
        preset = default(name, "digits")
        yield f"  `train digits` uses the preset {preset.name}: {values_by_sigma(preset)}"
        yield f"  `randsmooth methods {name} --presets` lists those for other data sets."


def presets(methods: Sequence[str]) -> Iterator[str]:
    """The list of all presets for `methods`, by paper: a line for each, and one for the rows of ablation tables."""
    from randsmooth.training.presets import PAPERS, PRESETS

    yield from (
        Path(__file__).with_name("presets.txt").read_text(encoding="utf-8").split("\n")
    )
    for key, paper in PAPERS.items():
        found = [
            preset
            for preset in PRESETS
            if preset.method in methods and preset.name.startswith(f"{key}/")
        ]
        main = [preset for preset in found if preset.main]
        yield from [paper] * bool(found)
        for preset in main:
            source = preset.source.removeprefix(paper).lstrip(",: ")
            name = preset.name.ljust(max(len(each.name) for each in main))
            yield f"  {name}  {_datasets(preset)}: {values_by_sigma(preset)}  ({source})"
        for base in dict.fromkeys(preset.base for preset in found if not preset.main):
            rows = (
                f"/{preset.variation}"
                for preset in found
                if preset.base == base and not preset.main
            )
            yield f"    {base} {', '.join(dict.fromkeys(rows))}"
        yield from [""] * bool(found)


def explained_preset(name: str) -> Iterator[str]:
    """The lines on the preset called `name`, one part for each of its groups of data sets, and on its variations."""
    from randsmooth.training.presets import PRESETS, named

    accounts = [
        preset
        for preset in PRESETS
        if preset.base == name and preset.main and preset.variation
    ]
    for preset in (*named(name), *accounts):
        yield f"{preset.name}  ({preset.source})"
        yield f"  --method {preset.method} on {_datasets(preset)}" + (
            f" with {preset.arch}" if preset.arch else ""
        )
        sigmas = _joined([*preset.by_sigma]) if preset.by_sigma else "any"
        yield f"  {values_by_sigma(preset).partition(' at sigma')[0]} at sigma {sigmas}"
        for dataset in _served(preset):
            yield f"  {dataset}: {preset.schedule(dataset, '').summary()}"
        yield ""
    rows = [
        preset.name for preset in PRESETS if preset.base == name and not preset.main
    ]
    yield from [f"variations: {', '.join(rows)}"] * bool(rows)


def _served(preset: Preset) -> list[str]:
    return [name for name in preset.datasets or data.DATASETS if name != "cifar10-jpeg"]


def _datasets(preset: Preset) -> str:
    return ", ".join(_served(preset)) if preset.datasets else "any data set"


def values_by_sigma(preset: Preset) -> str:
    """m=4, T=3|6|4 at sigma 0.25|0.5|1"""
    at = [preset.hyperparameters(sigma) for sigma in preset.by_sigma or (1.0,)]
    words = ", ".join(
        f"{key}={_joined([values[key] for values in at])}" for key in at[0]
    )
    return f"{words} at sigma {_joined([*preset.by_sigma])}" if "|" in words else words


def _joined(values: Sequence[Any]) -> str:
    """3|6|4, or one value where all are the same."""
    words = [
        f"{value:g}" if isinstance(value, float) else str(value) for value in values
    ]
    return words[0] if len(set(words)) == 1 else "|".join(words)


class List(Unsaved, Answered):
    """`randsmooth data list` has no settings."""


class Describe(Answered, Images):
    """Settings of `randsmooth data describe`."""

    dataset: Argument[str] = option(DATASET, ...)


def list_(settings: List) -> None:
    """List the named data sets, and whether each is here, on the hub (fetched when it is asked for) or away.

    A name is looked for in `$RANDSMOOTH_DATA/NAME/{train,test}.parquet` first: put there what is away.
    """

    def about(spec: data.DatasetSpec) -> str:
        return f"{'here' if is_at_hand(spec.name) else 'hub ' if spec.hub else 'away'}  {spec.description}"

    said = {name: data.DATASETS.describe(name, about) for name in data.DATASETS}
    settings.answer(
        (f"{name:15} {words}" for name, words in said.items()), lambda: said
    )


def splits_in_words(sizes: Mapping[str, int]) -> str:
    """How many images data have, by split where there are several.

    Data of one split are used for training and for tests alike, so that neither name is theirs.

    Example:
        >>> splits_in_words({"train": 60_000, "test": 10_000}), splits_in_words({"train": 20})
        ('60,000 train, 10,000 test', '20, in one split')
    """
    if len(sizes) == 1:
        return f"{sum(sizes.values()):,}, in one split"
    return ", ".join(f"{count:,} {split}" for split, count in sizes.items())


def describe(settings: Describe) -> None:
    """Describe a data set: image shape, classes, normalisation, augmentation, usual architecture, origin."""
    name, how = (
        settings.dataset,
        settings.model_dump(exclude={"dataset", "format"}, exclude_none=True),
    )
    named = name in data.DATASETS and not how
    spec = (
        data.DATASETS[name] if named else data.describe(name, **how)
    )  # which loads torch
    axes = (
        ", features of any scale"
        if spec.features
        else " (channels, height, width), pixels in [0, 1]"
    )
    classes = ", ".join(spec.classes[:10]) + (", ..." if spec.num_classes > 10 else "")
    facts = {"images": dict(spec.sizes), "hub": spec.hub} | {
        name: getattr(spec, name) for name in ("shape", "classes", "mean", "std")
    }
    said = {
        "name": spec.name,
        "what": spec.description,
        "rows" if spec.features else "images": splits_in_words(spec.sizes),
        "shape": " x ".join(map(str, spec.shape)) + axes,
        "classes": f"{spec.num_classes}: {classes}"
        if classes
        else "none: the images have no labels",
        "normalisation": "none"
        if spec.mean is None
        else f"mean {spec.mean}, std {spec.std} (inside the model)",
        "augmentation": spec.augment,
        "architecture": spec.arch,
        "hub": spec.hub or "not on the hub",
    }
    if spec.held:
        held = ", ".join(column.name for column in spec.held)
        said["no numbers"] = f"{held}: held fixed, for a model that encodes them itself"
    lines = (
        f"{key:14} {shortened(printable(str(value)), LONG)}"
        for key, value in said.items()
    )
    settings.answer(lines, lambda: said | facts)


class Cite(Unsaved):
    """Settings of `randsmooth cite`.

    Attributes:
        things: Certificate tables, logs, model folders, or names: a method, rule, bound, data set, architecture, or
            acr, p_a, sound, denoised, ensemble, ... (default: randsmooth alone)
        format: Of the answer.
    """

    things: Argument[list[str]] = []
    format: Literal["text", "bibtex", "json"] = "text"


def cite(settings: Cite) -> None:
    """Print what to cite for a run: randsmooth, and the papers and data sets behind what it used, each with its use.

    Read from the header of a table, from a model's configuration, or from the path of a published log. Whether you
    report ACR or p_A nobody knows but you: their papers are named for every table.

    Example: randsmooth cite runs/gaussian.parquet --format bibtex > references.bib
    """
    found = papers.cited(
        [
            fetched(thing) if is_url(thing) else shipped(thing)
            for thing in settings.things
        ]
    )
    if settings.format == "json":
        say(to_json(found.to_dict()))
    else:
        say(found.bibtex() if settings.format == "bibtex" else found.text())


# How each shell is told to read the script whenever it starts.
LASTING = {
    "bash": """echo 'eval "$(randsmooth completion bash)"' >> ~/.bashrc""",
    "zsh": """echo 'eval "$(randsmooth completion zsh)"' >> ~/.zshrc   # below the line that calls compinit""",
    "fish": "randsmooth completion fish > ~/.config/fish/completions/randsmooth.fish",
    "powershell": "randsmooth completion powershell >> $PROFILE",
}


class Completion(Unsaved):
    """Settings of `randsmooth completion`."""

    shell: Argument[Literal["bash", "zsh", "fish", "powershell"]] = option(
        f"{', '.join(LASTING)}.", ...
    )

    @classmethod
    def epilog(cls) -> str:
        """How the script is installed."""
        return "For every new shell: " + "; or ".join(
            f"`{way}`" for way in LASTING.values()
        )


def completion(settings: Completion) -> None:
    """Print the script with which a shell completes verbs, options, names and files.

    Completed by name are data sets, methods, presets, rules, backends, architectures, devices, loggers and splits,
    those of other installed packages among them. Elsewhere, and where no name begins so, the shell offers files.

    Example: eval "$(randsmooth completion bash)"
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(
        prog_name="randsmooth", complete_var=COMPLETION, shell=settings.shell
    )
    say(f"{script}\n# To have this in every new shell: {LASTING[settings.shell]}")
