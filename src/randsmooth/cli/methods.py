"""`randsmooth methods`."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from randsmooth.cli.verb import Settings, argument, option

if TYPE_CHECKING:
    from randsmooth.training import Preset

LEGEND = """\
`randsmooth train DATASET --preset NAME --sigma SIGMA` trains as published; --set overrides any value.
a|b|c: values at sigma 0.25|0.5|1, unless it says other sigmas. cifar10 is cifar10-jpeg too, the same images.
Epochs (E_t, lbd_from) are the paper's schedule's; they scale with it. Indented: rows of ablation tables.
"""


class Methods(Settings):
    """Settings of `randsmooth methods`."""

    name: str | None = argument("Show this method only. (default: all)", default=None)
    presets: bool = option("List the published settings instead, by paper.", False)


def methods(settings: Methods) -> None:
    """List the training methods with their hyperparameters and sources, or the published presets."""
    from randsmooth import methods as registry

    names = [settings.name] if settings.name else registry.names()
    chosen = {name: registry.get(name) for name in names}
    if settings.presets:
        _print_presets(chosen)
        return
    for name, method in chosen.items():
        print(f"{name}  ({method.source})")
        for line in inspect.cleandoc(method.__doc__ or "").splitlines():
            print(f"  {line}".rstrip())
        defaults = [f"{field.name}={field.default!r}" for field in dataclasses.fields(method)]  # type: ignore[arg-type]
        print(f"  Defaults: {', '.join(defaults)}\n")


def _print_presets(chosen: Iterable[str]) -> None:
    from randsmooth.training.presets import PAPERS, PRESETS

    print(LEGEND)
    for key, paper in PAPERS.items():
        presets = [p for p in PRESETS if p.method in chosen and p.name.startswith(f"{key}/")]
        if not presets:
            continue
        print(paper)
        width = max(len(preset.base) for preset in presets)
        for main in (preset for preset in presets if not preset.variation):
            print(f"  {main.base:{width}}  {_values(main)}  ({_source(main, paper)})")
            for rows in _tables(main, presets):
                names = ", ".join(f"/{row.variation}" for row in rows)
                print(f"    {main.base}{names}  ({_source(rows[0], paper)})")
        print()


def _values(preset: Preset) -> str:
    """cifar10: m=4, T=3|6|4"""
    at = [preset.hyperparameters(sigma) for sigma in preset.by_sigma or (1.0,)]
    values = ", ".join(f"{key}={_joined([values[key] for values in at])}" for key in at[0])
    names = ", ".join(name for name in preset.datasets if name != "cifar10-jpeg")
    return f"{names or 'any data set'}: {values}"


def _joined(values: Sequence[Any]) -> str:
    """3|6|4, or one value where all are the same."""
    words = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return words[0] if len(set(words)) == 1 else "|".join(words)


def _source(preset: Preset, paper: str) -> str:
    """The place in the paper, after what is special: sigma 0.5, resnet20, table 3"""
    from randsmooth.training.presets import SIGMAS

    sigmas = "" if tuple(preset.by_sigma) in ((), SIGMAS) else "sigma " + _joined([*preset.by_sigma])
    place = preset.source.removeprefix(paper).lstrip(",: ")
    return ", ".join(part for part in (sigmas, preset.arch, place) if part)


def _tables(main: Preset, presets: Sequence[Preset]) -> list[list[Preset]]:
    """The variations of `main`, those of one table together."""
    varied = [p for p in presets if p.variation and (p.base, p.datasets) == (main.base, main.datasets)]
    return [list(rows) for _, rows in groupby(varied, key=lambda p: (p.source, tuple(p.by_sigma)))]
