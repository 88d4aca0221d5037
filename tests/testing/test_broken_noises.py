"""Noises that break the contract are refused, in words that say what is wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from models.refusing import each_told, told
from randsmooth import testing
from randsmooth.noise import (
    NOISES,
    Ablation,
    Gaussian,
    Laplace,
    Noise,
    Splitting,
    Uniform,
)


def but(noise: Noise, **members: Any) -> Noise:
    """The noise with other members."""
    kind = type(noise)
    return type(kind.__name__, (kind,), members)(  # type: ignore[no-any-return]
        *(getattr(noise, name) for name in noise.__match_args__)  # type: ignore[attr-defined]
    )


def times(noise: Noise, factor: float) -> Noise:
    """The noise with radii `factor` times as large, and tails that belong to them."""
    kind = type(noise)
    return but(
        noise,
        radius=lambda self, q, q_next=None: factor * kind.radius(self, q, q_next),
        tail=lambda self, r: kind.tail(self, np.asarray(r) / factor),
    )


def next_radius(noise: Noise, radius: Callable[..., Any]) -> Noise:
    """The noise with another `radius` where a next class has less than what the class leaves."""
    kind = type(noise)

    def either(self: Noise, q: Any, q_next: Any = None) -> Any:
        given = kind.radius(self, q)
        return (
            given
            if q_next is None
            else np.where(np.less(q_next, q), radius(self, q, q_next), given)
        )

    return but(noise, radius=either)


def after(noise: Noise, change: Callable[..., Any]) -> Noise:
    """The noise whose copies are changed in place by `change(out, x)`."""
    kind = type(noise)

    def draw(self: Noise, out: torch.Tensor, x: torch.Tensor, stream: Any) -> None:
        kind.draw(self, out, x, stream)
        change(out, x)

    return but(noise, draw=draw)


def by_product(self: Any, out: torch.Tensor, x: torch.Tensor, stream: Any) -> None:
    """Ablation's copies, but what is hidden is multiplied by 0: a negative number leaves -0.0, infinity NaN."""
    Ablation.draw(self, out, torch.ones_like(x), stream)
    d = self.of(x.shape).d
    numbers = out.view(len(out), -1, d)
    numbers[:, :-1] *= x.reshape(-1, d) + 0.0


def without_signs(self: Any, out: torch.Tensor, x: torch.Tensor, stream: Any) -> None:
    """As `by_product`, with 0.0 for -0.0: NaN is left."""
    by_product(self, out, x, stream)
    out += 0.0


def in_the_payload(self: Any, out: torch.Tensor, x: torch.Tensor, stream: Any) -> None:
    """Ablation's copies, whose zeros have the lowest bits of what is hidden."""
    Ablation.draw(self, out, x, stream)
    numbers = out.view(torch.int32)[:, : len(x)]
    hidden = out[:, -1:] == 0.0
    numbers |= torch.where(hidden, x.view(torch.int32) & 0xFFF, 0)


def in_the_last_bit(self: Any, out: torch.Tensor, x: torch.Tensor, stream: Any) -> None:
    """The noise's copies, whose last bit is that of a comparison."""
    Splitting.draw(self, out, x, stream)
    numbers = out.view(torch.int32)
    numbers &= ~1
    numbers |= x > 0.25


def in_the_marks(self: Any, out: torch.Tensor, x: torch.Tensor, stream: Any) -> None:
    """Ablation's copies, whose marks of what is hidden have its sign."""
    Ablation.draw(self, out, x, stream)
    marks = out[:, -1]
    marks.copy_(torch.where(marks == 0.0, torch.copysign(marks, x[0] + 0.0), marks))


def global_draw(self: Any, out: torch.Tensor, x: torch.Tensor, stream: Any) -> None:
    out.copy_(x + self.sigma * torch.randn(out.shape))


def seeded_draw(self: Any, out: torch.Tensor, x: torch.Tensor, stream: Any) -> None:
    out.copy_(
        x
        + self.sigma
        * torch.from_numpy(np.random.default_rng(0).standard_normal(out.shape))
    )


DRAWS: list[tuple[Any, str]] = [
    (
        but(Gaussian(0.5), draw=global_draw),
        "draws other copies when a stream is used again",
    ),
    (but(Gaussian(0.5), draw=seeded_draw), "draws the same copies from another stream"),
    (
        after(Gaussian(0.5), lambda out, x: out.copy_(out.flip(0))),
        "draws other copies where `out` is shorter",
    ),
    (after(Gaussian(0.5), lambda out, x: out[-1].fill_(torch.nan)), "not finite"),
    (after(Gaussian(0.5), lambda out, x: x.add_(1.0)), "draws other copies when|"),
    (
        after(Gaussian(0.5), lambda out, x: out.copy_(x.expand_as(out))),
        "draws the same copies",
    ),
    (
        after(Gaussian(0.5), lambda out, x: out.clamp_(0.0, 1.0)),
        "is said to be additive",
    ),
    (
        after(
            Ablation(3),
            lambda out, x: out[:, :1].mul_(torch.where(torch.signbit(x), -1.0, 1.0)),
        ),
        "copies of -0.0",
    ),
    (but(Splitting(0.5), offsets=lambda self, x, m, stream: x), "has offsets of shape"),
    (
        but(Splitting(0.5), offsets=lambda self, x, m, stream: torch.rand(m, *x.shape)),
        "has other offsets",
    ),
]
RADII: list[tuple[Any, str]] = [
    (
        but(
            Uniform(0.5),
            radius=lambda self, q, q_next=None: np.abs(0.5 - np.asarray(q)),
        ),
        "p > 1/2 is needed",
    ),
    (
        but(Uniform(0.5), radius=lambda self, q, q_next=None: float(np.min(q))),
        "fails when it is tried",
    ),
    (
        but(Uniform(0.5), tail=lambda self, r: 0.5 * Uniform.tail(self, r)),
        "has the tail",
    ),
    (
        but(
            Laplace(0.5),
            radius=lambda self, q, q_next=None: 0.5 * Laplace.radius(self, q),
        ),
        "has the tail",
    ),
    (but(Uniform(0.5), norm="l3"), "has the norm 'l3'"),
    (
        but(Uniform(0.5), norms=("linf", "l1")),
        "norms=('linf', 'l1'), whose first is another",
    ),
    (
        but(
            Uniform(0.5),
            radius=lambda self, q, q_next=None: np.nan_to_num(
                Uniform.radius(self, q), nan=0.5
            ),
        ),
        "q = NaN",
    ),
    (
        but(Uniform(0.5), facts=lambda self: {"name": "uniform", "lam": 0.6}),
        "made from its facts",
    ),
    ({"a": 1}, "noise 'dict' is no Noise"),
    (Uniform, "noise 'Uniform' is no Noise: give an instance, such as Uniform(0.5)"),
]
LEVEL: list[tuple[Any, str]] = [
    (times(Gaussian(0.5), 1.01), "claims radius|in l2|does not hold"),
    (times(Uniform(0.5), 1.01), "claims radius|in l1|does not hold"),
    (times(Splitting(0.33), 1.01), "claims radius|in l1|does not hold"),
    (next_radius(Uniform(0.5), lambda noise, q, q_next: Uniform.radius(noise, q_next)), "where the next class has"),
    (next_radius(Gaussian(0.5), lambda noise, q, q_next: 1.03 * Gaussian.radius(noise, q, q_next)), "the next class"),
    (but(Uniform(0.5), norm="l2", norms=("l2",)), "in l2|does not hold"),
    (but(after(Gaussian(0.5), lambda out, x: out.clamp_(0.0, 1.0)), additive=False), "is said to be tight"),
    (after(Uniform(0.5), lambda out, x: out.sub_(x).abs_().add_(x)), "does not hold"),  # noise on one side only
    (times(Gaussian(0.5), 0.9), "is said to be tight"),
    (but(Ablation(3), radius=lambda self, q, q_next=None: Ablation.radius(self, q, q_next) + (np.asarray(q) < 0.3),
         tail=lambda self, r: Ablation.tail(self, np.asarray(r) - 1.0)), "has tails|"),
]  # fmt: skip
LEAKS: list[tuple[Any, str]] = [
    (but(Ablation(3), draw=by_product), "claims radius 3 in l0|from 1 to -1"),
    (but(Ablation(3), draw=without_signs), "claims radius 3 in l0|from 0 to inf"),
    (but(Ablation(3), draw=in_the_payload), "claims radius 3 in l0|from nan to nan"),
    (but(Ablation(3), draw=in_the_marks), "claims radius 3 in l0|from 1 to -1"),
    (but(Splitting(0.5), draw=in_the_last_bit), "in l1|the bits of|from 0 to 1"),
]


def test_draws_and_radii() -> None:
    each_told(testing.check_noise, [*DRAWS, *RADII])


def test_a_name_that_is_not_that_of_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NOISES._added, "broad", Uniform)
    assert "has a class of the name 'uniform'" in told(testing.check_noise, "broad=0.5")


def test_levels() -> None:
    each_told(testing.check_noise, LEVEL)


def test_leaks_of_what_is_hidden() -> None:
    each_told(testing.check_noise, LEAKS)
