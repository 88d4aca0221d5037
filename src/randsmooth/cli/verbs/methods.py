"""`randsmooth methods`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from randsmooth.cli.settings import Unsaved, argument, option
from randsmooth.escape import say

if TYPE_CHECKING:
    from randsmooth.methods import Method


class Methods(Unsaved):
    """Settings of `randsmooth methods`."""

    name: str | None = argument(
        "Explain this method, or this preset, such as acr/amplify. (default: list all methods)", default=None
    )
    presets: bool = option("List the published settings instead, by paper; with NAME, those of one method.", False)


def methods(settings: Methods) -> None:
    """List the training methods, explain one with its hyperparameters, or list the published presets.

    Example: randsmooth methods amplify
    """
    from randsmooth.methods import METHODS

    if settings.name is None and not settings.presets:
        say("\n".join(listing()))
        return
    from randsmooth.cli.verbs.presets import by_name, by_paper

    if settings.name and "/" in settings.name:
        say("\n".join(by_name(settings.name)))
        return
    if settings.name:
        METHODS.check(settings.name)
    if settings.presets:
        say("\n".join(by_paper([settings.name] if settings.name else [*METHODS])))
    else:
        say("\n".join(explanation(str(settings.name))))


def listing() -> Iterator[str]:
    """Two lines a method: what it trains on, and its paper."""
    from randsmooth.methods import METHODS

    for name in METHODS:
        if METHODS.source(name) == "randsmooth":
            yield f"{name:12} {_two_lines(*written_summary(METHODS.place(name)))}"
        else:
            yield f"{name:12} {METHODS.describe(name, partial(_foreign, METHODS.credit(name)))}"
    yield ""
    yield "`randsmooth methods NAME` explains one with its hyperparameters; --presets lists the published settings."


def written_summary(place: str) -> tuple[str, str]:
    """What `summary_of` says of the class at "module:class", read from its source: a listing need not load torch.

    Example:
        >>> written_summary("randsmooth.methods.gaussian:Gaussian")[1]
        'Cohen, Rosenfeld & Kolter, ICML 2019'
    """
    module, _, name = place.partition(":")
    found = find_spec(module)
    assert found is not None and found.origin is not None, place
    tree = ast.parse(Path(found.origin).read_text())
    (kind,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    assigned = (node for node in kind.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "source")
    sources = [ast.literal_eval(node.value) for node in assigned if node.value is not None]
    return _first_paragraph(ast.get_docstring(kind)), sources[0]


def summary_of(method: type[Method]) -> tuple[str, str]:
    """The first paragraph of a method's docstring, on one line, and its paper."""
    return _first_paragraph(method.__doc__), method.source


def _first_paragraph(docstring: str | None) -> str:
    return " ".join(inspect.cleandoc(docstring or "").partition("\n\n")[0].split())


def _foreign(credit: str, method: type[Method]) -> str:
    return _two_lines(*summary_of(method), credit)


def _two_lines(summary: str, *sources: str) -> str:
    return f"{summary}\n{'':12} {'; '.join(filter(None, sources))}"


def explanation(name: str) -> Iterator[str]:
    """What a method is, what its hyperparameters mean, their defaults, and the values that `train` takes by itself."""
    from randsmooth.methods import METHODS

    method = METHODS[name]
    yield f"{name}  ({'; '.join(filter(None, [method.source, METHODS.credit(name)]))})"
    for line in inspect.cleandoc(method.__doc__ or "").splitlines():
        yield f"  {'Hyperparameters:' if line == 'Attributes:' else line}".rstrip()
    yield f"  Defaults of the class: {', '.join(f'{f.name}={f.default!r}' for f in dataclasses.fields(method))}"
    yield from _used_by_train(name)


def _used_by_train(name: str) -> Iterator[str]:
    """The preset that `train digits` takes, and its values at each sigma; nothing for a method without presets."""
    from randsmooth.cli.verbs.presets import values_by_sigma
    from randsmooth.training.presets import PRESETS, default

    served = [preset for preset in PRESETS if preset.method == name and preset.main and preset.serves("digits")]
    if served:
        preset = default(name, "digits")
        yield f"  `train digits` uses the preset {preset.name}: {values_by_sigma(preset)}"
        yield f"  `randsmooth methods {name} --presets` lists those for other data sets."
