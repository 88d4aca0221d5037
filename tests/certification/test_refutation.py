"""The attack on certificates: half-spaces, whose smoothed radius is known exactly, then digits and MNIST."""

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor, nn
from torch.nn import functional as F

from certification.half_spaces import (
    IMAGES,
    SIDE,
    SIGMA,
    SIGNED,
    HalfSpace,
    around_the_plane,
    true_table,
)
from models.refusing import check_refusals
from randsmooth import ABSTAIN, SmoothedClassifier, certify, data
from randsmooth.attacks import ball_of, within_ball
from randsmooth.certification import attack
from randsmooth.certification.attack_results import predict_anywhere
from randsmooth.certification.searches import inside
from randsmooth.data import TensorImages
from randsmooth.errors import (
    BadValue,
    ModelFailed,
    NotComparable,
    NotFound,
    TooFewSamples,
    WrongModel,
    WrongTable,
)
from randsmooth.noise import (
    Ablation,
    Gaussian,
    GaussianPerCoordinate,
    Laplace,
    Noise,
    Splitting,
    Stream,
    Uniform,
)
from values import Refusal


def test_half_spaces_hold_inside_of_their_radius_and_change_outside_and_forged_radii_fail() -> (
    None
):
    for gain, restarts in itertools.product(
        (1.0, 1000.0), (1, 3)
    ):  # at 1000 the probabilities round to 0 and 1
        model = HalfSpace(gain).eval()
        true = true_table(model)
        held = attack(model, true, IMAGES, scale=0.99, restarts=restarts)
        assert (
            not held.changed.any() and (held.distance > 0.985 * held.radius).all()
        )  # it went as far as it might
        outside = attack(model, true, IMAGES, scale=1.1, restarts=restarts)
        assert outside.changed.all() and not outside.failed.any()
        assert (outside.distance > outside.radius).all() and (
            outside.distance < 1.1 * outside.radius
        ).all()
        assert outside.predict.tolist() == (1 - outside.certified).tolist()
        forged = attack(
            model, replace(true, radius=2 * true.radius), IMAGES, restarts=restarts
        )
        assert forged.failed.all()
        assert (forged.distance < forged.radius).all() and (
            forged.distance > true.radius
        ).all()
    on_the_plane = attack(model, true, IMAGES, scale=1.0, n=1000)
    assert on_the_plane.abstained.all() and not on_the_plane.changed.any()
    assert (on_the_plane.predict == ABSTAIN).all()


def test_a_step_that_does_not_climb_would_be_seen() -> None:
    """A control on the test above: points of the same length in other directions change nothing."""
    model = HalfSpace().eval()
    engine = SmoothedClassifier(model, sigma=SIGMA, seed=0).engine
    x, y = IMAGES.batch(torch.arange(len(IMAGES)))
    random = torch.randn(x.shape, generator=torch.Generator().manual_seed(2))
    points = x + within_ball(1000 * random, 1.0) * 1.1 * torch.tensor(
        np.abs(SIGNED)
    ).float().view(-1, 1, 1, 1)
    told = [predict_anywhere(engine, point, 10_000, 0.001) for point in points]
    assert told == y.tolist()


@pytest.mark.slow
def test_any_change_told_is_wrong_with_probability_alpha_over_all_images() -> None:
    """On the plane, where the classes are even; judged at alpha each, as a control, far too many changes are told."""
    alpha, runs, images = 0.2, 40, around_the_plane([0.6] * 20)
    model = HalfSpace().eval()
    table = true_table(model, images)
    alarms = careless = 0
    for seed in range(runs):
        found = attack(
            model, table, images[0], steps=1, m=1, n=100, alpha=alpha, seed=seed
        )
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
    whole, again = (
        attack(model, table, IMAGES, steps=2, m=3, restarts=2, n=500) for _ in range(2)
    )
    some = attack(model, table, IMAGES, steps=2, m=3, restarts=2, n=500, take=2)
    other = attack(model, table, IMAGES, steps=2, m=3, restarts=2, n=500, seed=1)
    assert np.array_equal(whole.points, again.points) and np.array_equal(
        whole.predict, again.predict
    )
    assert some.idx.tolist() == [0, 2]
    assert np.array_equal(some.points, whole.points[[0, 2]])
    assert not np.array_equal(whole.points, other.points)


def exact_square(a: np.ndarray, b: np.ndarray) -> Fraction:
    """The squared distance of float32 arrays, in rational numbers."""
    apart = (
        Fraction(float(p)) - Fraction(float(q))
        for p, q in zip(a.flat, b.flat, strict=True)
    )
    return sum((each**2 for each in apart), Fraction())


def test_points_lie_strictly_inside_by_exact_arithmetic() -> None:
    rng, naive_leaves, ball = torch.Generator().manual_seed(3), 0, ball_of("l2")
    for eps in (1e-9, 1e-6, 1e-3, 0.1, 1.0, 3.0):
        for _ in range(20):
            x, v = (
                torch.rand((3, 8, 8), generator=rng),
                torch.randn((3, 8, 8), generator=rng),
            )
            far = x + (2 * eps / v.norm()) * v
            near = inside(far, x, eps, ball)
            assert (
                near.dtype == torch.float32
                and exact_square(near.numpy(), x.numpy()) < Fraction(eps) ** 2
            )
            assert (
                ball.length(near.double() - x.double()) > (1 - 1e-5) * eps or eps < 0.1
            )
            naive = x + within_ball((far - x)[None], eps)[0]
            naive_leaves += exact_square(naive.numpy(), x.numpy()) > Fraction(eps) ** 2
    assert naive_leaves > 0
    assert torch.equal(inside(x + 0.01, x, 1.0, ball), x + 0.01) and torch.equal(
        inside(x, x, 1.0, ball), x
    )


class ByType(HalfSpace):
    """Class 1 to whatever comes in another type than float32."""

    def forward(self, x: Tensor) -> Tensor:
        if x.dtype != torch.float32:
            return torch.tensor([0.0, 1.0], dtype=x.dtype).expand(len(x), 2)
        return super().forward(x)


def test_the_certified_precision_is_attacked() -> None:
    model = ByType().eval()
    for precision, alike in (
        ("float32 (TF32 convolutions)", True),
        ("bfloat16, batch 9", False),
    ):
        found = attack(
            model, true_table(model, precision=precision), IMAGES, scale=0.5, n=500
        )
        assert (found.predict == found.certified).all() == alike
        assert alike or (found.predict == 1).all()


class Broken(HalfSpace):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward((x - x).sqrt() + x)


OTHER = HalfSpace().eval()
OTHER.w = -OTHER.w


def test_what_cannot_be_attacked_is_refused() -> None:
    cases: list[tuple[Refusal, dict[str, Any]]] = [
        (Refusal(BadValue, "scale=0.0", field="scale"), {"scale": 0.0}),
        (Refusal(BadValue, "steps=0", field="steps"), {"steps": 0}),
        (
            Refusal(TooFewSamples, "alpha=0.001", "0.0002", ">= 14", "n=10"),
            {"n": 10},
        ),
        (Refusal(BadValue), {"take": 6}),
        (Refusal(NotFound, "'half-spaces'"), {"images": None}),
        (Refusal(NotComparable), {"model": OTHER}),
        (Refusal(WrongModel, field="identity"), {"model": abs}),
        (Refusal(ModelFailed), {"model": Broken().eval()}),
        (Refusal(WrongTable), {"facts": {"noise": None}}),
        (
            Refusal(WrongTable),
            {"facts": {"dataset": None}, "images": None},
        ),
        (Refusal(WrongTable), {"facts": {"split": None}, "images": None}),
        (Refusal(WrongTable, "k/255"), {"facts": {"sound": True}}),
        (
            Refusal(WrongTable),
            {"rows": {"predict": np.full(5, ABSTAIN)}},
        ),
        (
            Refusal(NotComparable),
            {"rows": {"idx": np.arange(5) + 1}},
        ),
        (
            Refusal(NotComparable),
            {"facts": {"data": "sha256:0"}},
        ),
    ]
    for said, case in cases:
        given = dict[str, Any](images=IMAGES, model=HalfSpace().eval()) | case
        table = replace(
            true_table(HalfSpace(), **given.pop("facts", {})), **given.pop("rows", {})
        )
        check_refusals([(partial(attack, table=table, **given), said)])


HARD: dict[str, Any] = {"steps": 20, "m": 500}
QUICK: dict[str, Any] = {"steps": 8, "m": 200, "n": 2000}
PLANE = HalfSpace().w.numpy()


class Labels(HalfSpace):
    """Says which side, and nothing about how far: no gradient, no odds."""

    def forward(self, x: Tensor) -> Tensor:
        return F.one_hot(super().forward(x.detach()).argmax(dim=1), 2).float()


def test_labels_alone_show_how_far_the_class_reaches() -> None:
    """Just inside of the true radius nothing changes, just outside everything, of an image alone as among others."""
    model = Labels().eval()
    true = true_table(model)
    inside = attack(model, true, IMAGES, scale=0.99, **HARD)
    assert inside.gradient_free and not inside.changed.any()
    outside = attack(model, true, IMAGES, scale=1.1, **HARD)
    assert outside.changed.all() and not outside.failed.any()
    some = attack(model, true, IMAGES, scale=1.1, take=2, **HARD)
    assert np.array_equal(some.points, outside.points[[0, 2]])
    # the control: a step and a pair of samples hardly tell a direction
    assert not attack(model, true, IMAGES, scale=1.1, steps=1, m=2).changed.all()
    asked_for = attack(
        HalfSpace().eval(),
        true_table(HalfSpace()),
        IMAGES,
        scale=1.1,
        gradient_free=True,
        **HARD,
    )
    assert asked_for.gradient_free and asked_for.changed.all()


def labels(x: NDArray[np.float32]) -> NDArray[np.int64]:
    side: NDArray[np.float32] = (x - 0.5).reshape(len(x), -1) @ PLANE
    return (side > 0).astype(np.int64)


def test_forged_certificates_of_what_is_no_module_fail_and_its_own_hold() -> None:
    shown, how = (
        (IMAGES.pixels.permute(0, 2, 3, 1).numpy(), IMAGES.labels.numpy()),
        dict[str, Any](identity="plane"),
    )
    table = certify(labels, shown, sigma=SIGMA, n=1000, num_classes=2, **how)
    assert (table.predict == table.label).all()
    held = attack(labels, table, shown, **QUICK, **how)
    assert held.gradient_free and not held.changed.any()
    forged = replace(
        table, radius=2.0 * np.abs(SIGNED)
    )  # as a broken bound might give them
    assert attack(labels, forged, shown, **QUICK, **how).failed.all()


class Seen(nn.Module):
    """Class 1 where the pixels that are seen, each less a half and weighted, add up to more than 0."""

    def __init__(self, w: Tensor) -> None:
        super().__init__()
        self.w: Tensor
        self.register_buffer("w", w.view(1, SIDE, SIDE))

    def forward(self, x: Tensor) -> Tensor:
        seen = (
            (x[:, :1] - 0.5) * x[:, 1:].sum(dim=1, keepdim=True)
            if x.shape[1] > 1
            else x - 0.5
        )
        side = 9.0 * (seen * self.w).flatten(1).sum(dim=1)
        return torch.stack([-side, side], dim=1)


class SeenLabels(Seen):
    def forward(self, x: Tensor) -> Tensor:
        return F.one_hot(super().forward(x.detach()).argmax(dim=1), 2).float()


W = HalfSpace().w.double()
STD = torch.linspace(0.2, 0.8, SIDE * SIDE, dtype=torch.float64)
FIRST = torch.eye(SIDE * SIDE, dtype=torch.float64)[3]


def shown_as(pixels: Tensor, labels: list[int]) -> TensorImages:
    """Images of (N, 64) numbers k/255."""
    shown = (pixels * 255).round().byte().view(-1, 1, SIDE, SIDE)
    return TensorImages(IMAGES.spec, "test", shown, torch.tensor(labels))


def edges() -> dict[str, tuple[Noise, Tensor, TensorImages, NDArray[np.float64]]]:
    """Noises, weights of a classifier, images, and the distances within which its smoothed class stays."""
    along, std = (
        np.abs(SIGNED),
        GaussianPerCoordinate(STD.numpy().reshape(1, SIDE, SIDE)),
    )
    grey, pixels = (
        torch.full((4, SIDE * SIDE), 0.5),
        torch.tensor([255, 204, 0, 71]) / 255,
    )
    grey[:, 3] = pixels
    few, k = Ablation(6, SIDE * SIDE), (pixels.double() * 255).round()
    greys, split = shown_as(grey, [1, 1, 0, 0]), Splitting(0.5)
    black_and_white = shown_as(
        torch.tensor([[0.0], [1.0]]).expand(2, SIDE * SIDE), [0, 1]
    )
    return {
        "gaussian": (Gaussian(0.5), W, IMAGES, along),
        "per coordinate": (std, W, IMAGES, along / float((W * STD).norm())),
        "uniform": (Uniform(0.8), W, IMAGES, along / float(W.abs().max())),
        "laplace": (Laplace(0.4), W, IMAGES, along / float(W.abs().max())),
        "splitting": (split, FIRST, greys, (pixels.double() - 0.5).abs().numpy()),
        "splitting, exact": (
            split,
            FIRST,
            greys,
            torch.where(k > 127, k - 128, 127 - k).div(255).numpy(),
        ),
        "ablation": (
            few,
            torch.ones(SIDE * SIDE),
            black_and_white,
            np.full(2, float(few.radius(0.0))),
        ),
    }


def check_edges(kind: type[Seen], **how: Any) -> None:
    for name, (noise, w, images, true) in edges().items():
        facts: dict[str, Any] = {"noise": noise}
        model, exact = kind(w.float()).eval(), "exact" in name
        facts |= {"alpha": 0.0, "rule": "exact", "seed": 0} if exact else {}
        table = true_table(model, (images, true), **facts)
        held = attack(
            model,
            table,
            images,
            scale=1.0 if exact or noise.norm == "l0" else 0.97,
            **how,
        )
        assert not held.changed.any() and held.norm == noise.norm, (name, held)
        assert (held.distance > 0.95 * held.radius).all(), (name, held)
        larger = (
            np.ceil(1.5 * true)
            if noise.norm == "l0"
            else np.floor(382.5 * true) / 255
            if exact
            else 1.5 * true
        )
        forged = replace(table, radius=larger)
        refuted = attack(model, forged, images, **how)
        assert refuted.failed.all() and (refuted.distance > true).all(), (name, refuted)
        if exact:
            beyond = attack(
                model,
                replace(table, radius=((255 * true).round() + 1) / 255),
                images,
                **how,
            )
            assert beyond.failed.all() and (beyond.n, beyond.alpha) == (255, 0.0), (
                name,
                beyond,
            )


def test_under_every_noise_true_radii_hold_and_inflated_ones_are_refuted() -> None:
    check_edges(Seen, n=1000, steps=8, m=16)


@pytest.mark.slow
def test_under_every_noise_labels_alone_show_it() -> None:
    check_edges(SeenLabels, **QUICK)


def linear_model_of_digits() -> nn.Module:
    """Ridge regression on what splitting noise shows of the training digits."""
    images = data.load("digits", "train")
    x, y = images.batch(torch.arange(len(images)))
    seen = (
        (x + Splitting(0.5).offsets(x, 4, Stream(0, "train"))).flatten(0, 1).flatten(1)
    )
    targets = F.one_hot(y, 10).float().repeat(4, 1) - 0.1
    linear = nn.Linear(64, 10)
    gram = seen.T @ seen + 10.0 * torch.eye(64)
    linear.weight.data = torch.linalg.solve(gram, seen.T @ targets).T.contiguous()
    linear.bias.data.zero_()
    return nn.Sequential(nn.Flatten(), linear).eval()


def test_exact_tables_with_radii_16_times_as_long_are_refuted() -> None:
    """Radii of so many pixels from black to white that steps beyond [0, 1], where nothing changes, find nothing."""
    model = linear_model_of_digits()
    table = certify(model, "digits", noise="splitting=0.5", rule="exact", take=40)
    forged = replace(table, radius=16.0 * table.radius)
    for gradient_free, least in ((False, 18), (True, 12)):
        found = attack(model, forged, take=20, gradient_free=gradient_free, steps=10)
        assert len(found) == 20 and found.failed.sum() >= least, (
            gradient_free,
            found.failed.sum(),
        )
        assert (found.points >= 0.0).all() and (found.points <= 1.0).all()
    held = attack(model, table, take=20, steps=10)
    assert not held.changed.any()


def test_steps_of_l1_in_a_box_end_where_the_box_and_the_ball_allow_most() -> None:
    ball, x = ball_of("l1"), torch.tensor([[0.0, 0.9, 0.5, 1.0]])
    box = (0.0 - x, 1.0 - x)
    gradient, none = torch.tensor([[1.0, 4.0, -3.0, 2.0]]), torch.zeros(1, 4)
    for eps, expected in (
        (0.05, [0, 0.05, 0, 0]),
        (0.4, [0, 0.1, -0.3, 0]),
        (9.0, [1.0, 0.1, -0.5, 0]),
    ):
        moved = ball.moved(none, gradient, eps, 1.0, box)
        torch.testing.assert_close(moved, torch.tensor([expected], dtype=torch.float32))
    back = ball.moved(torch.tensor([[0.4, 0.0, 0.0, 0.0]]), gradient, 0.4, 0.5, box)
    torch.testing.assert_close(
        back, torch.tensor([[0.2, 0.1, -0.1, 0.0]])
    )  # what is worth the least is taken back


def test_walks_of_noise_for_inputs_in_0_to_1_end_there() -> None:
    model = linear_model_of_digits()
    table = certify(model, "digits", noise="splitting=0.5", n=500, take=4)
    wide = attack(model, table, scale=20.0, gradient_free=True, steps=4, m=50, n=500)
    assert wide.changed.any()
    assert (wide.points >= 0.0).all() and (wide.points <= 1.0).all()
