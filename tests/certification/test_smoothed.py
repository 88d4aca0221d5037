"""CERTIFY and PREDICT on classifiers whose smoothed answer is known exactly."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from certification.planes import HalfSpace, at_distance, beside
from models.refusing import check_refusals
from randsmooth import ABSTAIN, SmoothedClassifier, bounds
from randsmooth.certificates import CertificationSettings
from randsmooth.certification import certify_soft, smoothed, watch
from randsmooth.errors import (
    BadValue,
    ModelFailed,
    TooFewSamples,
    WrongData,
    WrongModel,
)
from randsmooth.noise import Gaussian
from randsmooth.rules import Claim
from values import Refusal

SIGMA = 0.5
DISTANCES = [0.02, 0.1, 0.3, -0.3, 0.8, -1.5]


def smooth(model: nn.Module, **fields: Any) -> SmoothedClassifier:
    return SmoothedClassifier(model.eval(), **{"sigma": SIGMA, "seed": 0} | fields)


def test_radii_stay_below_the_true_distance_and_come_near() -> None:
    certified = smooth(HalfSpace()).certify(at_distance(DISTANCES), n0=1000, n=20_000)
    found = zip(
        DISTANCES, certified.predict, certified.radius, certified.counts, strict=True
    )
    for distance, predict, radius, counts in found:
        assert (
            stats.binomtest(
                int(counts[1]), 20_000, stats.norm.cdf(distance / SIGMA)
            ).pvalue
            > 1e-4
        )
        if predict == ABSTAIN:
            assert (radius, abs(distance)) == (0.0, 0.02)
            continue
        assert predict == (distance > 0)
        assert abs(distance) - 0.15 < radius < abs(distance)


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
    assert smooth(HalfSpace()).predict(
        at_distance([1.0, -1.0, 0.0]), n=1000
    ).tolist() == [1, 0, ABSTAIN]
    assert smooth(Constant(3)).predict(at_distance([0.0]), n=100).tolist() == [3]
    constant, x = smooth(Constant(3)), at_distance([0.0])
    for alpha, n in ((0.5, 2), (0.05, 6), (0.001, 11)):
        assert constant.predict(x, n, alpha).tolist() == [3]
        check_refusals(
            [
                (
                    partial(constant.predict, x, n - 1, alpha),
                    Refusal(TooFewSamples, str(n)),
                )
            ]
        )


IMAGE = torch.full((1, 3, 2, 2), 0.5)
WITH_NAN = IMAGE.clone().index_fill_(3, torch.tensor(0), float("nan"))


def test_what_cannot_be_certified_is_refused() -> None:
    plane = smooth(HalfSpace())
    flat = nn.Sequential(nn.Flatten(), nn.Linear(12, 2))
    training = nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(12, 2)).eval()
    training[1].train()
    no_settings: Any = 0.5

    def plain(**how: Any) -> object:
        return plane.certify(IMAGE, **how)

    rows: list[tuple[Callable[[], object], Refusal]] = [
        (lambda: plane.certify(IMAGE + 1), Refusal(WrongData, "[0, 1]")),
        (lambda: plane.certify(WITH_NAN), Refusal(WrongData)),
        (
            lambda: plane.certify((IMAGE * 255).to(torch.uint8)),
            Refusal(WrongData, "float"),
        ),
        (lambda: plane.certify(IMAGE.numpy()), Refusal(WrongData)),
        (lambda: plain(n=9), Refusal(TooFewSamples, ">= 10", "n=9")),
        (lambda: plain(n0=0, rule="grid"), Refusal(BadValue, "n0=0")),
        (
            lambda: plane.predict(IMAGE, n=10, alpha=0.001),
            Refusal(TooFewSamples, ">= 11", "n=10"),
        ),
        (
            lambda: SmoothedClassifier(training, sigma=SIGMA),
            Refusal(WrongModel, "model.eval()"),
        ),
        (
            lambda: smooth(flat).certify(torch.rand(2, 1, 4, 4), n=100),
            Refusal(ModelFailed, "(1, 4, 4)"),
        ),
        (lambda: next(watch(plane, IMAGE.repeat(2, 1, 1, 1))), Refusal(BadValue)),
        (
            lambda: next(watch(plane, IMAGE, rule="radius=0.5", n0=0)),
            Refusal(BadValue, "n0=0"),
        ),
        (
            lambda: plain(n=5000, rule="fixed", until=lambda claim, samples: True),
            Refusal(BadValue),
        ),
        (lambda: plain(sigma=0.125), Refusal(BadValue, "sigma=0.125")),
        (lambda: plain(label_aware=True), Refusal(BadValue, "label_aware=True")),
        (
            lambda: SmoothedClassifier(HalfSpace().eval(), no_settings),
            Refusal(BadValue, "settings=0.5", field="settings"),
        ),
        *(
            (
                partial(smooth, HalfSpace(), sigma=sigma),
                Refusal(BadValue, f"sigma={sigma!r}", field="sigma"),
            )
            for sigma in (0.0, float("nan"), "a")
        ),
    ]
    check_refusals(rows)


def test_one_may_stop_at_any_look() -> None:
    smoothed, x = smooth(HalfSpace()), at_distance(DISTANCES)
    asked: list[int] = []

    def enough(claim: Claim, samples: int) -> bool:
        asked.append(samples)
        return claim.radius > 0.2

    stopped = smoothed.certify(x, n=5000, rule="anytime", until=enough)
    whole = smoothed.certify(x, n=5000, rule="anytime")
    assert stopped.counts.sum() < whole.counts.sum()
    assert all(
        s.tolist() == w[: len(s)].tolist()
        for s, w in zip(stopped.paths, whole.paths, strict=True)
    )
    assert asked and np.all(stopped.radius <= whole.radius)
    assert stopped.radius[2] > 0.2


def test_settings_or_keywords() -> None:
    settings, x = (
        CertificationSettings(sigma=SIGMA, n=500, seed=0),
        at_distance(DISTANCES),
    )
    model = HalfSpace().eval()
    by_object = SmoothedClassifier(model, settings).certify(x)
    by_keywords = SmoothedClassifier(model, sigma=SIGMA, seed=0).certify(x, n=500)
    assert np.array_equal(by_object.counts, by_keywords.counts)
    changed = SmoothedClassifier(model, settings, n=200).certify(
        x, settings.replace(n=300, seed=None)
    )
    assert changed.counts.sum() == 300 * len(x)
    written: Any = 1e3  # as in YAML
    one = SmoothedClassifier(model, settings, n=written).certify(x[0])
    assert one.counts.sum() == 1000 and len(one.radius) == 1


def test_every_call_has_noise_of_its_own_unless_a_seed_is_given() -> None:
    classifier, x = (
        SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, n=500),
        beside(0.1, 6),
    )
    first, second = classifier.certify(x), classifier.certify(x)
    assert (
        classifier.seed is None
        and first.seed != second.seed
        and not np.array_equal(first.counts, second.counts)
    )
    again = SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, n=500, seed=first.seed)
    assert all(np.array_equal(again.certify(x).counts, first.counts) for _ in range(2))
    near = at_distance([0.02])  # so near that PREDICT abstains about half of the time
    assert (
        len({int(classifier.predict(near, n=500, alpha=0.3)[0]) for _ in range(40)}) > 1
    )
    soft, other = (certify_soft(classifier, x, n=500).mean for _ in range(2))
    looks = [list(watch(classifier, x[:1]))[-1].counts for _ in range(8)]
    assert (
        not np.array_equal(soft, other) and len({tuple(counts) for counts in looks}) > 1
    )


@pytest.mark.slow
def test_what_a_search_found_is_not_found_again_without_a_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of images just outside of a radius alpha are certified falsely; asked about again, alpha of those, or all."""
    monkeypatch.setattr(smoothed, "fresh_seed", iter(range(24, 34)).__next__)
    n, alpha, images = 60, 0.01, 4000
    distance = float(Gaussian(SIGMA).radius(bounds.q_upper(45, n, alpha))) - 1e-4
    x = beside(distance, images, step=2.0**-16)
    for seed, again in ((None, 0.1), (0, 1.0)):
        classifier = SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, seed=seed)
        found = x[classifier.certify(x, n0=51, n=n, alpha=alpha).radius > distance]
        assert 10 < len(found) <= stats.binom.isf(1e-4, images, alpha)
        share = np.mean(
            classifier.certify(found, n0=51, n=n, alpha=alpha).radius > distance
        )
        assert share <= again if seed is None else share == again


def test_the_last_look_is_the_certificate_and_the_others_lead_to_it() -> None:
    x = at_distance([0.6])
    for how in (
        {"rule": "grid"},
        {"rule": "fixed", "bound": "randomised"},
        {"rule": "anytime"},
    ):
        smoothed = smooth(HalfSpace(), n=3000, seed=1, **how)
        whole, looks = smoothed.certify(x), list(watch(smoothed, x))
        last = looks[-1]
        assert (last.predict, last.radius) == (whole.predict[0], whole.radius[0]), how
        assert np.array_equal(last.counts, whole.counts[0]) and np.array_equal(
            last.counts0, whole.counts0[0]
        ), how
        assert [look.counts[look.picked] for look in looks] == whole.paths[
            0
        ].tolist(), how
        assert all(
            np.all(now.counts <= then.counts) for now, then in itertools.pairwise(looks)
        ), how
    assert (
        all(now.radius <= then.radius for now, then in itertools.pairwise(looks))
        and len(looks) > 20
    )
    stopped = smoothed.certify(x, until=lambda claim, drawn: drawn >= looks[9].samples)
    assert stopped.radius[0] == looks[9].radius  # anytime: what was proved stays proved
