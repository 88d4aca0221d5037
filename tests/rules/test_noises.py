"""Rules under every noise: the radii that they ask about; and the rule that counts all copies."""

import itertools
from functools import partial

import numpy as np

from models.refusing import check_refusals, refusal
from randsmooth.errors import BadValue
from randsmooth.noise import (
    Ablation,
    Gaussian,
    GaussianPerCoordinate,
    Laplace,
    Noise,
    Splitting,
    Uniform,
)
from randsmooth.rules import Evidence, Grid, Rule, make_rule
from values import Refusal

PIXELS = Ablation(10).of((1, 8, 8))


def rule(text: str, noise: Noise) -> Rule:
    return make_rule(text, noise=noise, n=1000, alpha=0.001)


def test_radii_of_a_grid_suit_the_noise() -> None:
    each = GaussianPerCoordinate(np.array([0.1, 20.0], np.float32))
    table: list[tuple[Noise, float]] = [
        (Gaussian(0.5), 0.25),
        (Gaussian(0.02), 0.25),
        (each, 0.25),
        (Uniform(2.0), 0.25),
        (Uniform(0.6), 0.1),
        (Splitting(0.1), 0.025),
        (Laplace(1e-4), 2.5e-5),
        (PIXELS, 1.0),
    ]
    for noise, step in table:
        made = rule("grid", noise)
        assert isinstance(made, Grid)
        assert made.apart == noise.step == step, noise
        tails = [float(noise.tail(r)) for r in made.radii]
        assert len(set(tails)) == len(tails) and 1 <= len(tails) <= 100, (
            noise
        )  # no radius is asked about twice


def test_a_radius_that_cannot_be_is_refused_with_the_largest_that_can() -> None:
    """The largest is certified by samples that all agree; one that is a little larger is not."""
    for noise in (
        Gaussian(0.5),
        Uniform(0.6),
        Laplace(0.3),
        Laplace(1e-4),
        Splitting(0.1),
        PIXELS,
    ):
        for name in ("radius", "anytime"):
            said = refusal(partial(rule, f"{name}={40 * noise.scale:g}", noise))
            largest = float(said.partition("a radius of at most ")[2])
            made = rule(f"{name}={largest!r}", noise)
            path: list[int] = []
            while (look := made.next_look(path)) is not None:
                path.append(look)
            assert made.claim(path).radius >= largest > 0.0, (noise, name)
            refusal(
                partial(
                    rule,
                    f"{name}={(largest + 1 if noise is PIXELS else 1.02 * largest)!r}",
                    noise,
                )
            )


def test_pixels_are_counted_whole() -> None:
    table = (
        ("radius=0.5", Refusal(BadValue)),
        ("grid=0.5", Refusal(BadValue)),
        ("anytime=1.5", Refusal(BadValue)),
        ("dense", Refusal(BadValue, "grid")),
    )
    check_refusals((partial(rule, text, PIXELS), way_out) for text, way_out in table)
    assert rule("radius=2", PIXELS).claim([32, 64]).radius == 2.0


COPIES = 5
NOISE = Splitting(COPIES / 510)


def test_no_input_within_the_radius_has_another_class_and_some_input_just_outside_may() -> (
    None
):
    """A step of 1/255 changes the answer of one copy at most: all answers of 5 copies in 3 classes are tried."""
    rule = make_rule("exact", noise=NOISE, n=COPIES, alpha=0.0)
    for answers in itertools.product(range(3), repeat=COPIES):
        counts = np.bincount(answers, minlength=3)
        picked = int(counts.argmax())
        evidence = Evidence.of(np.eye(3, dtype=np.int64)[[picked]], counts[None])
        q, radius = rule.claims(evidence)
        ahead = bool((np.delete(counts, picked) < counts[picked]).all())
        assert rule.certifies(q, radius)[0] == ahead, answers
        assert q[0] == (1.0 - counts[picked] / COPIES if ahead else 1.0), answers
        steps = round(float(radius[0]) * 255)
        for changed in range(COPIES + 1):
            kept = all(
                is_ahead(np.bincount(other, minlength=3), picked)
                for places in itertools.combinations(range(COPIES), changed)
                for other in with_changed(answers, places)
            )
            assert kept == (ahead and changed <= steps), (answers, changed)


def is_ahead(counts: np.ndarray, picked: int) -> bool:
    return bool((np.delete(counts, picked) < counts[picked]).all())


def with_changed(
    answers: tuple[int, ...], places: tuple[int, ...]
) -> itertools.product:  # type: ignore[type-arg]
    return itertools.product(
        *(range(3) if i in places else [each] for i, each in enumerate(answers))
    )


def test_what_has_no_copies_to_count_is_refused_with_a_way_out() -> None:
    table = [
        (Gaussian(0.5), 255, 0.0, "splitting=0.5"),  # infinitely many copies
        (Uniform(0.5), 255, 0.0, "splitting=0.5"),
        (Splitting(0.123), 255, 0.0, "0.1235"),  # no whole number of copies
        (Splitting(0.5), 1000, 0.0, "255"),
        (Splitting(0.5), 255, 0.001, "255"),
    ]
    made = (
        (partial(make_rule, "exact", noise=noise, n=n, alpha=alpha), said)
        for noise, n, alpha, said in table
    )
    check_refusals((make, Refusal(BadValue, "cop", str(said))) for make, said in made)


def test_one_image_is_judged_as_if_all_other_copies_had_one_class() -> None:
    rule = make_rule("exact", noise=Splitting(0.5), n=255, alpha=0.0)
    assert rule.next_look([]) == 255 and rule.next_look([200]) is None
    assert (
        rule.claim([255]).radius,
        rule.claim([128]).radius,
        rule.claim([100]).radius,
    ) == (127 / 255, 0.0, 0.0)
    assert rule.farthest == 127 / 255
    for rest, radius in (([55, 0], 72), ([30, 25], 84), ([28, 27], 85)):
        _, found = rule.claims(
            Evidence.of(np.array([[1, 0, 0]]), np.array([[200, *rest]]))
        )
        assert round(float(found[0]) * 255) == radius, rest
