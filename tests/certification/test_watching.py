"""A certificate watched look by look is the certificate."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from certification.half_spaces import IMAGES, SIGMA, HalfSpace
from randsmooth import InputError, SmoothedClassifier
from randsmooth.certification import watch


@pytest.mark.parametrize(
    "how", [{"rule": "anytime"}, {"rule": "grid"}, {"rule": "fixed"}, {"rule": "fixed", "bound": "randomised"}]
)
def test_the_last_look_is_the_certificate_and_the_others_lead_to_it(how: dict[str, str]) -> None:
    smoothed = SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, n=3000, seed=1, **how)  # type: ignore[arg-type]
    (x,), _ = IMAGES.batch(torch.tensor([0]))
    whole, looks = smoothed.certify(x), list(watch(smoothed, x))
    last = looks[-1]
    assert (last.predict, last.radius) == (whole.predict[0], whole.radius[0])
    assert np.array_equal(last.counts, whole.counts[0]) and np.array_equal(last.counts0, whole.counts0[0])
    assert np.array_equal(last.path, whole.paths[0])
    assert all(now.samples < then.samples for now, then in itertools.pairwise(looks))
    assert all(np.all(now.counts <= then.counts) for now, then in itertools.pairwise(looks))
    if how["rule"] == "anytime":  # what was proved stays proved
        assert all(now.radius <= then.radius for now, then in itertools.pairwise(looks)) and len(looks) > 20
        stopped = smoothed.certify(x, until=lambda claim, drawn: drawn >= looks[9].samples)
        assert stopped.radius[0] == looks[9].radius


def test_one_image_and_a_class_that_samples_pick_are_asked_for() -> None:
    smoothed = SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, n=1000)
    with pytest.raises(InputError, match="one image"):
        next(watch(smoothed, torch.zeros(2, 1, 8, 8)))
    with pytest.raises(InputError, match="n0=0"):
        next(watch(smoothed, torch.zeros(1, 8, 8), rule="radius=0.5", n0=0))
