"""What Amplify does from epoch to epoch: discard once, reweight now and then, attack from E_t on; and its weights."""

import io
import itertools
from typing import Any

import pytest
import torch
from scipy import stats
from torch import Tensor

from randsmooth import methods
from randsmooth.errors import Problem
from randsmooth.methods.amplify import image_weights
from randsmooth.noise import Stream

TOTAL = 40
SHARES = torch.arange(TOTAL) / (TOTAL - 1)  # p_A of each image, 0 to 1


class Probe:
    """A model that is right as often as `shares` says; `calls` lists what it was asked."""

    def __init__(self, shares: Tensor = SHARES) -> None:
        self.shares = shares
        self.calls: list[tuple[int, int, str | None]] = []

    def __call__(
        self,
        indices: Tensor,
        m: int,
        of: str | None = None,
        *,
        augmented: bool = False,
        enough: int | None = None,
    ) -> Tensor:
        self.calls.append((len(indices), m, of))
        return (self.shares[indices] * m).round().long()


def schedule(**hyper: Any) -> methods.Schedule:
    return methods.create("amplify", **{"E_t": 3, "p_t": 0.4} | hyper).schedule()


def advance(
    schedule: methods.Schedule, epochs: range, probe: Probe
) -> list[dict[str, float]]:
    return [schedule.advance(epoch, len(probe.shares), probe) for epoch in epochs]


def orders(
    schedule: methods.Schedule, epochs: range, total: int = TOTAL
) -> list[list[int]]:
    return [
        schedule.order(epoch, total, Stream(0, "train/order").at(epoch)).tolist()
        for epoch in epochs
    ]


def test_before_e_t_it_is_gaussian_training() -> None:
    amplify, probe = schedule(), Probe()
    plain = methods.create("gaussian", m=4).schedule()
    assert advance(amplify, range(3), probe) == [{}] * 3
    assert probe.calls == []
    assert [amplify.objective(epoch) for epoch in range(3)] == [
        methods.create("gaussian", m=4)
    ] * 3
    assert orders(amplify, range(3)) == orders(plain, range(3))


def test_discards_once_and_reweights_every_ten_epochs() -> None:
    amplify, probe = schedule(), Probe()
    asked, said = [], []
    for epoch in range(30):
        probe.calls.clear()
        amplify.advance(epoch, TOTAL, probe)
        asked += [(epoch, *call) for call in probe.calls]
        said += [amplify.remark] * bool(amplify.remark)
        if epoch == 3:
            probe.shares = (
                1.0 - SHARES
            )  # nobody is discarded for what the model says later
    left = int((SHARES >= 0.4).sum())
    assert said == [f"discarded {TOTAL - left} of 40 images (p_A < 0.4)"]
    advance(many := schedule(p_t=0.9), range(4), Probe())
    assert (
        "35 of 40 images (p_A < 0.9), more than half: to keep more take a smaller p_t"
        in many.remark
    )
    assert asked == [
        (3, TOTAL, 100, None),
        *((epoch, left, 16, None) for epoch in (3, 13, 23)),
    ]
    copies = [
        amplify.copies(epoch) for epoch in range(30)
    ]  # an image of p_A = 0.8 is kept after about 50
    assert copies == [{3: 50 + 16, 13: 16, 23: 16}.get(epoch, 0) for epoch in range(30)]
    often, probe = (
        schedule(discard=False, reweight_every=4, reweight_noises=20),
        Probe(),
    )
    advance(often, range(12), probe)
    assert probe.calls == [(TOTAL, 20, None)] * 3  # epochs 3, 7, 11


def test_exactly_the_images_below_the_threshold_go() -> None:
    for noises in (16, 50, 100):
        counts = torch.arange(noises + 1)
        for least in counts[
            1:
        ].tolist():  # p_t = least / noises, as a float: that share itself stays
            amplify = schedule(
                p_t=least / noises, discard_noises=noises, reweight=False
            )
            advance(amplify, range(4), Probe(counts / noises))
            assert amplify.state()["kept"].tolist() == (counts >= least).tolist(), (
                noises,
                least,
            )


PARTS = list(itertools.product([False, True], repeat=3))


def test_each_part_alone_and_any_together() -> None:
    for discard, reweight, attack in PARTS:
        amplify, probe = (
            schedule(discard=discard, reweight=reweight, attack=attack),
            Probe(),
        )
        figures = advance(amplify, range(4), probe)[-1]
        assert (amplify.state()["kept"] is not None, "discarded_share" in figures) == (
            discard,
            discard,
        )
        assert (amplify.state()["weights"] is not None, "mean_weight" in figures) == (
            reweight,
            reweight,
        )
        assert amplify.objective(3) == (
            amplify.method if attack else methods.create("gaussian", m=4)
        )
        assert len(probe.calls) == discard + reweight
        drawn = orders(amplify, range(3, 40))
        assert all(len(order) == TOTAL for order in drawn)
        seen = {image for order in drawn for image in order}
        assert seen == {
            image for image in range(TOTAL) if not discard or SHARES[image] >= 0.4
        }
        assert all(len({*order}) == TOTAL for order in drawn) == (
            not discard and not reweight
        )


def test_images_are_drawn_as_often_as_they_weigh() -> None:
    for discard in [False, True]:
        amplify = schedule(discard=discard)
        advance(amplify, range(4), Probe())
        weights = amplify.state()["weights"].numpy()
        drawn = torch.tensor(orders(amplify, range(3, 503))).flatten()
        times = torch.bincount(drawn, minlength=TOTAL).numpy()
        possible = weights > 0
        assert times[~possible].sum() == 0
        expected = times.sum() * weights[possible] / weights[possible].sum()
        assert stats.chisquare(times[possible], expected).pvalue > 0.01
        assert stats.chisquare(times[possible]).pvalue < 1e-6  # and not all alike


def test_a_resumed_schedule_goes_on_the_same() -> None:
    hypers = [
        dict(zip(("discard", "reweight", "attack"), parts, strict=True))
        for parts in PARTS
    ]
    # Epochs finished: before E_t, just after it, later, after a second reweighting.
    for hyper, stopped in itertools.product(hypers, (2, 4, 8, 14)):
        whole, probe = schedule(**hyper), Probe()
        advance(whole, range(stopped), probe)
        buffer = io.BytesIO()
        torch.save(whole.state(), buffer)
        buffer.seek(0)
        resumed, fresh = schedule(**hyper), Probe()
        resumed.restore(torch.load(buffer, weights_only=True), TOTAL)
        probe.shares = fresh.shares = 1.0 - SHARES / 2
        probe.calls.clear()
        for epoch in range(stopped, 20):
            assert resumed.advance(epoch, TOTAL, fresh) == whole.advance(
                epoch, TOTAL, probe
            )
            assert orders(resumed, range(epoch, epoch + 1)) == orders(
                whole, range(epoch, epoch + 1)
            )
            assert resumed.objective(epoch) == whole.objective(epoch)
        assert fresh.calls == probe.calls


def test_discarding_every_image_is_refused() -> None:
    with pytest.raises(Problem, match=r"p_t=0.4 .* 4 images"):
        advance(schedule(), range(4), Probe(torch.tensor([0.05, 0.15, 0.25, 0.35])))


def test_with_replacement_it_draws_what_is_left_evenly() -> None:
    for discard in [False, True]:
        amplify = schedule(discard=discard, reweight=False, with_replacement=True)
        before = orders(amplify, range(3))
        advance(amplify, range(4), Probe())
        after = torch.tensor(orders(amplify, range(3, 203)))
        assert all(
            sorted(order) == list(range(TOTAL)) for order in before
        )  # before E_t in turns
        left = SHARES >= 0.4 if discard else torch.ones(TOTAL, dtype=torch.bool)
        times = torch.bincount(after.flatten(), minlength=TOTAL)
        assert after.shape == (200, TOTAL) and times[~left].sum() == 0
        assert stats.chisquare(times[left].numpy()).pvalue > 0.01


# --- the sampling weights of Sun et al. 2025, section 5.2 -----------------------------------------------------------

ALL = torch.arange(17)  # every count of 16 noises


def bound(count: int, noises: int, alpha: float) -> float:
    """One-sided Clopper-Pearson, from SciPy."""
    return (
        0.0 if count == 0 else float(stats.beta.ppf(alpha, count, noises - count + 1))
    )


def weights(counts: torch.Tensor, **hyper: object) -> torch.Tensor:
    return image_weights(methods.create("amplify", **hyper), counts)  # type: ignore[arg-type]


def test_the_published_setting() -> None:
    found = weights(ALL)
    assert found.dtype == torch.float64
    assert found[:13].tolist() == [1.0] * 13
    assert found[13:].tolist() == pytest.approx([2.138, 3.420, 4.976, 7.206], abs=5e-4)


def test_the_formula() -> None:
    for weight, alpha in itertools.product(("bound", "literal"), (0.05, 0.1, 0.2)):
        least = 0.75 if weight == "literal" else bound(12, 16, alpha)
        expected = [
            max(1.0, stats.norm.ppf(bound(c, 16, alpha)) / stats.norm.ppf(least))
            for c in range(17)
        ]
        assert weights(
            ALL, weight=weight, reweight_alpha=alpha
        ).tolist() == pytest.approx(expected, rel=1e-12)


# 0.55 * 100 is 55.00000000000001 and 0.58 * 100 is 57.99999999999999 in floating point.
LEAST = [
    (0.75, 16, 12),
    (0.76, 16, 13),
    (0.7, 10, 7),
    (0.55, 100, 55),
    (0.56, 100, 56),
    (0.58, 100, 58),
    (1.0, 16, 16),
]


def test_the_smallest_count_that_weighs_is_exact() -> None:
    for p_min, noises, least in LEAST:
        found = weights(
            torch.arange(noises + 1),
            p_min=p_min,
            reweight_noises=noises,
            reweight_alpha=0.3,
        )
        assert found[: least + 1].tolist() == [1.0] * (least + 1), (p_min, noises)
        assert bool((found[least + 1 :] > 1.0).all()), (p_min, noises)
