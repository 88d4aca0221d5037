"""What the papers trained with: each preset is a value that cites its source. One file a paper."""

from __future__ import annotations

from randsmooth.errors import InputError, unknown
from randsmooth.training.presets import acr, borrowed, cat_rs, consistency, macer
from randsmooth.training.presets.base import CIFAR, SIGMAS, Optimisation, Preset, usual_optimisation

__all__ = [
    "CIFAR",
    "PAPERS",
    "PRESETS",
    "SIGMAS",
    "Optimisation",
    "Preset",
    "default",
    "find",
    "named",
    "usual_optimisation",
]

# What the first part of a name stands for.
PAPERS = {
    "acr": acr.PAPER,
    "cat-rs": cat_rs.PAPER,
    "macer": macer.PAPER,
    "consistency": consistency.PAPER,
    "randsmooth": "not from a paper",
}

# The first preset that serves a data set is the default there for its method, unless it is a variation.
PRESETS = (
    *acr.PRESETS,
    *cat_rs.PRESETS,
    *macer.PRESETS,
    *consistency.PRESETS,
    *acr.BASELINES,
    *borrowed.PRESETS,
)


def default(method: str, dataset: str) -> Preset:
    """The preset that `method` trains with on `dataset` unless another is named.

    A method without any preset, as another package may bring it, trains with its own defaults.

    Raises:
        InputError: all presets of the method are for other data sets.
    """
    for preset in PRESETS:
        if preset.method == method and preset.serves(dataset) and preset.main:
            return preset
    if all(preset.method != method for preset in PRESETS):
        return Preset(name=f"defaults/{method}", method=method, source="the defaults of the method, not from a paper")
    raise InputError(f"no preset trains {method!r} on {dataset!r}; see `randsmooth methods --presets`")


def find(method: str | None, dataset: str, preset: str | None = None, *, anywhere: bool = False) -> Preset:
    """The preset called `preset`, or the default one, for `method` on `dataset`; no method: the preset's, or gaussian.

    Raises:
        InputError: no such preset, or it is not for this method; there are two accounts of it on this data set; or,
            unless it may be used `anywhere`, it is not for this data set.
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
    _check_accounts(preset, dataset)
    if anywhere:
        return candidates[0]
    served = ", ".join(sorted({name for p in candidates for name in p.datasets}))
    instead = default(wanted, dataset).name
    raise InputError(
        f"preset {preset!r} is for {served}, not {dataset!r}; --preset {instead} serves it, or pass --anywhere"
    )


def _check_accounts(name: str, dataset: str) -> None:
    """Raise InputError where the name is that of two accounts of a model: the paper's text's and its table's."""
    accounts = [p for p in PRESETS if p.base == name and p.main and p.variation and p.serves(dataset)]
    if accounts:
        told = " or ".join(f"--preset {p.name} ({p.schedule(dataset, '').epochs} epochs)" for p in accounts)
        raise InputError(
            f"preset {name!r} on {dataset} is ambiguous: the paper's text says one schedule, the figures of its table "
            f"are of another. Choose {told}"
        )


def named(name: str) -> list[Preset]:
    """The presets called `name`, each for other data sets.

    Raises:
        InputError: there are none.
    """
    presets = [p for p in PRESETS if p.name == name]
    if not presets:
        raise unknown("preset", name, _like(name))
    return presets


def _like(name: str) -> set[str]:
    """The names to choose from for one that is unknown: all variations of its preset, or all main presets."""
    variations = {p.name for p in PRESETS if name.startswith(f"{p.base}/")}
    return variations or {p.name for p in PRESETS if p.main}
