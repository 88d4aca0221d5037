"""`randsmooth methods`."""

from __future__ import annotations

import dataclasses
import inspect

from randsmooth.cli.settings import Settings, argument, option
from randsmooth.escape import say


class Methods(Settings):
    """Settings of `randsmooth methods`."""

    name: str | None = argument("Show this method only, or this preset (acr/amplify). (default: all)", default=None)
    presets: bool = option("List the published settings instead, by paper.", False)


def methods(settings: Methods) -> None:
    """List the training methods with their hyperparameters and sources, or the published presets."""
    from randsmooth.cli.listing import by_name, by_paper
    from randsmooth.methods import METHODS

    if settings.name and "/" in settings.name:
        say("\n".join(by_name(settings.name)))
        return
    names = [settings.name] if settings.name else list(METHODS)
    chosen = {name: METHODS[name] for name in names}
    if settings.presets:
        say("\n".join(by_paper(names)))
        return
    for name, method in chosen.items():
        say(f"{name}  ({'; '.join(filter(None, [method.source, METHODS.credit(name)]))})")
        for line in inspect.cleandoc(method.__doc__ or "").splitlines():
            say(f"  {line}".rstrip())
        defaults = [f"{field.name}={field.default!r}" for field in dataclasses.fields(method)]
        say(f"  Defaults: {', '.join(defaults)}\n")
