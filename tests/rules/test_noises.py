"""Rules under every noise: the radii that they ask about, and what is not asked for in that norm."""

from functools import partial

import numpy as np

from models.refusing import check_refusals, refusal
from randsmooth.noise import Ablation, Gaussian, GaussianPerCoordinate, Laplace, Noise, Splitting, Uniform
from randsmooth.rules import Grid, Rule, make_rule

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
        assert len(set(tails)) == len(tails) and 1 <= len(tails) <= 100, noise  # no radius is asked about twice


def test_a_radius_that_cannot_be_is_refused_with_the_largest_that_can() -> None:
    """The largest is certified by samples that all agree; one that is a little larger is not."""
    for noise in (Gaussian(0.5), Uniform(0.6), Laplace(0.3), Laplace(1e-4), Splitting(0.1), PIXELS):
        for name in ("radius", "anytime"):
            said = refusal(partial(rule, f"{name}={40 * noise.scale:g}", noise))
            largest = float(said.partition("a radius of at most ")[2])
            made = rule(f"{name}={largest!r}", noise)
            path: list[int] = []
            while (look := made.next_look(path)) is not None:
                path.append(look)
            assert made.claim(path).radius >= largest > 0.0, (noise, name)
            refusal(partial(rule, f"{name}={(largest + 1 if noise is PIXELS else 1.02 * largest)!r}", noise))


def test_pixels_are_counted_whole() -> None:
    table = (("radius=0.5", "whole"), ("grid=0.5", "whole"), ("anytime=1.5", "whole"), ("dense", "grid"))
    check_refusals((partial(rule, text, PIXELS), way_out) for text, way_out in table)
    assert rule("radius=2", PIXELS).claim([32, 64]).radius == 2.0
