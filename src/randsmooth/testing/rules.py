"""The contract of certification rules."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.noise import Gaussian
from randsmooth.rules import RULES, Evidence, Rule, RuleEntry, make_rule
from randsmooth.testing.contract import Checks, one_line, run

NOISE, ALPHA = Gaussian(0.5), 0.05
PATHS = 1000  # images that are simulated at each radius
RADII = (0.0, 0.25, 0.5)  # at which a wrong certificate is tried for


def check_rule(rule: str | Rule | RuleEntry, *, n: int = 500) -> None:
    """Check a certification rule: when it looks, what it claims, and how often it errs.

    Images whose true radius is a hair below 0, 0.25, 0.5 and the radii that the rule asks about are simulated,
    1000 each with fixed seeds. The share with a larger radius claimed must stay below alpha plus four standard errors.
    That finds rules that err about twice as often as they may; it does not prove that a rule is right.

    Args:
        rule: as on the command line, such as "grid=0.5", tried with Gaussian(0.5) and alpha=0.05; a rule itself; or the
            entry of one that needs no number.
        n: the most samples an image may take, of a rule that is given by its name or entry. More take longer.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_rule("fixed")
    """
    name = (
        rule
        if isinstance(rule, str)
        else rule.usage
        if isinstance(rule, RuleEntry)
        else type(rule).__name__
    )
    run(f"rule {name!r}", _of_rule(rule, n))


def _of_rule(rule: Any, n: int) -> Checks:
    made = rule
    if isinstance(rule, str):
        yield from _of_entry(RULES[rule.partition("=")[0]], rule.partition("=")[0])
        made = make_rule(rule, noise=NOISE, n=n, alpha=ALPHA)
        yield (
            made.name == rule.partition("=")[0],
            f"has a class of the name {made.name!r}",
        )
    elif isinstance(rule, RuleEntry):
        yield (
            not rule.required,
            f"needs a number: check the name with one, as {rule.usage!r}, or the rule itself",
        )
        made = rule.load()(NOISE, n=n, alpha=ALPHA)
        yield from _of_entry(rule, made.name)
    yield (
        isinstance(made, Rule),
        f"is a {type(made).__name__}, no subclass of rules.Rule",
    )
    sentence, level = (
        made.guarantee(),
        f"Each certificate is wrong with probability at most {made.alpha:g}",
    )
    single = (
        one_line(sentence)
        and sentence.endswith(".")
        and not re.search(r"\.\s", sentence)
    )
    yield (
        single and sentence.startswith(level),
        f"guarantees {sentence!r}, expected one sentence, from {level!r} on",
    )
    rng = np.random.default_rng(0)
    paths = walks(made, rng.uniform(0.0, 0.6, 200), rng)
    yield from _of_looks(made, paths)
    yield from _of_claims(made, paths)
    yield from _of_ends(made)
    yield from _of_errors(made)


def _of_entry(entry: RuleEntry, name: str) -> Checks:
    yield (
        isinstance(entry, RuleEntry),
        f"is a {type(entry).__name__}, expected rules.RuleEntry",
    )
    yield (
        entry.usage.startswith(name),
        f"has usage={entry.usage!r}, which begins with another name",
    )
    yield (
        one_line(entry.help) and entry.help.endswith("."),
        "needs a help of one sentence",
    )


def _of_looks(rule: Rule, paths: list[tuple[int, ...]]) -> Checks:
    for path in paths:
        looks = [rule.samples(path[: i + 1]) for i in range(len(path))]
        rising = (
            looks and looks[0] > 0 and all(np.diff(looks) > 0) and looks[-1] <= rule.n
        )
        yield (
            rising,
            f"looks after {looks} samples, expected rising numbers up to n={rule.n}",
        )
        whole = all(look % (rule.block or 1) == 0 for look in looks if look != rule.n)
        yield (
            whole,
            f"looks after {looks} samples, expected multiples of its block, {rule.block}",
        )
        yield rule.next_look(path) is None, "asks for more samples after it has stopped"
        yield (
            rule.next_look(path[:-1]) == looks[-1],
            "does not answer the same when it is asked again",
        )


def _of_claims(rule: Rule, paths: list[tuple[int, ...]]) -> Checks:
    """A table of many images is judged as each image alone, and no radius exceeds what q proves."""
    q, radius = rule.claims(evidence_of(rule, paths))
    claims = [rule.claim(path) for path in paths]
    same = np.allclose([claim.q for claim in claims], q) and np.allclose(
        [claim.radius for claim in claims], radius
    )
    yield same, "claims something else for a table (claims) than for its images (claim)"
    yield np.all((q >= 0.0) & (q <= 1.0)), "claims a q that is no probability"
    certified = rule.certifies(q, radius)
    yield (
        not np.any((radius > 0.0) & ~certified),
        "claims radii for images that it does not certify",
    )
    if np.all(
        certified == (q < 0.5)
    ):  # otherwise the runner-up is bounded too, and q alone proves less
        proved = np.where(q < 0.5, rule.noise.radius(q), 0.0)
        yield (
            np.all(radius <= proved + 1e-9),
            "claims radii beyond those that its q proves",
        )
    for *before, last in paths:  # more successes at the last look never prove less
        most = (
            rule.samples([*before, last])
            - rule.samples(before)
            + (before[-1] if before else 0)
        )
        better = min(last + 5, most)
        less, more = (
            rule.claim([*before, successes]).radius for successes in (last, better)
        )
        yield (
            less <= more,
            f"proves {less:g} by {last} successes and {more:g} by {better}",
        )


def _of_ends(rule: Rule) -> Checks:
    """Of samples that all agree, and of those that all disagree."""
    ((sure,), (never,)) = (
        walks(rule, np.full(1, q), np.random.default_rng(0)) for q in (0.0, 1.0)
    )
    best, worst = rule.claim(sure), rule.claim(never)
    yield (
        best.q < 0.5,
        f"certifies nothing where all {rule.samples(sure)} samples agree",
    )
    yield (
        best.radius >= rule.farthest,
        f"proves {best.radius:g} at most, its `farthest` is {rule.farthest:g}",
    )
    yield (
        worst.q >= 0.5 and worst.radius == 0.0,
        "certifies an image whose samples all disagree",
    )


def _of_errors(rule: Rule) -> Checks:
    allowed = rule.alpha + 4.0 * float(np.sqrt(rule.alpha * (1.0 - rule.alpha) / PATHS))
    for i, radius in enumerate(sorted({*RADII, *(rule.asked_radii or ())[:3]})):
        paths = walks(
            rule,
            np.full(PATHS, rule.noise.tail(radius) + 1e-9),
            np.random.default_rng(i),
        )
        found, claimed = rule.claims(evidence_of(rule, paths))
        wrong = float(np.mean(rule.certifies(found, claimed) & (claimed >= radius)))
        told = f"is wrong about {wrong:.3f} of {PATHS} images of radius {radius:g}, allowed are {allowed:.3f}"
        yield wrong <= allowed, told


def walks(
    rule: Rule, q: NDArray[np.float64], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """The path of an image for each failure probability in `q` (N,): successes are drawn as the rule asks for them.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> from randsmooth.rules import make_rule
        >>> fixed = make_rule("fixed", noise=Gaussian(0.5), n=100, alpha=0.05)
        >>> walks(fixed, np.array([0.0]), np.random.default_rng(0))
        [(100,)]
    """
    next_look = cache(rule.next_look)  # many paths begin alike
    paths: list[tuple[int, ...]] = [()] * len(q)
    seen = np.zeros(len(q), np.int64)
    while True:
        asked = np.array([next_look(path) or 0 for path in paths])
        going = np.flatnonzero(asked)
        if not len(going):
            return paths
        drawn = asked[going] - seen[going]
        if np.any(drawn <= 0):
            raise ValueError(
                f"it looks again after {asked[going][drawn <= 0][0]} samples, when it has seen as many"
            )
        gained = drawn - rng.binomial(drawn, q[going])
        seen[going] = asked[going]
        for i, more in zip(going.tolist(), gained.tolist(), strict=True):
            paths[i] = (*paths[i], (paths[i][-1] if paths[i] else 0) + more)


def evidence_of(rule: Rule, paths: Sequence[Sequence[int]]) -> Evidence:
    """The evidence of images with two classes, of which the first was picked.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> from randsmooth.rules import make_rule
        >>> evidence_of(make_rule("fixed", noise=Gaussian(0.5), n=100, alpha=0.05), [(90,)]).counts
        array([[90, 10]])
    """
    counts = np.array(
        [(path[-1], rule.samples(path) - path[-1]) for path in paths], np.int64
    )
    arrays = tuple(np.array(path, np.int64) for path in paths)
    return Evidence(
        np.arange(len(paths)), np.zeros(len(paths), np.int64), counts, arrays
    )
