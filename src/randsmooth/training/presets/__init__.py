"""The settings that the papers trained with. Each preset cites its source; each paper has a file of them, in YAML."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from typing import Any

from randsmooth.documents import parse_yaml
from randsmooth.errors import InputError, unknown
from randsmooth.training.presets.base import SIGMAS, Preset, read, usual_optimisation

__all__ = ["PAPERS", "PRESETS", "SIGMAS", "Preset", "default", "find", "named", "usual_optimisation"]

# The first preset for a data set and a method is the default there, unless it is a variation: so the order matters.
FILES = ("acr", "cat-rs", "macer", "jeong", "acr-baselines")
GREY = ("digits", "mnist", "fashion-mnist")

PAPERS: dict[str, str] = {}  # the paper that the first part of a preset's name stands for
_found: list[Preset] = []


def _read(name: str) -> None:
    """Add the presets of a file to those found."""
    text = resources.files(__name__).joinpath(f"{name}.yaml").read_text()
    facts: dict[str, Any] = parse_yaml(text, name)
    PAPERS.update(facts["paper"])
    for entry in facts["presets"]:
        _found.extend(read(facts["paper"], entry, _found))


def _borrowed(name: str, dataset: str, datasets: tuple[str, ...] = ()) -> Preset:
    """The values of a preset on other data sets; what is measured in epochs is scaled to their schedules.

    MACER is deferred to a third of the schedule, and takes 64 images a step: without this beginning, or with the 16
    images of a usual batch, small networks became constant classifiers.
    """
    preset = next(each for each in _found if each.name == name and each.serves(dataset))
    assert preset.optimisation is not None
    source = f"not from a paper: {preset.name} of {preset.datasets[0]} on the data set's usual schedule"
    borrowed = replace(
        preset,
        name=f"randsmooth/{preset.method}",
        source=source,
        datasets=datasets,
        optimisation=None,
        reference_epochs=preset.optimisation.epochs,
    )
    if preset.method != "macer":
        return borrowed
    deferred = {sigma: {**values, "lbd_from": 50} for sigma, values in preset.by_sigma.items()}
    return replace(borrowed, source=f"{source}, deferred, 64 images per step", batch=64 * 16, by_sigma=deferred)


for _name in FILES:
    _read(_name)
_lent = ("stability", "smoothadv", "macer", "consistency", "smoothmix", "cat-rs")
_found += [
    _borrowed("acr/gaussian", "cifar10"),
    *(
        _borrowed(f"cat-rs/{method}/prose".removesuffix("/prose" * (method == "cat-rs")), "mnist", GREY)
        for method in _lent
    ),
    *(_borrowed(f"cat-rs/{method}", "cifar10") for method in _lent),
    _borrowed("acr/amplify", "cifar10"),
]
_read("cat-rs-imagenet")
PAPERS["randsmooth"] = "not from a paper"
PRESETS = tuple(_found)


def default(method: str, dataset: str) -> Preset:
    """The preset with which `method` is trained on `dataset` unless another is named.

    A method that has no preset at all, as one from another package may, is trained with its own defaults.

    Raises:
        InputError: all presets of the method are for other data sets.
    """
    of_method = [preset for preset in PRESETS if preset.method == method]
    for preset in of_method:
        if preset.serves(dataset) and preset.main:
            return preset
    if not of_method:
        return Preset(f"defaults/{method}", method, "the defaults of the method, not from a paper")
    raise InputError(f"no preset trains {method!r} on {dataset!r}; see `randsmooth methods --presets`")


def find(method: str | None, dataset: str, preset: str | None = None, *, anywhere: bool = False) -> Preset:
    """The preset called `preset`, or the default one, for `method` on `dataset`.

    Without a method it is the preset's; with neither, `gaussian`.

    Raises:
        InputError: there is no such preset, or it is not for this method; or there are two versions of it for this data
            set; or it is not for this data set and may not be used `anywhere`.
    """
    if preset is None:
        return default(method or "gaussian", dataset)
    candidates = named(preset)
    wanted = candidates[0].method
    if method not in (None, wanted):
        raise InputError(f"preset {preset!r} is for --method {wanted}, not {method}")
    for candidate in candidates:
        if candidate.serves(dataset):
            return candidate
    versions = [p for p in PRESETS if p.base == preset and p.main and p.variation and p.serves(dataset)]
    if versions:
        choices = " or ".join(f"--preset {p.name} ({p.schedule(dataset, '').epochs} epochs)" for p in versions)
        raise InputError(
            f"preset {preset!r} on {dataset} is ambiguous: the paper's text gives one schedule, the figures of its "
            f"table come from another. Choose {choices}"
        )
    if anywhere:
        return candidates[0]
    served = ", ".join(sorted({name for p in candidates for name in p.datasets}))
    instead = default(wanted, dataset).name
    raise InputError(
        f"preset {preset!r} is for {served}, not {dataset!r}; --preset {instead} serves it, or pass --anywhere"
    )


def named(name: str) -> list[Preset]:
    """The presets called `name`, each for other data sets.

    Raises:
        InputError: there are none.
    """
    presets = [p for p in PRESETS if p.name == name]
    if not presets:  # all variations of its preset are suggested, or all main presets
        variations = {p.name for p in PRESETS if name.startswith(f"{p.base}/")}
        raise unknown("preset", name, variations or {p.name for p in PRESETS if p.main})
    return presets
