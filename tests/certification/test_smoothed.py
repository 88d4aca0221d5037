"""CERTIFY and PREDICT on classifiers whose smoothed answer is known exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from certification.planes import HalfSpace, at_distance, beside
from randsmooth import ABSTAIN, SmoothedClassifier, bounds
from randsmooth.certificates import CertificationSettings
from randsmooth.certification import certify_soft, smoothed, watch
from randsmooth.certification.smoothed import smallest_predict_n
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian
from randsmooth.rules import Claim

SIGMA = 0.5
DISTANCES = [0.02, 0.1, 0.3, -0.3, 0.8, -1.5]


def smooth(model: nn.Module, **fields: Any) -> SmoothedClassifier:
    return SmoothedClassifier(model.eval(), **{"sigma": SIGMA, "seed": 0} | fields)


def test_radii_stay_below_the_true_distance_and_come_near() -> None:
    certified = smooth(HalfSpace()).certify(at_distance(DISTANCES), n0=1000, n=20_000)
    for distance, predict, radius in zip(DISTANCES, certified.predict, certified.radius, strict=True):
        if predict == ABSTAIN:
            assert (radius, abs(distance)) == (0.0, 0.02)
            continue
        assert predict == (distance > 0)
        assert abs(distance) - 0.15 < radius < abs(distance)


def test_the_counts_are_binomial() -> None:
    certified = smooth(HalfSpace()).certify(at_distance(DISTANCES), n=20_000)
    for distance, counts in zip(DISTANCES, certified.counts, strict=True):
        p = stats.norm.cdf(distance / SIGMA)
        assert counts.sum() == 20_000
        assert stats.binomtest(int(counts[1]), 20_000, p).pvalue > 1e-4


def test_certify_holds_its_level() -> None:
    """At alpha = 0.05 fewer than 5% of radii pass the true distance, beyond what chance allows."""
    images = 400
    smoothed = smooth(HalfSpace())
    certified = smoothed.certify(beside(0.25, images), n0=20, n=200, alpha=0.05)
    failures = int((certified.radius > 0.25).sum())
    assert stats.binom.sf(failures - 1, images, 0.05) > 1e-3
    assert failures > 0  # a bound that never fails would be needlessly loose


def test_a_certain_answer_certifies_the_largest_radius() -> None:
    corner = smooth(HalfSpace()).certify(at_distance([50.0]).clamp(0, 1), n=1000)
    assert corner.radius[0] < 1.8  # the corner (1, ..., 1) lies at sqrt(12) / 2 = 1.73
    sure = smooth(Constant(2)).certify(at_distance([0.0]), n=1000)
    assert sure.radius[0] == Gaussian(SIGMA).largest_radius(1000, 0.001)


class Constant(nn.Module):
    def __init__(self, answer: int) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.eye(5)[self.answer].expand(len(x), -1)


def test_predict_answers_or_abstains() -> None:
    assert smooth(HalfSpace()).predict(at_distance([1.0, -1.0, 0.0]), n=1000).tolist() == [1, 0, ABSTAIN]
    assert smooth(Constant(3)).predict(at_distance([0.0]), n=100).tolist() == [3]
    for alpha in (0.5, 0.05, 0.001):
        n = smallest_predict_n(alpha)
        assert bounds.two_sided_p_value(n, n) <= alpha < bounds.two_sided_p_value(n - 1, n - 1)


def test_one_image_is_a_batch_of_one_and_a_round_number_may_be_a_float() -> None:
    one, batch = (
        smooth(HalfSpace()).certify(at_distance([0.4])[0], n=1e3),
        smooth(HalfSpace()).certify(at_distance([0.4]), n=1000),
    )
    assert np.array_equal(one.counts, batch.counts)


def test_bf16_certifies_the_bf16_classifier() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 2)).eval()
    x = torch.rand(1, 3, 2, 2)
    coarse = smooth(model, precision="bf16").certify(x, n=5000)
    rounded = smooth(model.to(torch.bfloat16), precision="bf16").certify(x, n=5000)
    assert np.array_equal(coarse.counts, rounded.counts)


IMAGE = torch.full((1, 3, 2, 2), 0.5)
WITH_NAN = IMAGE.clone().index_fill_(3, torch.tensor(0), float("nan"))


def test_what_cannot_be_certified_is_refused() -> None:
    plane = smooth(HalfSpace())
    flat, one_logit = (nn.Sequential(nn.Flatten(), nn.Linear(12, K)) for K in (2, 1))
    training = nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(12, 2)).eval()
    training[1].train()
    table: list[tuple[str, Callable[[], object]]] = [
        ("[0, 1]", lambda: plane.certify(IMAGE + 1)),
        ("[0, 1]", lambda: plane.certify(IMAGE - 1)),
        ("image 0", lambda: plane.certify(WITH_NAN)),
        ("float", lambda: plane.certify((IMAGE * 255).to(torch.uint8))),
        ("(B, C, H, W)", lambda: plane.certify(IMAGE[0, 0])),
        ("alpha=0.0", lambda: plane.certify(IMAGE, alpha=0.0)),
        ("alpha=1.0", lambda: plane.certify(IMAGE, alpha=1.0)),
        ("alpha='x'", lambda: plane.certify(IMAGE, alpha="x")),
        ("n >= 10 to certify anything; got n=9", lambda: plane.certify(IMAGE, n=9)),
        ("n0=-1", lambda: plane.certify(IMAGE, n0=-1)),
        ("n0=0", lambda: plane.certify(IMAGE, n0=0, rule="grid")),
        ("no image given", lambda: plane.certify(IMAGE[:0])),
        ("ndarray; expected a tensor", lambda: plane.certify(IMAGE.numpy())),  # type: ignore[arg-type]
        ("n=100.5 must be a whole number", lambda: plane.certify(IMAGE, n=100.5)),
        ("n0='many'", lambda: plane.certify(IMAGE, n0="many")),
        ("n >= 11 to predict anything; got n=10", lambda: plane.predict(IMAGE, n=10, alpha=0.001)),
        ("alpha=-1.0", lambda: plane.predict(IMAGE, alpha=-1.0)),
        ("expected a torch.nn.Module", lambda: SmoothedClassifier(3, sigma=SIGMA)),
        ("device='gpu'", lambda: smooth(HalfSpace(), device="gpu")),
        ("unknown precision 32.5", lambda: smooth(HalfSpace(), precision=32.5)),
        ("seed='x' must be a whole number", lambda: smooth(HalfSpace(), seed="x")),
        ("refuses images of shape (1, 4, 4)", lambda: smooth(flat).certify(torch.rand(2, 1, 4, 4), n=100)),
        ("K >= 2", lambda: smooth(one_logit).certify(IMAGE, n=100)),
        ("1 is in train mode", lambda: SmoothedClassifier(training, sigma=SIGMA)),
        ("model.eval()", lambda: SmoothedClassifier(training, sigma=SIGMA)),
        *[
            (f"sigma={sigma!r}", lambda sigma=sigma: smooth(HalfSpace(), sigma=sigma))
            for sigma in (0.0, -0.5, float("nan"), float("inf"), "a", None)
        ],
    ]
    for said, refused in table:
        with pytest.raises(InputError) as error:
            refused()
        assert said in str(error.value), said


def test_one_may_stop_at_any_look() -> None:
    smoothed, x = smooth(HalfSpace()), at_distance(DISTANCES)
    asked: list[int] = []

    def enough(claim: Claim, samples: int) -> bool:
        asked.append(samples)
        return claim.radius > 0.2

    stopped = smoothed.certify(x, n=5000, rule="anytime", until=enough)
    whole = smoothed.certify(x, n=5000, rule="anytime")
    assert stopped.counts.sum() < whole.counts.sum()
    assert all(s.tolist() == w[: len(s)].tolist() for s, w in zip(stopped.paths, whole.paths, strict=True))
    assert asked and np.all(stopped.radius <= whole.radius)
    assert stopped.radius[2] > 0.2
    with pytest.raises(InputError, match="decides once"):
        smoothed.certify(x, n=5000, rule="fixed", until=enough)
    with pytest.raises(InputError, match="until=3 must be a function"):
        smoothed.certify(x, n=5000, rule="anytime", until=3)  # type: ignore[arg-type]


def test_settings_or_keywords() -> None:
    settings, x = CertificationSettings(sigma=SIGMA, n=500, seed=0), at_distance(DISTANCES)
    model = HalfSpace().eval()
    by_object = SmoothedClassifier(model, settings).certify(x)
    by_keywords = SmoothedClassifier(model, sigma=SIGMA, seed=0).certify(x, n=500)
    assert np.array_equal(by_object.counts, by_keywords.counts)
    changed = SmoothedClassifier(model, settings, n=200).certify(x, settings.replace(n=300, seed=None))
    assert changed.counts.sum() == 300 * len(x)
    with pytest.raises(InputError, match=r"sigma=0\.125 is not this classifier's"):
        SmoothedClassifier(model, settings).certify(x, sigma=0.125)
    with pytest.raises(InputError, match="label_aware=True needs labels"):
        SmoothedClassifier(model, settings).certify(x, label_aware=True)
    with pytest.raises(InputError, match=r"settings=0\.5 is a float; expected CertificationSettings"):
        SmoothedClassifier(model, 0.5)  # type: ignore[arg-type]


def test_every_call_has_noise_of_its_own_unless_a_seed_is_given() -> None:
    classifier, x = SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, n=500), at_distance([0.1] * 3)
    first, second = classifier.certify(x), classifier.certify(x)
    assert classifier.seed is None and first.seed != second.seed and not np.array_equal(first.counts, second.counts)
    again = SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, n=500, seed=first.seed)
    assert all(np.array_equal(again.certify(x).counts, first.counts) for _ in range(2))
    near = at_distance([0.02])  # so near that PREDICT abstains about half of the time
    assert len({int(classifier.predict(near, n=500, alpha=0.3)[0]) for _ in range(40)}) > 1
    soft, other = (certify_soft(classifier, x, n=500).mean for _ in range(2))
    looks = [list(watch(classifier, x[:1]))[-1].counts for _ in range(8)]
    assert not np.array_equal(soft, other) and len({tuple(counts) for counts in looks}) > 1


@pytest.mark.slow
def test_what_a_search_found_is_not_found_again_without_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of images just outside of a radius alpha are certified falsely; asked about again, alpha of those, or all."""
    monkeypatch.setattr(smoothed, "fresh_seed", iter(range(24, 34)).__next__)
    n, alpha, images = 60, 0.01, 4000
    distance = float(Gaussian(SIGMA).radius(bounds.q_upper(45, n, alpha))) - 1e-4
    x, step = at_distance([distance]).repeat(images, 1, 1, 1), torch.arange(images) / 2**16
    x[:, 0, 0, 0] += step
    x[:, 2, 1, 1] -= step
    for seed, again in ((None, 0.1), (0, 1.0)):
        classifier = SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, seed=seed)
        found = x[classifier.certify(x, n0=51, n=n, alpha=alpha).radius > distance]
        assert 10 < len(found) <= stats.binom.isf(1e-4, images, alpha)
        share = np.mean(classifier.certify(found, n0=51, n=n, alpha=alpha).radius > distance)
        assert share <= again if seed is None else share == again
