"""Noise rounded to the grid k/255: its law to the last bit, and why it is wanted."""

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
import torch
from scipy import stats

from models.refusing import check_refusals
from randsmooth.errors import BadValue
from randsmooth.noise import Copies, Gaussian, Stream, check_on_grid, grid_sampler
from randsmooth.noise.rounded_gaussian import (
    EXTRA,
    OPEN,
    GridOnDevice,
    GridSampler,
    Thresholds,
)
from values import Refusal

SIGMAS = [0.12, 0.25, 1.0]


def probability(j: int, sigma: float) -> Fraction:
    """P(J = j), to 120 bits."""
    with mpmath.workdps(60):
        ends = [
            mpmath.mpf(2 * j + side) / (510 * mpmath.mpf(sigma)) for side in (-1, 1)
        ]
        below, above = (mpmath.ncdf(end) for end in ends)
        return Fraction(int(mpmath.ldexp(above - below, 120)), 2**120)


def grey(k: int) -> torch.Tensor:
    return torch.full((1, 4, 4), k / 255.0)


def test_a_cell_is_as_wide_as_its_probability_and_the_first_look_agrees_with_all_64_bits() -> (
    None
):
    rng, prefixes = (
        np.random.default_rng(0),
        np.arange(1 << 16, dtype=np.uint64) << np.uint64(48),
    )
    for sigma in SIGMAS:
        made = grid_sampler(sigma)
        for j in (-200, -3, -1, 0, 1, 2, 57, 400):
            place = j - made.thresholds.first
            width = Fraction(
                int(made.thresholds.rounded[place])
                - int(made.thresholds.rounded[place - 1]),
                2**64,
            )
            assert abs(width - probability(j, sigma)) < Fraction(1, 2**63), (sigma, j)
        decided = made.table != OPEN
        assert 0 < np.mean(~decided) < 0.03, sigma
        for tail in (0, (1 << 48) - 1, *rng.integers(0, 1 << 48, 3).tolist()):
            cells = made.thresholds.cells(prefixes | np.uint64(tail), lambda: 0)
            np.testing.assert_array_equal(cells[decided], made.table[decided])


def test_a_number_on_a_threshold_is_drawn_on() -> None:
    thresholds = Thresholds(0.25, first=-2000, last=2000)
    for j in (-7, 0, 12):
        on, digits = (
            thresholds.rounded[j - thresholds.first],
            thresholds.exact(j, 64 + 3 * EXTRA),
        )
        own = [(digits >> (EXTRA * i)) % (1 << EXTRA) for i in (2, 1, 0)]
        a, b, c = own
        for parts, cell in (
            ([a - 1], j),
            ([a + 1], j + 1),
            ([a, b - 1], j),
            ([a, b, c + 1], j + 1),
        ):
            rest = list(parts)
            assert (
                thresholds.cells(np.array([on]), lambda rest=rest: rest.pop(0))[0]  # type: ignore[misc]
                == cell
            ), (j, parts)
            assert not rest


def test_thresholds_that_begin_alike_are_told_apart() -> None:
    thresholds = Thresholds(
        0.05, first=-2000, last=2000
    )  # far out, all of them begin with 64 zeros
    assert np.sum(thresholds.rounded == 0) > 100
    digits = thresholds.exact(-130, 64 + 8 * EXTRA)
    rest = [(digits >> (EXTRA * i)) % (1 << EXTRA) for i in range(7, -1, -1)]
    last = next(i for i, part in enumerate(rest) if part)
    above = [*rest[:last], rest[last] + 1, *[0] * 8]
    assert thresholds.cells(np.zeros(1, np.uint64), lambda: above.pop(0))[0] == -129


def fits(draws: np.ndarray, sigma: float) -> float:
    """p-value of the chi-square test of rounded normal draws, in cells of at least 20 expected."""
    reach = int(3.5 * 255 * sigma)
    edges = np.arange(-reach, reach + 2, max(1, reach // 100)) - 0.5
    expected = np.diff(stats.norm.cdf(edges, scale=255 * sigma))
    expected = np.concatenate(([stats.norm.cdf(edges[0], scale=255 * sigma)], expected))
    expected = np.append(expected, 1 - expected.sum())
    observed = np.bincount(np.searchsorted(edges, draws), minlength=len(expected))
    return float(stats.chisquare(observed, expected * len(draws)).pvalue)


def test_draws_have_the_law_and_a_wrong_sigma_is_seen() -> None:
    for sigma in SIGMAS:
        draws = np.concatenate(
            list(grid_sampler(sigma).integers(2000, 1000, Stream(0, "law").philox()))
        ).ravel()
        assert fits(draws, sigma) > 1e-3
        assert fits(draws, 1.01 * sigma) < 1e-6


def as_on_a_device(made: GridSampler, device: str = "cpu") -> GridOnDevice:
    """The code for accelerators, which runs on the CPU too."""
    return GridOnDevice(made.thresholds, made.low, made.high, torch.device(device))


@pytest.mark.parametrize(
    "device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
)
def test_an_accelerator_draws_what_the_cpu_draws(device: str) -> None:
    """Also of a number that the first bits leave open, and however the rows of a batch are divided."""
    for sigma, shape in itertools.product(
        (0.12, 8.0), ((1, 4, 4), (3, 5, 7), (1, 28, 28))
    ):
        made, generator = grid_sampler(sigma), torch.Generator().manual_seed(0)
        images = torch.randint(0, 256, (3, *shape), generator=generator) / 255
        groups = [
            Copies(x, Stream(7, "a").at(i), n)
            for i, (x, n) in enumerate(zip(images, (32, 5, 128), strict=True))
        ]
        out = torch.empty(165, *shape)
        for part, group in zip(out.split([32, 5, 128]), groups, strict=True):
            made.draw(part, group.x, group.stream)
        drawn = torch.full_like(out, torch.nan, device=device)
        as_on_a_device(made, device).draw(
            drawn, [replace(each, x=each.x.to(device)) for each in groups]
        )
        assert torch.equal(drawn.cpu(), out), (sigma, shape)


def test_a_number_on_a_threshold_is_drawn_on_alike_on_an_accelerator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Thresholds that are numbers of this very stream: the host then compares further bits, here as there."""
    made, stream, x = GridSampler(0.25), Stream(1, "a"), grey(3)
    bits = stream.philox().words(0, 256 * 4).view("<u2")
    first_open = bits[made.table[bits] == OPEN][:2]
    numbers = first_open.astype(np.uint64) << np.uint64(48) | stream.philox().words(
        1, 2
    ) >> np.uint64(16)
    prefixes = (made.thresholds.rounded >> np.uint64(48)).tolist()
    for number, prefix in zip(numbers, first_open.tolist(), strict=True):
        made.thresholds.rounded[prefixes.index(prefix)] = (
            number  # so that the same places stay open
        )
    compared: list[int] = []

    def exact(self: Thresholds, j: int, bits: int) -> int:
        compared.append(j)
        return int(self.rounded[j - self.first]) << (
            bits - 64
        )  # an end of 64 bits: no other digit than 0

    monkeypatch.setattr(Thresholds, "exact", exact)
    out = torch.empty(2, 256, 1, 4, 4)
    made.draw(out[0], x, stream)
    on_the_host = list(compared)
    as_on_a_device(made).draw(out[1], [Copies(x, stream, 256)])
    assert torch.equal(out[0], out[1])
    assert len(on_the_host) >= 2 and compared == on_the_host * 2


def test_a_shorter_draw_is_the_beginning_of_a_longer_one() -> None:
    long, short = torch.empty(64, 1, 5, 5), torch.empty(7, 1, 5, 5)
    for out in (long, short):
        grid_sampler(0.5).draw(out, torch.zeros(1, 5, 5), Stream(0, "a"))
    assert torch.equal(long[:7], short)


def test_why_floats_will_not_do() -> None:
    """In float32 the values that can come out tell which image they came from; on the grid they do not."""
    images = [grey(k) for k in (10, 11)]
    draws = torch.empty(2, 2000, 1, 4, 4)
    for place, x in enumerate(images):
        Gaussian(1e-3).draw(draws[place], x, Stream(place, "a"))
    reached = [
        set((draws[place] - x).numpy().ravel().tolist())
        for place, x in enumerate(images)
    ]
    assert len(reached[0] & reached[1]) < 0.9 * len(reached[0])
    for place, x in enumerate(images):
        grid_sampler(0.01).draw(draws[place], x, Stream(place, "a"))
    added = [
        set((draws[place].double() * 255).round().numpy().ravel() - k)
        for place, k in ((0, 10), (1, 11))
    ]
    assert (
        {j for j in added[0] if abs(j) < 8}
        == {j for j in added[1] if abs(j) < 8}
        == set(range(-7, 8))
    )


def test_a_pixel_off_the_grid_and_a_sigma_beyond_the_table_are_refused() -> None:
    check_on_grid(torch.arange(256, dtype=torch.uint8)[None, :, None].float().div_(255))
    for value in (0.5, 1.5 / 255, -1 / 255, 256 / 255, 1e-6):
        x = grey(3)
        x[0, 2, 2] = value
        check_refusals(
            [(partial(check_on_grid, x), Refusal(BadValue, "k/255", "sound=False"))]
        )
    check_refusals(
        [(lambda: grid_sampler(9.0), Refusal(BadValue, "sigma=9", field="sigma"))]
    )
