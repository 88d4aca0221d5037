"""`randsmooth methods`."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from randsmooth.cli.verb import Settings, argument, option


class Methods(Settings):
    """Settings of `randsmooth methods`."""

    name: str | None = argument("Show this method only. (default: all)", default=None)
    presets: bool = option("List the published settings instead.", False)


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


def _print_presets(chosen: dict[str, Any]) -> None:
    from randsmooth.training import PRESETS

    for preset in PRESETS:
        if preset.method in chosen:
            print(f"{preset.name}  on {', '.join(preset.datasets) or 'any data set'}")
            print(f"  source: {preset.source}")
            for sigma, values in preset.by_sigma.items() or {None: {}}.items():
                at = "any sigma" if sigma is None else f"sigma {sigma}"
                print(f"  {at}: " + ", ".join(f"{k}={v}" for k, v in {**preset.fixed, **values}.items()))
