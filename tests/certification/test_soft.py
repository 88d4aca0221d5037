"""Soft certification on classifiers whose mean softmax is an integral that SciPy knows."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy import integrate, special, stats

from certification.planes import HalfSpace, at_distance, beside
from models.refusing import check_refusals
from randsmooth import ABSTAIN, SmoothedClassifier, bounds
from randsmooth.certification import certify_soft, soft_accuracies
from randsmooth.errors import BadValue, ModelFailed, UnknownName, WrongData
from randsmooth.noise import Gaussian, Stream, address_of
from values import Refusal

SIGMA = 0.5
DISTANCES = [0.02, 0.3, -0.3, 0.8, -1.5]
BETAS = (0.5, 1.0, 8.0, math.inf)


def true_mean(distance: float, beta: float) -> float:
    """E[softmax(beta f)_1] by quadrature: the logits of a half-space are -t and t, where t ~ N(distance, sigma^2)."""
    if math.isinf(beta):
        return float(stats.norm.cdf(distance / SIGMA))
    density = stats.norm(distance, SIGMA).pdf
    ends = (distance - 12 * SIGMA, distance + 12 * SIGMA)
    return float(
        integrate.quad(
            lambda t: special.expit(2 * beta * t) * density(t), *ends, limit=200
        )[0]
    )


@pytest.fixture(scope="module")
def smoothed() -> SmoothedClassifier:
    return SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, seed=0)


def test_means_are_those_of_quadrature(smoothed: SmoothedClassifier) -> None:
    n = 20_000
    soft = certify_soft(smoothed, at_distance(DISTANCES), n=n, betas=BETAS)
    assert soft.mean.shape == soft.variance.shape == (len(BETAS), len(DISTANCES), 2)
    assert soft.mean.sum(axis=-1) == pytest.approx(
        np.ones((len(BETAS), len(DISTANCES))), abs=1e-12
    )
    for mean, spread, beta in zip(
        soft.mean[..., 1], soft.variance[..., 1], BETAS, strict=True
    ):
        for image, distance in enumerate(DISTANCES):
            error = math.sqrt(spread[image] / n)
            assert abs(mean[image] - true_mean(distance, beta)) < 4.5 * error + 1e-9


def test_radii_are_those_of_the_bound(smoothed: SmoothedClassifier) -> None:
    n, alpha = 5000, 0.01
    for bound in ("bernstein", "hoeffding"):
        soft = certify_soft(
            smoothed, at_distance(DISTANCES), n=n, alpha=alpha, betas=BETAS, bound=bound
        )
        picked, both = soft.picked[..., None], (soft.mean, soft.variance)
        own, spread = (np.take_along_axis(each, picked, -1)[..., 0] for each in both)
        lower = bounds.hoeffding_lower(own, n, alpha)
        lower = (
            bounds.bernstein_lower(own, spread, n, alpha)
            if bound == "bernstein"
            else lower
        )
        assert soft.radius == pytest.approx(
            Gaussian(SIGMA).radius(1.0 - lower), abs=1e-12
        ), bound
        assert np.array_equal(
            soft.predict, np.where(soft.radius > 0.0, soft.picked, ABSTAIN)
        ), bound
        assert (
            soft.predict[0, 4] == 0
            and soft.predict[0, 3] == 1
            and soft.predict[0, 0] == ABSTAIN
        ), bound


def test_infinite_beta_is_the_hard_classifier_on_the_same_noise(
    smoothed: SmoothedClassifier,
) -> None:
    hard = smoothed.certify(at_distance(DISTANCES), n=3000)
    soft = certify_soft(smoothed, at_distance(DISTANCES), n=3000, betas=(math.inf,))
    assert np.array_equal(np.rint(soft.mean[0] * 3000), hard.counts)
    assert np.array_equal(soft.picked[0], hard.counts0.argmax(axis=1))
    assert np.allclose(
        soft.variance[0],
        bounds.sample_variance(hard.counts, hard.counts, 3000),
        atol=1e-12,
    )
    assert np.all(
        soft.radius[0] <= hard.radius
    )  # Bernstein is looser than Clopper-Pearson


def test_betting_takes_each_sample_by_its_number_and_is_recorded(
    smoothed: SmoothedClassifier,
) -> None:
    """Whatever the batches, and whichever samples share one: as if they had come one by one."""
    x, n = at_distance([0.3]), 1000
    soft = certify_soft(smoothed, x, n=n, betas=(2.0, math.inf), bound="betting")
    stream = Stream(0, "certify/estimate").at(address_of(x[0]))
    blocks = [
        torch.empty(min(128, n - start), *x.shape[1:]) for start in range(0, n, 128)
    ]
    for block, noisy in enumerate(blocks):
        Gaussian(SIGMA).draw(noisy, x[0], stream.at(block))
    scores = torch.softmax(2.0 * smoothed.model(torch.cat(blocks)).double(), dim=1)[  # type: ignore[operator]
        :, 1
    ]
    assert soft.lower[0, 0] == pytest.approx(
        float(bounds.betting_lower(scores.numpy(), 0.001)), abs=1e-6
    )
    assert soft.radius == pytest.approx(Gaussian(SIGMA).radius(1.0 - soft.lower))
    for batch in (160, 640):
        other = SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, batch=batch, seed=0)
        again = certify_soft(other, x, n=n, betas=(2.0, math.inf), bound="betting")
        assert again.lower == pytest.approx(soft.lower, abs=1e-6)
    plain = certify_soft(smoothed, x, n=n, betas=(2.0, math.inf))
    assert np.all(plain.lower < soft.lower)
    assert np.array_equal(plain.mean, soft.mean) and np.array_equal(
        plain.picked, soft.picked
    )


@pytest.mark.parametrize(
    "bound", ["bernstein", "hoeffding", pytest.param("betting", marks=pytest.mark.slow)]
)
def test_it_holds_its_level(smoothed: SmoothedClassifier, bound: str) -> None:
    """Bounds above the true mean are as rare as alpha says; without their slack, half of them are."""
    images, n, truth = 400, 300, true_mean(0.3, 2.0)
    soft = certify_soft(
        smoothed, beside(0.3, images), n0=20, n=n, alpha=0.05, betas=(2.0,), bound=bound
    )
    wrong = int(np.sum(soft.radius[0] > Gaussian(SIGMA).radius(1.0 - truth)))
    assert stats.binom.sf(wrong - 1, images, 0.05) > 1e-3
    assert 0.4 < np.mean(soft.mean[0, :, 1] > truth) < 0.6


def test_soft_accuracies_put_hard_above_soft(smoothed: SmoothedClassifier) -> None:
    distances, radii = [0.17, 0.3, 0.5, 0.7, -0.4], [0.0, 0.2, 0.4, 0.6]
    hard, soft = soft_accuracies(
        smoothed,
        at_distance(distances),
        [1, 1, 1, 1, 1],
        radii,
        betas=(1.0, 16.0),
        n=10_000,
    )
    assert list(soft) == [1.0, 16.0, math.inf]
    assert all(np.all(curve <= hard) for curve in soft.values())
    assert np.sum(soft[1.0]) < np.sum(soft[math.inf])  # a soft answer certifies less
    table = smoothed.certify(at_distance(distances), n=10_000)
    right = table.predict == 1
    assert hard.tolist() == [np.mean(right & (table.radius >= r)) for r in radii]
    assert hard.tolist() == [0.8, 0.6, 0.4, 0.2]


@pytest.mark.parametrize("betas", [(4.0, math.inf), (math.inf, 4.0)])
def test_hard_accuracy_does_not_depend_on_the_place_of_infinity(
    smoothed: SmoothedClassifier, betas: tuple[float, ...]
) -> None:
    x, labels, radii = at_distance([0.3, 0.7]), [1, 1], [0.0, 0.2, 0.4, 0.6]
    expected, _ = soft_accuracies(smoothed, x, labels, radii, betas=(4.0,), n=1000)
    hard, soft = soft_accuracies(smoothed, x, labels, radii, betas=betas, n=1000)
    assert hard.tolist() == expected.tolist() and set(soft) == {4.0, math.inf}
    assert np.sum(soft[4.0]) < np.sum(hard)  # so that the two cannot be confused


def test_what_cannot_be_is_refused(smoothed: SmoothedClassifier) -> None:
    x = at_distance([0.3])
    table: list[tuple[Callable[[], object], Refusal]] = [
        (
            lambda: certify_soft(smoothed, x, betas=(1.0, 0.0)),
            Refusal(BadValue, field="betas"),
        ),
        (
            lambda: certify_soft(smoothed, x, bound="chernoff"),
            Refusal(UnknownName, "'chernoff'", field="bound"),
        ),
        (lambda: soft_accuracies(smoothed, x, [1, 0], [0.0]), Refusal(WrongData)),
    ]
    sure = at_distance([1.7])
    for bound, least in (("bernstein", 37), ("hoeffding", 14), ("betting", 12)):
        how: dict[str, Any] = {"betas": (math.inf,), "bound": bound}
        assert certify_soft(smoothed, sure, n=least, **how).predict[0, 0] == 1
        assert certify_soft(smoothed, sure, n=least - 1, **how).predict[0, 0] == ABSTAIN
    check_refusals(table)


def test_logits_that_are_not_finite_are_refused() -> None:
    class Broken(HalfSpace):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            logits = super().forward(x)
            return torch.where(
                x.flatten(1)[:, :1] > 1.2, math.nan, logits
            )  # rarely, not in the trial

    broken, x = (
        SmoothedClassifier(Broken().eval(), sigma=SIGMA, seed=0),
        at_distance([0.0]),
    )
    check_refusals(
        [
            (
                lambda: certify_soft(broken, x, n=2000),
                Refusal(ModelFailed),
            )
        ]
    )
