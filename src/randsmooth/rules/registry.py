"""Rules by name, ours and those of other packages, and how one is made from what a user writes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from randsmooth import bounds
from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown
from randsmooth.noise import check_sigma
from randsmooth.registry import Registry
from randsmooth.rules.choices import CONFIDENCE_BOUNDS, check_samples
from randsmooth.rules.entry import RuleEntry

if TYPE_CHECKING:
    from randsmooth.rules.base import Rule

# The number of a rule is written in no other way.
NUMBER = re.compile(r"[-+]?(\d{1,20}\.?\d{0,20}|\.\d{1,20})(e[-+]?\d{1,3})?", re.ASCII | re.IGNORECASE)

RULES: Registry[RuleEntry] = Registry(
    "rule",
    "randsmooth.rules",
    {
        name: f"randsmooth.rules.entries:{name.upper()}"
        for name in ("fixed", "radius", "screen", "grid", "union", "dense", "tolerance", "anytime")
    },
)


@lru_cache(maxsize=64)  # the tables of a grid are worth keeping
def make_rule(
    text: str,
    *,
    sigma: float,
    n: int,
    alpha: float,
    bound: str = "clopper-pearson",
    version: int | None = None,
) -> Rule:
    """The rule that `text` names, such as "fixed", "radius=0.5", "grid" or "tolerance=0.05".

    Args:
        text: a name of `RULES`, with its number after `=`.
        sigma: standard deviation of the noise, in units of pixels in [0, 1].
        n: the most samples that an image may take.
        alpha: probability that a certificate is wrong.
        bound: for a rule that has such a field (see `Fixed`).
        version: the format of a stored table (`Header.version`), to judge it as it was judged then; None: as today.

    Raises:
        InputError: there is no such rule, its number is missing or wrong, it does not have this bound, or the budget is
            beyond any use or certifies nothing.

    Example:
        >>> rule = make_rule("fixed", sigma=0.5, n=1000, alpha=0.001)
        >>> round(rule.claim([990]).radius, 3)
        0.989
    """
    check_sigma(sigma)
    bounds.check_level(alpha)
    kind, arguments = kind_of_rule(text, n=n, bound=bound, version=version)
    return kind(sigma, n, alpha, **arguments)


def kind_of_rule(
    text: str, *, n: int, bound: str = "clopper-pearson", version: int | None = None
) -> tuple[type[Rule], dict[str, Any]]:
    """The class of the rule that `text` names, and its arguments besides sigma, n and alpha.

    So much of a rule can be checked before sigma is known. Arguments and errors are those of `make_rule`, except that
    what depends on sigma or alpha, such as a radius out of reach, is not refused.

    Example:
        >>> kind, arguments = kind_of_rule("radius=0.5", n=1000)
        >>> kind.name, arguments["radius"]
        ('radius', 0.5)
    """
    name, equals, number = text.partition("=")
    if name not in RULES:
        raise unknown("rule", shown(name), RULES)
    entry = RULES[name]
    kind = entry.load().as_of(version)
    check_samples("n", n, kind.most)
    arguments: dict[str, Any] = _taken(kind, name, bound)
    _check_number(text, entry, equals)
    if equals:
        arguments[str(entry.value)] = _number(text, number)
    return kind, arguments


def rule_origin(text: str) -> dict[str, str]:
    """For the versions in a header: the package and its version that bring the rule `text`; empty for rules of ours.

    Example:
        >>> rule_origin("grid=0.5")
        {}
    """
    name = text.partition("=")[0]
    source = RULES.source(name)
    if source == "randsmooth":
        return {}
    try:
        return {_origin_key(name): f"{source} {metadata.version(source)}"}
    except metadata.PackageNotFoundError:
        return {_origin_key(name): source}


def missing_rule(text: str, versions: Mapping[str, str] | None) -> InputError | None:
    """The error for a table under a rule that is not installed here, by the `versions` of its header; None if it is.

    Where the header does not say which package brought the rule, this is None too: `make_rule` knows what to say.

    Example:
        >>> print(missing_rule("steady=3", {"rule steady": "acme-rules 1.2"}))
        it was certified by the rule 'steady', which 'acme-rules 1.2' brings: install that package to read it
    """
    name = text.partition("=")[0]
    origin = (versions or {}).get(_origin_key(name))
    if name in RULES or origin is None:
        return None
    return InputError(
        f"it was certified by the rule {shown(repr(name))}, which {shown(repr(origin))} brings: install that package "
        "to read it"
    )


def _origin_key(name: str) -> str:
    return f"rule {name}"


def _taken(kind: type[Rule], name: str, bound: str) -> dict[str, Any]:
    """`bound`, if the class has such a field."""
    if bound not in CONFIDENCE_BOUNDS:
        raise unknown("bound", shown(bound), CONFIDENCE_BOUNDS)
    own = {field.name for field in fields(kind)}
    if bound != CONFIDENCE_BOUNDS[0] and ("bound" not in own or bound not in kind.takes):
        raise InputError(f"bound={bound} is for the fixed rule; {name} has a bound of its own")
    return {"bound": bound} if "bound" in own else {}


def _check_number(text: str, entry: RuleEntry, equals: str) -> None:
    if equals and entry.value is None:
        raise InputError(f"rule {shown(repr(text))} takes no number; the samples of an image are --n")
    if entry.required and not equals:
        raise InputError(f"rule {text!r} needs a number: {entry.usage}, {entry.help}")


def _number(text: str, number: str) -> float:
    value = float(number) if NUMBER.fullmatch(number) else math.nan
    if not math.isfinite(value):
        said = f"rule {shown(repr(text))}: {shown(repr(number))} is no number"
        raise InputError(f"{said}; write it as in {text.partition('=')[0]}=0.5")
    return value
