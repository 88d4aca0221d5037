"""Completion in a shell: the known names of a setting, or else files."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args, get_origin

import click
from click.shell_completion import CompletionItem
from pydantic.fields import FieldInfo

from randsmooth.registry import Registry

# Each of these functions imports one registry when it is called: the help of a verb
# shall not load the registries that it does not need.


def _architectures() -> Registry[Any]:
    """Return the registry of architectures."""
    from randsmooth.models import ARCHITECTURES

    return ARCHITECTURES


def _backends() -> Registry[Any]:
    """Return the registry of backends."""
    from randsmooth.certification.backends import BACKENDS

    return BACKENDS


def _datasets() -> Registry[Any]:
    """Return the registry of named data sets."""
    from randsmooth.data import DATASETS

    return DATASETS


def _methods() -> Registry[Any]:
    """Return the registry of training methods."""
    from randsmooth.methods import METHODS

    return METHODS


def _rules() -> Registry[Any]:
    """Return the registry of rules."""
    from randsmooth.rules import RULES

    return RULES


# Setting -> the function that imports the registry of its names.
REGISTRIES: dict[str, Callable[[], Registry[Any]]] = {
    "arch": _architectures,
    "backend": _backends,
    "dataset": _datasets,
    "method": _methods,
    "rule": _rules,
}

# Setting -> the names it can have that are in no registry.
OTHER_NAMES = {
    "backend": ("auto",),
    "device": ("auto", "cpu", "cuda"),
    "logger": ("tensorboard", "csv"),
    "split": ("train", "validation", "test"),
}

Offer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def offer_for(setting: str, field: FieldInfo) -> Offer:
    """Return the function that click calls for the words a shell offers.

    Args:
        setting: the name of the setting.
        field: its field in the settings of the verb.
    """

    def offer(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin like the incomplete word, or else files."""
        known = choices_of(field) or names_for(setting)
        begun = [name for name in known if name.startswith(incomplete)]
        if begun:
            return [CompletionItem(name) for name in begun]
        # The shell itself lists the files that begin like this.
        return [CompletionItem(incomplete, type="file")]

    return offer


def choices_of(field: FieldInfo) -> tuple[str, ...]:
    """Return the values that a field can have; empty unless it is a Literal."""
    if get_origin(field.annotation) is Literal:
        return get_args(field.annotation)
    return ()


def names_for(setting: str) -> Sequence[str]:
    """Return the names that a setting can have; empty where it takes other values.

    Example:
        >>> names_for("backend")[-1], names_for("out")
        ('auto', [])
    """
    if setting == "preset":
        # Late as the registries are.
        from randsmooth.training.presets import PRESETS

        # Presets of one method for several data sets share a name.
        return list(dict.fromkeys(preset.name for preset in PRESETS))
    registered = registry_of(setting) or ()
    return [*registered, *OTHER_NAMES.get(setting, ())]


def registry_of(setting: str) -> Registry[Any] | None:
    """Return the registry of a setting's names; None where there is none."""
    if setting not in REGISTRIES:
        return None
    return REGISTRIES[setting]()


def names_of_other_packages(setting: str) -> str:
    """Return a sentence on the names of a setting that other packages bring.

    It is empty where there are none.
    """
    registry = registry_of(setting)
    if registry is None:
        return ""
    # The credit of a name of ours is empty.
    credits = {name: registry.credit(name) for name in registry}
    others = [f"{name} ({credit})" for name, credit in credits.items() if credit]
    if not others:
        return ""
    return f"Also {', '.join(others)}."
