"""Completion in a shell: the known names of a setting, or else files."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args, get_origin

import click
from click.shell_completion import CompletionItem
from pydantic.fields import FieldInfo

from randsmooth.registry import Registry


def _architectures() -> Registry[Any]:
    from randsmooth.models import ARCHITECTURES

    return ARCHITECTURES


def _backends() -> Registry[Any]:
    from randsmooth.certification.backends import BACKENDS

    return BACKENDS


def _datasets() -> Registry[Any]:
    from randsmooth.data import DATASETS

    return DATASETS


def _methods() -> Registry[Any]:
    from randsmooth.methods import METHODS

    return METHODS


def _rules() -> Registry[Any]:
    from randsmooth.rules import RULES

    return RULES


# Setting -> what imports the registry that has its names, when somebody asks for them.
REGISTRIES: dict[str, Callable[[], Registry[Any]]] = {
    "arch": _architectures,
    "backend": _backends,
    "dataset": _datasets,
    "method": _methods,
    "rule": _rules,
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
    registered = registry_of(setting) or ()
    return [*registered, *OTHER_NAMES.get(setting, ())]


def registry_of(setting: str) -> Registry[Any] | None:
    """Return the registry of a setting's names; None where there is none."""
    if setting not in REGISTRIES:
        return None
    return REGISTRIES[setting]()


def names_of_other_packages(setting: str) -> str:
    """Return a sentence on names that other packages bring; empty without any."""
    registry = registry_of(setting)
    if registry is None:
        return ""
    credits = {name: registry.credit(name) for name in registry}
    others = [f"{name} ({credit})" for name, credit in credits.items() if credit]
    if not others:
        return ""
    return f"Also {', '.join(others)}."
