"""The contract of certification rules."""

import dataclasses
import re
from typing import Any

import numpy as np

from randsmooth.noise import Gaussian
from randsmooth.rules import RULES, Rule, make_rule
from randsmooth.testing.contract import contract_of, is_one_line, require
from randsmooth.testing.simulated_paths import evidence_of, walks

NOISE = Gaussian(0.5)
ALPHA = 0.05

# How many images are simulated to look at paths and claims, and their largest failure
# probability.
IMAGES = 200
LARGEST_Q = 0.6

# How many images are simulated at each radius at which a wrong certificate is tried for,
# how far their q lies beyond the tail of the radius, and how many standard errors the
# share of wrong certificates may exceed alpha by.
IMAGES_AT_RADIUS = 1000
BEYOND_TAIL = 1e-9
STANDARD_ERRORS = 4.0
RADII = (0.0, 0.25, 0.5)
MOST_ASKED_RADII = 3

# The absolute error of a radius that is computed from q.
RADIUS_ERROR = 1e-9

# How many successes more must not prove less.
MORE_SUCCESSES = 5

Path = tuple[int, ...]
"""How many of an image's samples were successes at each look."""


def check_rule(rule: str | type[Rule] | Rule, *, n: int = 500) -> None:
    """Check a certification rule: when it looks, what it claims, and how often it errs.

    Images whose true radius is a hair below 0, 0.25, 0.5 and the radii that the rule asks
    about are simulated, 1000 each with fixed seeds. The share with a larger radius claimed
    must stay below alpha plus four standard errors. That finds rules that err about twice
    as often as they may; it does not prove that a rule is right.

    Args:
        rule: as on the command line, such as "grid=0.5", or the class of a rule that needs
            no number: both are tried with Gaussian(0.5) and alpha=0.05; or a rule itself.
        n: the most samples an image may take, of a rule that is given by its name or
            class. More take longer.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_rule("fixed")
    """
    with contract_of(f"rule {_name_of(rule)!r}"):
        made = _made_rule(rule, n)
        require(
            isinstance(made, Rule),
            f"is a {type(made).__name__}, no subclass of rules.Rule",
        )
        _check_guarantee(made)

        rng = np.random.default_rng(0)
        paths = walks(made, rng.uniform(0.0, LARGEST_Q, IMAGES), rng)
        _check_looks(made, paths)
        _check_table_is_judged_as_its_images(made, paths)
        _check_claims_are_proved(made, paths)
        _check_more_successes_prove_no_less(made, paths)
        _check_unanimous_samples(made)
        _check_wrong_certificates_are_rare(made)


def _name_of(rule: object) -> str:
    if isinstance(rule, str):
        return rule
    if isinstance(rule, type):
        return rule.__name__
    return type(rule).__name__


def _made_rule(rule: Any, n: int) -> Any:
    """Return the rule itself, and check the class by which it is given."""
    if isinstance(rule, str):
        name = rule.partition("=")[0]
        kind: Any = RULES[name]
        _check_describes_itself(kind)
        require(
            kind.name == name,
            f"has a class of the name {kind.name!r}: the entry point must have the same",
        )
        return make_rule(rule, noise=NOISE, n=n, alpha=ALPHA)
    if isinstance(rule, type):
        kind = rule
        _check_describes_itself(kind)
        require(
            not kind.number_is_required,
            f"needs a number: check the name with one, as {kind.usage!r}, or the rule "
            "itself",
        )
        return kind(NOISE, n=n, alpha=ALPHA)
    return rule


def _check_describes_itself(kind: Any) -> None:
    """Check what listings and errors say of a rule."""
    require(
        isinstance(kind, type) and issubclass(kind, Rule),
        f"is {kind!r}, no subclass of rules.Rule",
    )
    for attribute in ("name", "usage", "summary"):
        require(hasattr(kind, attribute), f"has no {attribute}")
    require(
        kind.usage.startswith(kind.name),
        f"has usage={kind.usage!r}, which begins with another name",
    )
    require(
        is_one_line(kind.summary) and kind.summary.endswith("."),
        "needs a summary of one sentence",
    )
    fields = [field.name for field in dataclasses.fields(kind)]
    require(
        kind.number is None or kind.number in fields,
        f"has number={kind.number!r}, which is none of its fields: {', '.join(fields)}",
    )


def _check_guarantee(rule: Rule) -> None:
    guarantee = rule.guarantee()
    beginning = f"Each certificate is wrong with probability at most {rule.alpha:g}"
    one_sentence = (
        is_one_line(guarantee)
        and guarantee.endswith(".")
        and not re.search(r"\.\s", guarantee)
    )
    require(
        one_sentence and guarantee.startswith(beginning),
        f"guarantees {guarantee!r}, expected one sentence, from {beginning!r} on",
    )


def _check_looks(rule: Rule, paths: list[Path]) -> None:
    """Check after how many samples a rule looks, and that it stops and answers again."""
    for path in paths:
        looks = [rule.samples(path[: i + 1]) for i in range(len(path))]
        rising = looks and looks[0] > 0 and all(np.diff(looks) > 0)
        require(
            rising and looks[-1] <= rule.n,
            f"looks after {looks} samples, expected rising numbers up to n={rule.n}",
        )
        block = rule.block or 1
        in_blocks = all(look % block == 0 for look in looks if look != rule.n)
        require(
            in_blocks,
            f"looks after {looks} samples, expected multiples of its block, {rule.block}",
        )
        require(
            rule.next_look(path) is None, "asks for more samples after it has stopped"
        )
        require(
            rule.next_look(path[:-1]) == looks[-1],
            "does not answer the same when it is asked again",
        )


def _check_table_is_judged_as_its_images(rule: Rule, paths: list[Path]) -> None:
    """Check that a table of many images is judged as each image alone."""
    q, radius = rule.claims(evidence_of(rule, paths))
    claims = [rule.claim(path) for path in paths]
    same_q = np.allclose([claim.q for claim in claims], q)
    same_radius = np.allclose([claim.radius for claim in claims], radius)
    require(
        same_q and same_radius,
        "claims something else for a table (claims) than for its images (claim)",
    )


def _check_claims_are_proved(rule: Rule, paths: list[Path]) -> None:
    """Check that no radius exceeds what q proves."""
    q, radius = rule.claims(evidence_of(rule, paths))
    require(np.all((q >= 0.0) & (q <= 1.0)), "claims a q that is no probability")

    certified = rule.certifies(q, radius)
    require(
        not np.any((radius > 0.0) & ~certified),
        "claims radii for images that it does not certify",
    )
    # Otherwise the runner-up is bounded too, and q alone proves less.
    certifies_by_q_alone = np.all(certified == (q < 0.5))
    if certifies_by_q_alone:
        proved = np.where(q < 0.5, rule.noise.radius(q), 0.0)
        require(
            np.all(radius <= proved + RADIUS_ERROR),
            "claims radii beyond those that its q proves",
        )


def _check_more_successes_prove_no_less(rule: Rule, paths: list[Path]) -> None:
    """Check that more successes at the last look never prove a smaller radius."""
    for path in paths:
        *before, last = path
        successes_before = before[-1] if before else 0
        samples_of_last_look = rule.samples(path) - rule.samples(before)
        more = min(last + MORE_SUCCESSES, samples_of_last_look + successes_before)

        radius = rule.claim(path).radius
        radius_of_more = rule.claim([*before, more]).radius
        require(
            radius <= radius_of_more,
            f"proves {radius:g} by {last} successes and {radius_of_more:g} by {more}",
        )


def _check_unanimous_samples(rule: Rule) -> None:
    """Check what is claimed where all samples agree, and where all disagree."""
    (all_agree,) = walks(rule, np.zeros(1), np.random.default_rng(0))
    best = rule.claim(all_agree)
    require(
        best.q < 0.5,
        f"certifies nothing where all {rule.samples(all_agree)} samples agree",
    )
    require(
        best.radius >= rule.farthest,
        f"proves {best.radius:g} at most, its `farthest` is {rule.farthest:g}",
    )

    (all_disagree,) = walks(rule, np.ones(1), np.random.default_rng(0))
    worst = rule.claim(all_disagree)
    require(
        worst.q >= 0.5 and worst.radius == 0.0,
        "certifies an image whose samples all disagree",
    )


def _check_wrong_certificates_are_rare(rule: Rule) -> None:
    """Check how often a radius is claimed of images whose true radius is a hair smaller."""
    alpha = rule.alpha
    standard_error = float(np.sqrt(alpha * (1.0 - alpha) / IMAGES_AT_RADIUS))
    allowed = alpha + STANDARD_ERRORS * standard_error

    asked_radii = (rule.asked_radii or ())[:MOST_ASKED_RADII]
    for seed, radius in enumerate(sorted({*RADII, *asked_radii})):
        true_q = np.full(IMAGES_AT_RADIUS, rule.noise.tail(radius) + BEYOND_TAIL)
        paths = walks(rule, true_q, np.random.default_rng(seed))
        q, claimed = rule.claims(evidence_of(rule, paths))
        wrong = rule.certifies(q, claimed) & (claimed >= radius)
        share_wrong = float(np.mean(wrong))
        require(
            share_wrong <= allowed,
            f"is wrong about {share_wrong:.3f} of {IMAGES_AT_RADIUS} images of radius "
            f"{radius:g}, allowed are {allowed:.3f}",
        )
