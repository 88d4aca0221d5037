"""Rules by name: how many samples an image takes, and what they prove."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, NamedTuple

from randsmooth import bounds
from randsmooth.certificates.rules.anytime import Anytime
from randsmooth.certificates.rules.base import MOST, Claim, Evidence, Rule, check_samples
from randsmooth.certificates.rules.fixed import CONFIDENCE_BOUNDS, Fixed
from randsmooth.certificates.rules.grid import Grid, OneRadius, Union
from randsmooth.certificates.rules.tolerance import Tolerance
from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown

__all__ = [
    "CONFIDENCE_BOUNDS",
    "MOST",
    "RULES",
    "Anytime",
    "Claim",
    "Evidence",
    "Fixed",
    "Grid",
    "OneRadius",
    "Rule",
    "Tolerance",
    "Union",
    "check_samples",
    "make_rule",
]


NUMBER = re.compile(
    r"[-+]?(\d{1,20}\.?\d{0,20}|\.\d{1,20})(e[-+]?\d{1,3})?", re.ASCII | re.IGNORECASE
)  # no other spelling


class Named(NamedTuple):
    """A rule as a user names it.

    Attributes:
        kind: the class. value: which of its fields the number after `=` sets; None: it takes none.
        required: whether the number must be given. usage: how to write it.
        help: what it draws, and what then holds with probability 1 - alpha, in one sentence.
    """

    kind: type[Rule]
    value: str | None
    required: bool
    usage: str
    help: str


RULES = {
    "fixed": Named(
        Fixed, None, False, "fixed", "n samples of every image, and the radius that Clopper-Pearson proves from them."
    ),
    "radius": Named(
        OneRadius,
        "radius",
        True,
        "radius=R",
        "samples until radius R is proved or given up, by an exact sequential test that may stop at any of its looks.",
    ),
    "grid": Named(
        Grid,
        "step",
        False,
        "grid[=STEP]",
        "samples until the largest provable radius of 0, 0.25, 0.5, ... is found, by exact sequential tests, smallest "
        "radius first.",
    ),
    "union": Named(
        Union,
        "step",
        False,
        "union[=STEP]",
        "as grid, and the radius that Clopper-Pearson proves at some look, alpha shared by all looks.",
    ),
    "tolerance": Named(
        Tolerance,
        "tolerance",
        True,
        "tolerance=T",
        "a pilot, then as many fresh samples as bring at least 90% of the Clopper-Pearson radii within T sigma of what "
        "n samples of the image would give.",
    ),
    "anytime": Named(
        Anytime,
        "target",
        False,
        "anytime[=R]",
        "samples until n, or until radius R is proved; the radius of its e-process holds at every sample at once.",
    ),
}


@lru_cache(maxsize=64)  # the tables of a grid are worth keeping
def make_rule(
    text: str,
    *,
    sigma: float,
    n: int,
    alpha: float,
    bound: str = "clopper-pearson",
    seed: int = 0,
    version: int | None = None,
) -> Rule:
    """The rule that `text` names, such as "fixed", "radius=0.5", "grid" or "tolerance=0.05".

    Args:
        text: a name of RULES, with its number after `=`.
        sigma, n, alpha: the noise, the most samples an image may take, and the probability of a wrong certificate.
        bound, seed: of the fixed rule (see `Fixed`).
        version: of the format of a stored table, where the rule is to be as it was then; None: today's rule.

    Raises:
        InputError: no such rule or number, a bound that the rule does not have, or a budget that certifies nothing or
            that nobody could draw.
    """
    bounds.check_sigma(sigma)
    bounds.check_level(alpha)
    name, equals, number = text.partition("=")
    if name not in RULES:
        raise unknown("rule", shown(name), RULES)
    check_samples("n", n, RULES[name].kind.most)
    if bound not in CONFIDENCE_BOUNDS:
        raise unknown("bound", shown(bound), CONFIDENCE_BOUNDS)
    if bound != "clopper-pearson" and name != "fixed":
        raise InputError(f"bound={bound} is for the fixed rule; {name} has a bound of its own")
    named = RULES[name]
    if name == "fixed":
        _check_number(text, named, equals)
        least = bounds.smallest_n(alpha / 2.0 if bound == "two-sided" else alpha)
        if n < least:
            raise InputError(f"alpha={alpha} needs n >= {least} to certify anything; got n={n}")
        return Fixed(sigma, n, alpha, bound=bound, seed=seed)  # type: ignore[arg-type]
    _check_number(text, named, equals)
    values: dict[str, Any] = {str(named.value): _number(text, number)} if equals else {}
    return named.kind.as_of(version)(sigma, n, alpha, **values)


def _check_number(text: str, named: Named, equals: str) -> None:
    if equals and named.value is None:
        raise InputError(f"rule {shown(repr(text))} takes no number; the samples of an image are --n")
    if named.required and not equals:
        raise InputError(f"rule {text!r} needs a number: {named.usage}, {named.help}")


def _number(text: str, number: str) -> float:
    value = float(number) if NUMBER.fullmatch(number) else math.nan
    if not math.isfinite(value):
        told = f"rule {shown(repr(text))}: {shown(repr(number))} is no number"
        raise InputError(f"{told}; write it as in {text.partition('=')[0]}=0.5")
    return value
