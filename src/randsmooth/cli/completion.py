"""What a shell offers for a setting: names that are known, or else files."""

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import click
from click.shell_completion import CompletionItem
from pydantic.fields import FieldInfo

# Setting -> the registry that has its names, imported when somebody asks for them.
REGISTRIES = {
    "arch": "randsmooth.models.registry:ARCHITECTURES",
    "backend": "randsmooth.certification.backends.registry:BACKENDS",
    "dataset": "randsmooth.data.registry:DATASETS",
    "method": "randsmooth.methods.registry:METHODS",
    "rule": "randsmooth.rules:RULES",
}

# Setting -> names that no registry has.
OTHER_NAMES = {
    "backend": ("auto",),
    "device": ("auto", "cpu", "cuda"),
    "logger": ("tensorboard", "csv"),
    "split": ("train", "validation", "test"),
}

Offer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def offer_for(setting: str, field: FieldInfo) -> Offer:
    """Return the function that click asks what a shell offers for a setting."""

    def offer(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        known = choices_of(field) or names_for(setting)
        begun = [name for name in known if name.startswith(incomplete)]
        if begun:
            return [CompletionItem(name) for name in begun]
        return [CompletionItem(incomplete, type="file")]

    return offer


def choices_of(field: FieldInfo) -> tuple[str, ...]:
    """Return the values of a field that is one of a few; none for any other."""
    if get_origin(field.annotation) is Literal:
        return get_args(field.annotation)
    return ()


def names_for(setting: str) -> Sequence[str]:
    """Return what a setting can be that is chosen by name; nothing for any other.

    Example:
        >>> names_for("backend")[-1], names_for("out")
        ('auto', [])
    """
    if setting == "preset":
        from randsmooth.training.presets import PRESETS

        return list(dict.fromkeys(preset.name for preset in PRESETS))
    return [*registry_of(setting), *OTHER_NAMES.get(setting, ())]


def registry_of(setting: str) -> Any:
    """Return the registry of a setting's names, or an empty mapping."""
    if setting not in REGISTRIES:
        return _NOTHING
    return pkgutil.resolve_name(REGISTRIES[setting])


def names_of_other_packages(setting: str) -> str:
    """Return a sentence on names that other packages bring; empty without any."""
    registry = registry_of(setting)
    credits = {name: registry.credit(name) for name in registry}
    others = [f"{name} ({credit})" for name, credit in credits.items() if credit]
    if not others:
        return ""
    return f"Also {', '.join(others)}."


_NOTHING: Mapping[str, Any] = {}
