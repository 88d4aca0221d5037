"""The names that a setting takes, those of other packages among them: for help and for the completion of shells."""

from __future__ import annotations

import pkgutil

from randsmooth.registry import Registry

# Setting -> the registry of its names. These modules load nothing heavy.
REGISTRIES = {
    "arch": "randsmooth.models.registry:ARCHITECTURES",
    "backend": "randsmooth.certification.backends.registry:BACKENDS",
    "dataset": "randsmooth.data.registry:DATASETS",
    "method": "randsmooth.methods.hyperparameters:METHODS",
    "rule": "randsmooth.rules:RULES",
}
# Names that are in no registry.
MORE = {
    "backend": ["auto"],
    "device": ["auto", "cpu", "cuda"],
    "logger": ["tensorboard", "csv", "mlflow", "wandb"],
    "shell": ["bash", "zsh", "fish", "powershell"],
    "split": ["train", "test"],
}


def names(setting: str) -> list[str]:
    """What a setting can be, as far as it is chosen by name; nothing for any other.

    Example:
        >>> names("backend")[-1], names("out")
        ('auto', [])
    """
    if setting == "preset":
        from randsmooth.training.presets import PRESETS

        return list(dict.fromkeys(preset.name for preset in PRESETS))
    return [*(_registry(setting) or ()), *MORE.get(setting, ())]


def from_other_packages(setting: str) -> str:
    """A sentence on the names that other packages bring, for help; empty where there are none.

    Example:
        >>> from_other_packages("sigma")
        ''
    """
    registry = _registry(setting)
    others = [] if registry is None else [name for name in registry if registry.source(name) != "randsmooth"]
    if registry is None or not others:
        return ""
    return "Also " + ", ".join(f"{name} ({registry.credit(name)})" for name in others) + "."


def _registry(setting: str) -> Registry[object] | None:
    place = REGISTRIES.get(setting)
    return None if place is None else pkgutil.resolve_name(place)
