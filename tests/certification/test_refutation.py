"""The attack on certificates: half-spaces, whose smoothed radius is known exactly, then digits and MNIST."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from certification.half_spaces import IMAGES, SIGMA, SIGNED, HalfSpace, around_the_plane, true_table
from randsmooth import ABSTAIN, InputError, SmoothedClassifier, data, models, train
from randsmooth import certify as certify_dataset
from randsmooth.attacks import within_ball
from randsmooth.certification import attack
from randsmooth.certification.refutation import distance, inside, predict_anywhere


def test_half_spaces_hold_inside_of_their_radius_and_change_outside_and_forged_radii_fail() -> None:
    for gain, restarts in itertools.product((1.0, 1000.0), (1, 3)):  # at 1000 the probabilities round to 0 and 1
        model = HalfSpace(gain).eval()
        true = true_table(model)
        held = attack(model, true, IMAGES, scale=0.99, restarts=restarts)
        assert not held.changed.any() and (held.distance > 0.985 * held.radius).all()  # it went as far as it might
        outside = attack(model, true, IMAGES, scale=1.1, restarts=restarts)
        assert outside.changed.all() and not outside.failed.any()
        assert (outside.distance > outside.radius).all() and (outside.distance < 1.1 * outside.radius).all()
        assert outside.predict.tolist() == (1 - outside.certified).tolist()
        forged = attack(model, replace(true, radius=2 * true.radius), IMAGES, restarts=restarts)
        assert forged.failed.all()
        assert (forged.distance < forged.radius).all() and (forged.distance > true.radius).all()


def test_a_step_that_does_not_climb_would_be_seen() -> None:
    """A control on the test above: points of the same length in other directions change nothing."""
    model = HalfSpace().eval()
    engine = SmoothedClassifier(model, sigma=SIGMA, seed=0).engine
    x, y = IMAGES.batch(torch.arange(len(IMAGES)))
    random = torch.randn(x.shape, generator=torch.Generator().manual_seed(2))
    points = x + within_ball(1000 * random, 1.0) * 1.1 * torch.tensor(np.abs(SIGNED)).float().view(-1, 1, 1, 1)
    told = [predict_anywhere(engine, point, 10_000, 0.001) for point in points]
    assert told == y.tolist()


def test_beyond_the_radius_a_change_within_it_still_fails() -> None:
    model = HalfSpace().eval()
    true = true_table(model)
    forged = replace(true, radius=np.where(true.idx == 0, 3 * true.radius, 0.5 * true.radius))
    found = attack(model, forged, IMAGES, scale=2.5, steps=3, m=8)
    assert found.changed[0] and (found.distance[0] > found.radius[0]) and not found.failed[0]
    nearer = replace(found, distance=found.radius)
    assert nearer.failed.tolist() == found.changed.tolist()


def test_on_the_plane_it_abstains() -> None:
    model = HalfSpace().eval()
    found = attack(model, true_table(model), IMAGES, scale=1.0, n=1000)
    assert found.abstained.all() and not found.changed.any()
    assert (found.predict == ABSTAIN).all()


@pytest.mark.slow
def test_any_change_told_is_wrong_with_probability_alpha_over_all_images() -> None:
    """On the plane, where the classes are even; judged at alpha each, as a control, far too many changes are told."""
    alpha, runs, images = 0.2, 40, around_the_plane([0.6] * 20)
    model = HalfSpace().eval()
    table = true_table(model, images)
    alarms = careless = 0
    for seed in range(runs):
        found = attack(model, table, images[0], steps=1, m=1, n=100, alpha=alpha, seed=seed)
        engine = SmoothedClassifier(model, sigma=SIGMA, seed=seed).engine
        points = map(torch.from_numpy, found.points)
        each = [predict_anywhere(engine, point, 100, alpha) for point in points]
        alarms += int(found.failed.any())
        careless += 0 in each  # all are certified as class 1
    most = stats.binom.ppf(0.999, runs, alpha)
    assert 0 < alarms <= most < careless


def test_an_image_is_attacked_alike_alone_and_among_others() -> None:
    model = HalfSpace().eval()
    table = true_table(model)
    whole, again = (attack(model, table, IMAGES, steps=2, m=3, restarts=2, n=500) for _ in range(2))
    some = attack(model, table, IMAGES, steps=2, m=3, restarts=2, n=500, take=2)
    other = attack(model, table, IMAGES, steps=2, m=3, restarts=2, n=500, seed=1)
    assert np.array_equal(whole.points, again.points) and np.array_equal(whole.predict, again.predict)
    assert some.idx.tolist() == [0, 2]
    assert np.array_equal(some.points, whole.points[[0, 2]])
    assert not np.array_equal(whole.points, other.points)


def exact_square(a: np.ndarray, b: np.ndarray) -> Fraction:
    """The squared distance of float32 arrays, in rational numbers."""
    return sum(
        ((Fraction(float(p)) - Fraction(float(q))) ** 2 for p, q in zip(a.flat, b.flat, strict=True)), Fraction()
    )


def test_points_lie_strictly_inside_by_exact_arithmetic() -> None:
    rng, naive_leaves = torch.Generator().manual_seed(3), 0
    for eps in (1e-9, 1e-6, 1e-3, 0.1, 1.0, 3.0):
        for _ in range(20):
            x, v = torch.rand((3, 8, 8), generator=rng), torch.randn((3, 8, 8), generator=rng)
            far = x + (2 * eps / v.norm()) * v
            near = inside(far, x, eps)
            assert near.dtype == torch.float32 and exact_square(near.numpy(), x.numpy()) < Fraction(eps) ** 2
            assert distance(near, x) > (1 - 1e-5) * eps or eps < 0.1
            naive = x + within_ball((far - x)[None], eps)[0]
            naive_leaves += exact_square(naive.numpy(), x.numpy()) > Fraction(eps) ** 2
    assert naive_leaves > 0
    assert torch.equal(inside(x + 0.01, x, 1.0), x + 0.01) and torch.equal(inside(x, x, 1.0), x)


class ByType(HalfSpace):
    """Class 1 to whatever comes in another type than float32."""

    def forward(self, x: Tensor) -> Tensor:
        if x.dtype != torch.float32:
            return torch.tensor([0.0, 1.0], dtype=x.dtype).expand(len(x), 2)
        return super().forward(x)


def test_the_certified_precision_is_attacked() -> None:
    model = ByType().eval()
    for precision, alike in (("float32 (TF32 convolutions)", True), ("bfloat16, batch 9", False)):
        found = attack(model, true_table(model, precision=precision), IMAGES, scale=0.5, n=500)
        assert (found.predict == found.certified).all() == alike
        assert alike or (found.predict == 1).all()


def test_the_model_is_as_it_was() -> None:
    model = HalfSpace().eval()
    model.bias = nn.Parameter(torch.zeros(1))
    before = models.weights_hash(model)
    attack(model, true_table(model), IMAGES, steps=1, m=2, n=100)
    assert models.weights_hash(model) == before
    assert model.bias.requires_grad and model.bias.grad is None


class Detached(HalfSpace):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.detach())


class Broken(HalfSpace):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward((x - x).sqrt() + x)


OTHER = HalfSpace().eval()
OTHER.w = -OTHER.w


def test_what_cannot_be_attacked_is_refused() -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("scale=0.0 must be a finite number above 0", {"scale": 0.0}),
        ("scale=nan", {"scale": float("nan")}),
        ("scale=inf", {"scale": float("inf")}),
        ("steps=0 must be at least 1", {"steps": 0}),
        ("m=0", {"m": 0}),
        ("restarts=0", {"restarts": 0}),
        ("alpha=0.001 over 5 images is 0.0002 for each, which needs n >= 14 to predict any class; got n=10", {"n": 10}),
        ("n=100.5 must be a whole number", {"n": 100.5}),
        ("alpha=0.0", {"alpha": 0.0}),
        ("cannot take 6 of the 5 images", {"take": 6}),
        ("cannot take 0", {"take": 0}),
        ("auto, cpu, cuda or", {"device": "tpu"}),
        ("true names the data set 'half-spaces', and a folder", {"images": None}),
        ("mnist", {"images": "mnits"}),
        ("true is about another model: weights 'sha256:", {"model": OTHER}),
        ("the function abs, whose code cannot be compared", {"model": abs}),
        ("gradient with respect to the image is NaN", {"model": Broken().eval()}),
        ("train mode", {"model": HalfSpace().train()}),
        ("true does not say its sigma (a TSV log", {"facts": {"sigma": None}}),
        ("does not say its model's weights", {"facts": {"model": None}}),
        ("does not say its model's weights", {"facts": {"model": {"lr": 1}}}),
        ("tensorrt", {"facts": {"backend": "tensorrt"}}),
        ("does not say its precision", {"facts": {"precision": None}}),
        ("float32", {"facts": {"precision": "int8, batches of 9"}}),
        ("true does not name its dataset", {"facts": {"dataset": None}, "images": None}),
        ("true does not name its split", {"facts": {"split": None}, "images": None}),
        ("rounds its input to the grid", {"facts": {"sound": True}}),
        ("true certifies none of its 5 images", {"rows": {"predict": np.full(5, ABSTAIN)}}),
        ("true certifies none", {"rows": {"radius": np.zeros(5)}}),
        ("true has an image 5; half-spaces (test) has 5 images", {"rows": {"idx": np.arange(5) + 1}}),
        ("half-spaces (test) does not hold the images of true", {"facts": {"data": "sha256:0"}}),
    ]
    for said, case in cases:
        given = dict[str, Any](images=IMAGES, model=HalfSpace().eval()) | case
        table = replace(true_table(HalfSpace(), **given.pop("facts", {})), **given.pop("rows", {}))
        with pytest.raises(InputError) as error:
            attack(given.pop("model"), table, given.pop("images"), **given)
        assert said in str(error.value), said


def test_another_normalisation_is_another_model() -> None:
    def digits(mean: float) -> nn.Module:
        torch.manual_seed(0)
        classes = [str(i) for i in range(10)]
        return models.Classifier(arch="small-cnn", classes=classes, shape=[1, 8, 8], mean=[mean], std=[1.0]).eval()

    told = {"weights": models.weights_hash(digits(0.5)), "mean": [0.5], "std": [1.0]}
    with pytest.raises(InputError, match=r"mean \[0.5\] in the file, \[0.25\] asked for"):
        attack(digits(0.25), true_table(HalfSpace(), model=told), "digits")
    with pytest.raises(InputError, match="digits"):  # on to the labels: the model is the right one
        attack(digits(0.5), true_table(HalfSpace(), model=told), "digits")


@pytest.mark.slow
def test_digits_hold_inside_and_change_outside(tmp_path: Path) -> None:
    model = train("digits", sigma=0.25, epochs=6, out=tmp_path / "model")
    table = certify_dataset(model, "digits", take=8, n=1000, out=tmp_path / "a.parquet")
    held = attack(tmp_path / "model", table)
    assert len(held) == (table.predict != ABSTAIN).sum() > 5
    assert not held.changed.any()
    outside = attack(model, table, data.load("digits", "test"), scale=4.0, steps=10)
    assert outside.changed.mean() > 0.5 and not outside.failed.any()
