"""Splitting noise with all its copies counted: enumeration, and certificates that hold with certainty."""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

import randsmooth as rs
from models.refusing import check_refusals
from randsmooth.errors import BadValue
from randsmooth.noise import Splitting
from values import Refusal

LAMS = (0.5, 0.1, 1.0, 40 / 510)


def counted(noise: Splitting, k: Tensor, seed: int = 0) -> Tensor:
    """(copies, *k.shape) all copies of the image k/255."""
    assert noise.copies is not None
    out = torch.empty(noise.copies, *k.shape)
    noise.numbered(out, k.float() / 255, 0, seed)
    return out


def test_all_copies_are_counted_and_no_more() -> None:
    assert [Splitting(lam).copies for lam in (*LAMS, 0.3, 0.33, 1e-6)] == [
        255,
        51,
        510,
        40,
        153,
        None,
        None,
    ]
    for lam in LAMS:
        noise = Splitting(lam)
        number = noise.copies
        assert number is not None
        k = torch.arange(256)
        seen = counted(noise, k)
        for i in range(
            0, 256, 51
        ):  # each place of the thresholds once, by the definition
            expected = []
            for t in range(number):
                ends = [t + 0.5 + number * m for m in range(-8, 8)]
                low, high = (
                    max(end for end in ends if end < i),
                    min(end for end in ends if end > i),
                )
                expected.append((max(0.0, low) + min(255.0, high)) / 510)
            found = np.sort(seen[:, i].double().numpy())
            np.testing.assert_allclose(
                found, np.sort(expected), atol=1e-7, err_msg=f"lam={lam}, k={i}"
            )


def test_copies_depend_on_seed_and_shape_and_never_on_the_image() -> None:
    """As many copies differ as there are steps between two images."""
    rng = np.random.default_rng(0)
    for lam in LAMS:
        noise = Splitting(lam)
        for seed in (0, 1):
            here = torch.from_numpy(rng.integers(20, 200, (1, 2, 3)))
            for steps in (1, 5):
                there = here.clone()
                there[0, 0, 0] += steps
                differ = (
                    (counted(noise, here, seed) != counted(noise, there, seed))
                    .flatten(1)
                    .any(dim=1)
                )
                assert int(differ.sum()) == steps, (lam, seed, steps)
    many = counted(Splitting(0.5), torch.full((1000,), 100))[0] > 0.5
    assert abs(float(many.float().mean()) - 100 / 255) < 0.08  # offsets are uniform


def test_what_cannot_be_counted_is_refused() -> None:
    features, how = (
        np.array([[0.0, 17.5, 1.0]] * 2),
        dict[str, Any](n=100, n0=10, identity="the first two"),
    )
    certify = partial(
        rs.certify, lambda x: x[:, :2], (features, [0, 1]), noise=Splitting(0.5), **how
    )
    out, x, half, odd = (
        torch.empty(5, 2),
        torch.zeros(2),
        Splitting(0.5),
        Splitting(0.33),
    )
    check_refusals(
        [
            (
                certify,
                Refusal(BadValue, "splitting=0.5", "[0, 1]", "17.5"),
            ),
            (lambda: odd.numbered(out, x, 0, 0), Refusal(BadValue, "lam=0.33")),
            *(
                (partial(half.numbered, out, x, first, 0), Refusal(BadValue, "254"))
                for first in (251, -1)
            ),
            (lambda: half.numbered(out, x + 0.3001, 0, 0), Refusal(BadValue, "grid")),
            (lambda: odd.exact_radius(3, 1), Refusal(BadValue)),
        ]
    )
