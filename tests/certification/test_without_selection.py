"""CERTIFY without samples that pick the class: how often it errs at the worst probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from randsmooth.certification.algorithm import ImageEvidence, certify_steps
from randsmooth.noise import Gaussian
from randsmooth.rules import Rule, make_rule

SIGMA, N, ALPHA, IMAGES = 0.5, 500, 0.2, 600
P0 = 1.0 - float(Gaussian(SIGMA).tail(0.25)) - 1e-9  # a hair less than radius 0.25 asks for
MOST = ALPHA + 4.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / IMAGES)


def certified(rule: Rule, p: Sequence[float], label: int | None = None) -> list[ImageEvidence]:
    """The evidence of images whose answers have the probabilities `p` (K,)."""
    rng, found = np.random.default_rng(0), []
    for _ in range(IMAGES):
        steps = certify_steps(rule, 0, label)
        asked = next(steps)
        while True:
            try:
                asked = steps.send(np.stack([rng.multinomial(each.stop - each.start, p) for each in asked]))
            except StopIteration as end:
                found.append(end.value)
                break
    return found


def claimed(rule: Rule, found: list[ImageEvidence], worst: int | None = None) -> float:
    """The share of images whose class is certified at all; with `worst`, only where it is that class."""
    of = [image for image in found if worst is None or image.counts0.argmax() == worst]
    return sum(rule.claim(image.path.tolist()).q < 0.5 for image in of) / len(found)


@pytest.mark.parametrize("p", [(P0, 1.0 - P0), (P0, *[(1.0 - P0) / 9] * 9), (0.5, 0.5)])
def test_any_class_is_certified_falsely_no_more_often_than_alpha(p: tuple[float, ...]) -> None:
    rule = make_rule("radius=0.25", noise=Gaussian(SIGMA), n=N, alpha=ALPHA, bound="any-class")
    found = certified(rule, p)
    wrong = claimed(rule, found)
    assert wrong <= MOST
    if p[0] > 0.5:
        assert wrong > 0.5 * ALPHA and claimed(rule, found, worst=0) == wrong  # the others' share is far below
    for image in found[:50]:
        assert image.path[-1] == image.counts.max() and image.counts0.tolist().index(1) == image.counts.argmax()


def test_the_label_is_certified_falsely_no_more_often_than_alpha() -> None:
    for text in ("radius=0.25", "grid"):
        rule = make_rule(text, noise=Gaussian(SIGMA), n=N, alpha=ALPHA)
        found = certified(rule, (1.0 - P0, P0), label=1)
        wrong = np.mean([rule.claim(image.path.tolist()).radius >= 0.25 for image in found])
        assert 0.5 * ALPHA < wrong <= MOST
        assert all(image.counts0.argmax() == 1 and image.path[-1] == image.counts[1] for image in found)


def test_a_label_that_is_hardly_ever_given_is_given_up_at_the_first_look() -> None:
    rule = make_rule("radius=0.25", noise=Gaussian(SIGMA), n=N, alpha=ALPHA)
    assert {int(image.counts.sum()) for image in certified(rule, (0.98, 0.02), label=1)} == {32}


def test_control_a_rule_for_a_picked_class_errs_too_often_where_none_was_picked() -> None:
    rule = make_rule("radius=0", noise=Gaussian(SIGMA), n=N, alpha=ALPHA)
    assert claimed(rule, certified(rule, (0.5, 0.5))) > 1.5 * ALPHA > MOST
