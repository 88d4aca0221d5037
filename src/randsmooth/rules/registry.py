"""Rules by name, ours and those of other packages, the bounds and samples one may ask for, and how a rule is made.

Listing them loads no NumPy.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from numbers import Integral
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, get_args

from randsmooth import bounds
from randsmooth.documents import shown
from randsmooth.errors import BadValue, MissingValue, check_known
from randsmooth.registry import Registry

if TYPE_CHECKING:
    from randsmooth.noise import Noise
    from randsmooth.rules.base import Rule

ConfidenceBound = Literal[
    "clopper-pearson", "two-sided", "pairwise", "randomised", "any-class"
]
CONFIDENCE_BOUNDS: tuple[ConfidenceBound, ...] = get_args(ConfidenceBound)
ANY_CLASS: ConfidenceBound = "any-class"

MOST_SAMPLES = 10**9  # more than anybody would draw of one image
MOST_WATCHED = (
    10**7
)  # of a rule that looks on the way: e-processes are accurate so far, and tables take seconds

# The number of a rule is written in no other way.
NUMBER = re.compile(
    r"[-+]?(\d{1,20}\.?\d{0,20}|\.\d{1,20})(e[-+]?\d{1,3})?", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True)
class RuleEntry:
    """A certification rule as users name it. Nothing is imported for it until the rule itself is made.

    Attributes:
        kind: where the class is, as "module:Class".
        usage: how a user writes the rule: "grid[=STEP]".
        help: what the rule draws, and what then holds with probability 1 - alpha, in one sentence.
        value: the field of the class that the number after `=` sets; "" where the rule takes no number.

    Example:
        >>> from randsmooth.rules import RULES
        >>> RULES["grid"].usage, RULES["grid"].value
        ('grid[=STEP]', 'step')
    """

    kind: str
    usage: str
    help: str
    value: str = ""

    @property
    def required(self) -> bool:
        """Whether that number must be given: it stands in `usage` without brackets."""
        return "=" in self.usage.partition("[")[0]

    def load(self) -> type[Rule]:
        """The class of the rule, imported now."""
        return resolve_name(self.kind)  # type: ignore[no-any-return]


with resources.files("randsmooth.rules").joinpath("own.csv").open() as file:
    OWN = SimpleNamespace(
        **{line.pop("name"): RuleEntry(**line) for line in csv.DictReader(file)}
    )
RULES: Registry[RuleEntry] = Registry(
    "rule", "randsmooth.rules", {n: f"{__name__}:OWN.{n}" for n in vars(OWN)}
)


def check_samples(
    name: str, n: object, most: int = MOST_SAMPLES, *, least: int = 1
) -> None:
    """Raise Problem unless `n`, called `name`, is a whole number of samples from `least` to `most`.

    Example:
        >>> check_samples("n0", 100)
        >>> check_samples("n0", 0)
        Traceback (most recent call last):
        ...
        randsmooth.errors.BadValue: n0=0 must be a whole number of samples from 1 to 1,000,000,000; ...
    """
    if (
        isinstance(n, bool)
        or not isinstance(n, Integral)
        or not least <= int(n) <= most
    ):
        said = f"{name}={shown(repr(n))} must be a whole number of samples from {least} to {most:,}"
        raise BadValue(f"{said}; n0=100, n=100000 are usual")


@lru_cache(maxsize=64)  # the tables of a grid are worth keeping
def make_rule(
    text: str, *, noise: Noise, n: int, alpha: float, bound: str = "clopper-pearson"
) -> Rule:
    """The rule that `text` names, such as "fixed", "radius=0.5", "grid" or "dense=0.1".

    Args:
        text: a name of `RULES`, with its number after `=`.
        noise: of the samples, which knows what radius an upper bound on 1 - p_A proves.
        n: the most samples that an image may take.
        alpha: probability that a certificate is wrong; 0 for a rule that counts all copies.
        bound: for a rule that has such a field (see `Fixed`).

    Raises:
        Problem: there is no such rule, its number is missing or wrong, it does not have this bound, or the budget is
            beyond any use or certifies nothing.

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
    """The class of the rule that `text` names, and its arguments besides noise, n and alpha.

    So much of a rule can be checked before the noise is known. Arguments and errors are those of `make_rule`, except
    that what depends on noise or alpha, such as a radius out of reach, is not refused.

    Example:
        >>> kind, arguments = kind_of_rule("radius=0.5", n=1000)
        >>> kind.name, arguments["radius"]
        ('radius', 0.5)
    """
    name, equals, number = text.partition("=")
    check_known("rule", RULES, name)
    entry = RULES[name]
    kind = entry.load()
    check_samples("n", n, kind.most)
    check_known("bound", CONFIDENCE_BOUNDS, bound)
    if bound not in (CONFIDENCE_BOUNDS[0], *kind.takes):
        raise BadValue(
            field="bound",
            value=bound,
            expected=f"is for the fixed rule; {name} has a bound of its own",
        )
    arguments: dict[str, Any] = {"bound": bound} if kind.takes else {}
    if equals and not entry.value:
        raise BadValue(
            f"rule {shown(repr(text))} takes no number; the samples of an image are n",
            field="rule",
            value=text,
        )
    if entry.required and not equals:
        raise MissingValue(f"rule {text!r} needs a number: {entry.usage}, {entry.help}")
    if equals and not (NUMBER.fullmatch(number) and math.isfinite(float(number))):
        said = f"rule {shown(repr(text))}: {shown(repr(number))} is no number"
        raise BadValue(f"{said}; write it as in {name}=0.5")
    return kind, arguments | ({entry.value: float(number)} if equals else {})
