"""Rules by name, ours and those of other packages, and how a rule is made.

Listing them loads no SciPy.
"""

import math
import re
from functools import lru_cache
from typing import Any

from randsmooth import bounds
from randsmooth.documents import shown
from randsmooth.errors import BadValue, MissingValue, check_known
from randsmooth.noise import Noise
from randsmooth.registry import Registry, by_name
from randsmooth.rules.anytime import Anytime
from randsmooth.rules.base import Rule
from randsmooth.rules.dense import Dense
from randsmooth.rules.fixed import Exact, Fixed
from randsmooth.rules.grid import Grid, OneRadius, Screen
from randsmooth.rules.limits import CONFIDENCE_BOUNDS, check_samples
from randsmooth.rules.upto import UpTo

RULES: Registry[type[Rule]] = Registry(
    "rule",
    "randsmooth.rules",
    by_name(Fixed, OneRadius, Screen, Grid, UpTo, Dense, Anytime, Exact),
)

# The number of a rule is written in no other way.
NUMBER = re.compile(
    r"[-+]?(\d{1,20}\.?\d{0,20}|\.\d{1,20})(e[-+]?\d{1,3})?", re.ASCII | re.IGNORECASE
)


# The tables of a grid are worth keeping.
@lru_cache(maxsize=64)
def make_rule(
    text: str, *, noise: Noise, n: int, alpha: float, bound: str = "clopper-pearson"
) -> Rule:
    """Return the rule that `text` names, such as "fixed", "radius=0.5" or "dense=0.1".

    Args:
        text: a name of `RULES`, with its number after `=`.
        noise: of the samples, which knows what radius an upper bound on 1 - p_A proves.
        n: the most samples that an image may take.
        alpha: probability that a certificate is wrong; 0 for a rule that counts all copies.
        bound: for a rule that has such a field (see `Fixed`).

    Raises:
        UnknownName: there is no such rule.
        MissingValue: its number is missing.
        BadValue: its number is wrong, it does not have this bound, or the budget is beyond
            any use or certifies nothing.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> rule = make_rule("fixed", noise=Gaussian(0.5), n=1000, alpha=0.001)
        >>> round(rule.claim([990]).radius, 3)
        0.989
    """
    kind, arguments = kind_of_rule(text, n=n, bound=bound)
    if not kind.certain:
        bounds.check_level(alpha)
    return kind(noise, n, alpha, **arguments)


def kind_of_rule(
    text: str, *, n: int, bound: str = "clopper-pearson"
) -> tuple[type[Rule], dict[str, Any]]:
    """Return the class that `text` names, and its arguments besides noise, n and alpha.

    So much of a rule can be checked before the noise is known. Arguments and errors are
    those of `make_rule`, except that what depends on noise or alpha, such as a radius out
    of reach, is not refused.

    Example:
        >>> kind, arguments = kind_of_rule("radius=0.5", n=1000)
        >>> kind.name, arguments["radius"]
        ('radius', 0.5)
    """
    name, equals, number = text.partition("=")
    kind = RULES[name]
    check_samples("n", n, kind.most)
    _check_bound(kind, bound)

    arguments: dict[str, Any] = {}
    if kind.takes:
        arguments["bound"] = bound
    if equals:
        arguments[_field_of_number(kind, text)] = _parse_number(text, number)
    elif kind.number_is_required:
        raise MissingValue(
            f"rule {text!r} needs a number: {kind.usage}, {kind.summary}",
            field="rule",
            value=text,
        )
    return kind, arguments


def _check_bound(kind: type[Rule], bound: str) -> None:
    """Check that there is such a bound, and that the rule has it."""
    check_known("bound", CONFIDENCE_BOUNDS, bound)
    usual = CONFIDENCE_BOUNDS[0]
    if bound != usual and bound not in kind.takes:
        raise BadValue(
            field="bound",
            value=bound,
            expected=f"is for the fixed rule; {kind.name} has a bound of its own",
        )


def _field_of_number(kind: type[Rule], text: str) -> str:
    """Return the field of the rule that the number behind its name sets."""
    if kind.number is None:
        raise BadValue(
            f"rule {shown(repr(text))} takes no number; the samples of an image are n",
            field="rule",
            value=text,
        )
    return kind.number


def _parse_number(text: str, number: str) -> float:
    """Return the number behind the name of a rule."""
    if NUMBER.fullmatch(number) and math.isfinite(float(number)):
        return float(number)
    name = text.partition("=")[0]
    raise BadValue(
        f"rule {shown(repr(text))}: {shown(repr(number))} is not a number; write "
        f"it as in {name}=0.5",
        field="rule",
        value=text,
    )
