"""Copies tell no more of an input than a radius is claimed for: their bytes, enumerated, and a classifier of signs."""

import itertools
import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from randsmooth import SmoothedClassifier
from randsmooth.certificates import ABSTAIN
from randsmooth.noise import Ablation, Laplace, Noise, Splitting, Stream, Uniform
from randsmooth.noise.fine import grid
from randsmooth.noise.streams import fill

STREAM = Stream(5, "leaks")
OTHER_NAN = float(np.uint32(0x7FC00123).view(np.float32))
WIDTHS = (1e-3, 0.3, 0.5, 1.0, 30.0)
VALUES = (1.0, -1.0, 0.0, math.inf, -math.inf, math.nan, OTHER_NAN)


class EachSubset(Ablation):
    """Ablation whose copies keep each choice of k pixels once."""

    def _mark(self, marks: Tensor, stream: Stream) -> None:
        marks.zero_()
        for row, kept in enumerate(
            itertools.combinations(range(marks.shape[1]), self.k)
        ):
            marks[row, list(kept)] = 1.0


class ByProduct(Ablation):
    """The control: what is hidden is multiplied by 0."""

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        d = self.of(x.shape).d or 0
        channels = out.view(len(out), -1, d)
        self._mark(channels[:, -1], stream)
        torch.mul(x.reshape(-1, d), channels[:, -1:], out=channels[:, :-1])


class EachSubsetByProduct(ByProduct, EachSubset):
    """The control, enumerated."""


def variation(one: Tensor, other: Tensor) -> float:
    """Total variation between the bytes of copies (n, ...) and those of others, each copy counting alike."""
    first, second = (
        Counter(copy.numpy().tobytes() for copy in copies) for copies in (one, other)
    )
    return (first - second).total() / len(one)


def changes_by_one_step(noise: Ablation, d: int) -> list[tuple[float, float]]:
    """Total variation after 1, ..., d changed pixels, for all pairs of values: what is, and what is allowed."""
    number, found = math.comb(d, noise.k), []
    for before, after in itertools.permutations(VALUES, 2):
        copies, changed = torch.empty(2, number, 2 * d)
        noise.draw(copies, torch.full((d,), before), STREAM)
        for rho in range(1, d + 1):
            x = torch.full((d,), before)
            x[:rho] = after
            noise.draw(changed, x, STREAM)
            found.append(
                (variation(copies, changed), 1.0 - math.comb(d - rho, noise.k) / number)
            )
    return found


def test_bytes_of_all_copies_differ_by_as_much_as_is_stated() -> None:
    for k, d in ((1, 4), (2, 5), (3, 6)):
        for found, allowed in changes_by_one_step(EachSubset(k, d), d):
            assert abs(found - allowed) < 1e-12, (k, d, found, allowed)
        control = changes_by_one_step(EachSubsetByProduct(k, d), d)
        assert max(found - allowed for found, allowed in control) > 0.4, (k, d)


def test_zeros_of_either_sign_are_one_number() -> None:
    for noise, shape in (
        (Ablation(2, 5), (5,)),
        (Splitting(0.5), (5,)),
        (Splitting(0.1), (2, 3)),
    ):
        copies, others = torch.empty(2, 500, *noise.shape(shape))
        noise.draw(copies, torch.zeros(shape), STREAM)
        noise.draw(others, -torch.zeros(shape), STREAM)
        assert copies.numpy().tobytes() == others.numpy().tobytes(), noise


def test_bytes_of_all_split_copies_differ_by_as_much_as_is_stated() -> None:
    for lam in (0.5, 0.1, 1.0):
        noise, seen = Splitting(lam), {}
        number = noise.copies or 0
        for level in (0, 1, 7, 128, 254, 255):
            seen[level] = torch.empty(number, 1)
            noise.numbered(seen[level], torch.tensor([level / 255]), 0, 0)
        for one, other in itertools.combinations(seen, 2):
            expected = min(1.0, (other - one) / number)
            assert abs(variation(seen[one], seen[other]) - expected) < 1e-12, (
                lam,
                one,
                other,
            )


class ReadsSigns(nn.Module):
    """Class 1 where any number of a copy has its sign bit set, be it 0."""

    def forward(self, copies: Tensor) -> Tensor:
        numbers = copies.flatten(1)[:, : copies.shape[1] // 2]
        return nn.functional.one_hot(
            torch.signbit(numbers).any(dim=1).long(), 2
        ).float()


def changed_within(noise: Ablation, runs: int) -> int:
    """In how many runs one feature, changed from 1 to -1, gives another class within a certified radius."""
    broken = 0
    for seed in range(runs):
        smoothed = SmoothedClassifier(
            ReadsSigns().eval(), noise=noise, num_classes=2, n0=50, n=1000, seed=seed
        )
        x = torch.ones(200)
        certified = smoothed.certify(x[None])
        x[seed % 200] = -1.0
        answer = int(smoothed.predict(x[None])[0])
        broken += certified.radius[0] > 50.0 and answer not in (
            certified.predict[0],
            ABSTAIN,
        )
    return broken


def test_a_classifier_of_signs_keeps_its_class_within_the_radius() -> None:
    def count(kind: Callable[..., Ablation]) -> int:
        return changed_within(kind(2, 200), 50)

    assert count(Ablation) == 0
    assert count(ByProduct) == 50, "the control: -0.0 where a negative number is hidden"


class Float32Uniform(Uniform):
    """The control: noise of 2^24 values, added in float32."""

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        fill(out, stream, "uniform")
        out -= 0.5
        out *= 2.0 * self.lam
        out += x


class ReadsGrid(nn.Module):
    """Class 1 where a quarter of a copy's numbers, as multiples of 2^-24, are odd."""

    def forward(self, copies: Tensor) -> Tensor:
        odd = (copies.flatten(1).double() * 2**24).remainder(2.0) == 1.0
        return nn.functional.one_hot((odd.float().mean(dim=1) > 0.25).long(), 2).float()


def test_a_classifier_of_the_grid_keeps_its_class_within_the_radius() -> None:
    x = torch.full((1, 8, 8), 0.5)
    near = x + 2.0**-24

    def classes(noise: Noise) -> tuple[float, int, int]:
        smoothed = SmoothedClassifier(
            ReadsGrid().eval(), noise=noise, num_classes=2, n0=50, n=5000, seed=0
        )
        certified = smoothed.certify(x[None])
        return (
            float(certified.radius[0]),
            int(certified.predict[0]),
            int(smoothed.predict(near[None])[0]),
        )

    radius, here, there = classes(Float32Uniform(1.0))
    assert radius > 0.99 and float((near - x).abs().sum()) < 1e-5 and here != there, (
        "the control"
    )
    for noise in (Uniform(1.0), Laplace(1.0)):
        radius, here, there = classes(noise)
        assert radius > 0.99 and here == there, noise


def test_copies_lie_on_one_grid_whatever_the_input() -> None:
    rng = np.random.default_rng(0)
    for noise, width in itertools.chain(
        ((Uniform(w), w) for w in WIDTHS), ((Laplace(w), w) for w in WIDTHS)
    ):
        copies = torch.empty(200, 50)
        for scale in (1e-7, 1.0, 100.0):
            noise.draw(copies, torch.tensor(scale * rng.random(50)).float(), STREAM)
            steps = copies.double() * grid(width)
            assert torch.equal(steps, steps.round()), (noise, scale)
        assert copies.unique().numel() > 5000, noise


def test_rounding_is_finer_than_what_is_seen() -> None:
    """Many copies, of which parts are drawn together, have the law of the noise to far below a step of 8 bits."""
    for noise, law in (
        (Uniform(0.6), stats.uniform(-0.6, 1.2)),
        (Laplace(0.3), stats.laplace(0.0, 0.3)),
    ):
        copies = torch.empty(3000, 100)
        noise.draw(copies, torch.linspace(0.0, 1.0, 100), STREAM)
        offsets = (copies - torch.linspace(0.0, 1.0, 100)).double().numpy().ravel()
        assert stats.kstest(offsets, law.cdf).pvalue > 0.001, noise
        assert np.unique(copies.numpy().ravel()).size > 100_000, noise
        few = torch.empty(1400, 100)  # ends within a part
        noise.draw(few, torch.linspace(0.0, 1.0, 100), STREAM)
        assert torch.equal(few, copies[:1400]), noise


@pytest.mark.slow
def test_all_thresholds_of_splitting_in_floats_tell_a_number_apart_as_seldom_as_is_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of the 2^24 thresholds once: what is seen of two numbers differs for a share |delta| / (2 lam), to 10^-6."""
    every = torch.arange(2**24, dtype=torch.float32)[:, None] / 2**24
    monkeypatch.setattr(
        "randsmooth.noise.splitting.fill", lambda out, stream, law: out.copy_(every)
    )

    def seen(lam: float, x: float) -> Tensor:
        out = torch.empty(2**24, 1)
        Splitting(lam).draw(out, torch.tensor([x]), STREAM)
        return out.view(torch.int32)

    for lam in (0.5, 0.1, 0.3, 2.0):
        for x, delta in (
            (0.0, 1e-9),
            (0.5, 6e-8),
            (0.3, 1e-4),
            (0.7, 1 / 255),
            (0.2, 0.17),
            (0.1, 0.05),
        ):
            there = float(torch.tensor(x + delta))
            apart = there - float(torch.tensor(x))
            share = (seen(lam, x) != seen(lam, there)).double().mean().item()
            assert abs(share - apart / (2.0 * lam)) < 1e-6, (lam, x, delta, share)
