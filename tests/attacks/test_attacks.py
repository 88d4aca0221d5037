"""What every attack keeps to: its constraints on random input, whole steps, and a network given back as it was."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from attacks import slow
from randsmooth.attacks import ball_attack, ddn, gradient_free, pgd, sphere_attack
from randsmooth.attacks.shared import Attacked
from randsmooth.errors import Problem

EPS = 0.4
Attack = Callable[..., Attacked]


def one_noise(attack: Attack) -> Attack:
    """An attack on noises, given the first noise of each image only."""
    return lambda model, x, y, noise, **given: attack(model, x, y, noise[0], **given)


def ball_with_targets(
    model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, **given: float
) -> Attacked:
    with torch.no_grad():
        classes = model(x).shape[1]
    targets = 0.9 * nn.functional.one_hot(y, classes) + 0.1 / classes
    return ball_attack(model, x, targets.to(x.dtype), noise[0], **given)  # type: ignore[arg-type]


# name -> the attack, given the model, x (B, ...), y (B,), noise (m, B, ...), steps and eps
ON_IMAGES: dict[str, Attack] = {
    "pgd": lambda *given, steps, eps: pgd(
        *given, steps=steps, step=2 * eps / steps, eps=eps
    ),
    "gradient-free": gradient_free,
    "ddn": ddn,
}
ON_NOISES: dict[str, Attack] = {
    "ball, labels": one_noise(ball_attack),
    "ball, targets": ball_with_targets,
    "sphere": one_noise(sphere_attack),
    "sphere, linf": one_noise(
        lambda *given, **more: sphere_attack(*given, norm="linf", **more)
    ),
}
ATTACKS = ON_IMAGES | ON_NOISES


def random_problem(seed: int) -> tuple[nn.Module, Tensor, Tensor, Tensor]:
    """A float32 network, images up to the edges of [0, 1] and noises of any size, of a random shape."""
    g = torch.Generator().manual_seed(seed)
    images, m, channels, height, width, classes = (
        int(torch.randint(1, 6, (), generator=g)) for _ in range(6)
    )
    shape, pixels = (channels, height + 1, width), channels * (height + 1) * width
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(pixels, 8), nn.Tanh(), nn.Linear(8, classes + 1)
    )
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=g)
    x = (1.5 * torch.rand(images, *shape, generator=g) - 0.25).clamp(0, 1)
    y = torch.randint(0, classes + 1, (images,), generator=g)
    sigma = 10 ** float(torch.rand((), generator=g) * 3 - 2)  # 0.01 to 10
    return model, x, y, sigma * torch.randn(m, images, *shape, generator=g)


def test_images_stay_in_the_box_and_in_the_ball() -> None:
    for name in ON_IMAGES:
        for seed in range(40):
            eps = (0.05, 0.5, 3.0)[seed % 3]
            model, x, y, noise = random_problem(seed)
            if name == "gradient-free" and len(noise) == 1:
                noise = noise.repeat(2, 1, 1, 1, 1)
            points = ON_IMAGES[name](
                model, x, y, noise, steps=1 + seed % 5, eps=eps
            ).points
            assert points.shape == x.shape and points.dtype == x.dtype
            assert points.min() >= 0.0 and points.max() <= 1.0
            assert (points - x).flatten(1).norm(dim=1).max() <= eps + 1e-5


def test_a_noise_keeps_its_mean_and_deviation_or_its_norm() -> None:
    for name in ON_NOISES:
        for seed in range(40):
            eps = (0.05, 0.5, 3.0)[seed % 3]
            model, x, y, noise = random_problem(seed)
            points = ON_NOISES[name](
                model, x, y, noise, steps=1 + seed % 5, eps=eps
            ).points
            before, after = noise[0].flatten(1).double(), points.flatten(1).double()
            kept = before.std(dim=1) if "ball" in name else before.norm(dim=1)
            now = after.std(dim=1) if "ball" in name else after.norm(dim=1)
            assert ((now - kept).abs() <= 1e-5 * kept).all(), (name, seed)
            if "ball" in name:
                assert (
                    (after.mean(dim=1) - before.mean(dim=1)).abs()
                    <= 1e-5 * before.abs().amax(dim=1)
                ).all()
                # The shift and the scaling bring back the nearest point with that mean and deviation; the noise is one
                # itself, within eps of what was brought back.
                assert (after - before).norm(dim=1).max() <= 2 * eps + 1e-5


def test_the_attack_says_what_was_right_and_moves_something_but_its_input_under_no_grad_too() -> (
    None
):
    for name, attack in ATTACKS.items():
        model, x, y, noise = slow.problem(8, 2, 0, 0.3)
        given = (x.clone(), y.clone(), noise.clone())
        points, right = attack(model, x, y, noise, steps=3, eps=EPS)[:2]
        with torch.no_grad():
            expected = torch.stack([model(x + one).argmax(dim=1) == y for one in noise])
            assert torch.equal(
                points, attack(model, x, y, noise, steps=3, eps=EPS).points
            ), name
        assert expected.any() and not expected.all() and right.dtype == torch.bool
        assert torch.equal(right, expected if name in ON_IMAGES else expected[0]), name
        assert all(
            torch.equal(now, was) for now, was in zip((x, y, noise), given, strict=True)
        ), name
        assert not points.requires_grad and points.dtype == torch.float64
        assert not torch.equal(points, x if name in ON_IMAGES else noise[0]), name


class Linear(nn.Module):
    """Logits W v in the precision of W."""

    def __init__(self, w: Tensor) -> None:
        super().__init__()
        self.w = nn.Parameter(w)

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1) @ self.w.T


def test_a_constant_network_moves_nothing_and_gives_no_nan() -> None:
    for name in ATTACKS:
        for label in [0, 1]:
            x, noise = torch.rand(3, 1, 2, 2), torch.randn(2, 3, 1, 2, 2)
            y = torch.full((3,), label)
            if name == "gradient-free":  # it moves along the noises, not up a gradient
                noise = torch.zeros_like(noise)
            points = ATTACKS[name](
                Linear(torch.zeros(2, 4)), x, y, noise, steps=3, eps=EPS
            ).points
            torch.testing.assert_close(points, x if name in ON_IMAGES else noise[0])


W3 = torch.tensor([[2.0, -1.0, 0.5, 0.0], [-1.0, 1.0, 0.2, 0.3], [0.0, 0.5, -1.0, 1.0]])
SURE = torch.tensor([1.0, 0.0, 0.8, 0.3]).view(
    1, 1, 2, 2
)  # label 0, by a margin of 2.5


def test_sure_images_take_whole_steps_too() -> None:
    """Where the label's probability rounds to 1 in float32, a step has its full length still."""
    for name in ["pgd", "gradient-free", "ball, labels", "ball, targets", "sphere"]:
        for scale in [1.0, 4.0, 8.0, 16.0, 25.0]:
            x = (
                SURE * 0.5 + 0.25 if name in ON_IMAGES else SURE
            )  # away from the edges of [0, 1]
            noise = 1e-3 * torch.tensor(
                [[1.0, -2.0, 0.5, 2.0], [-1.0, 0.3, 1.0, -1.0]]
            ).view(2, 1, 1, 2, 2)
            label = torch.tensor([0])
            model = Linear(2.0 * scale * W3 if name in ON_IMAGES else scale * W3)
            assert model(x)[0].diff().abs()[0] >= 1.8 * scale
            if name in ON_IMAGES:
                moved = (
                    ON_IMAGES[name](model, x, label, noise, steps=2, eps=0.05).points
                    - x
                )
                torch.testing.assert_close(
                    moved.norm(), torch.tensor(0.05), rtol=1e-4, atol=0
                )
            else:
                moved = (
                    ON_NOISES[name](
                        model, x, label, 100.0 * noise, steps=2, eps=0.05
                    ).points
                    - 100.0 * noise[0]
                )
                assert (
                    0.02 < moved.norm() < 0.1
                )  # what the mean and the deviation leave of the step


def test_hopeless_images_give_no_nan() -> None:
    for name in ATTACKS:
        x, noise = SURE.expand(2, 1, 2, 2), torch.randn(2, 2, 1, 2, 2)
        for scale in (40.0, 1e3, 1e6):
            attacked = ATTACKS[name](
                Linear(scale * W3), x, torch.tensor([1, 2]), noise, steps=3, eps=EPS
            )
            assert attacked.points.isfinite().all()


def test_an_attack_that_means_nothing_is_refused() -> None:
    refused: list[tuple[Callable[..., object], str]] = [
        (
            lambda *given: pgd(*given, steps=2, step=0.1, eps=-1.0),
            "eps=-1.0 must be a finite length above 0",
        ),
        (lambda *given: pgd(*given, steps=2, step=float("nan")), "step=nan"),
        (lambda *given: pgd(*given, steps=2, step=float("inf")), "step=inf"),
        (lambda *given: ddn(*given, steps=2, eps=float("nan")), "eps=nan"),
        (
            lambda *given: ddn(*given, steps=0, eps=1.0),
            "steps=0: an attack takes at least 1",
        ),
        (
            lambda model, x, y, n: gradient_free(model, x, y, n[:1], steps=1, eps=1.0),
            "m >= 2",
        ),
        (
            lambda model, x, y, n: ball_attack(model, x, y, n[0], steps=1, eps=0.0),
            "eps=0.0",
        ),
        (
            lambda model, x, y, n: sphere_attack(
                model,
                x,
                y,
                n[0],
                steps=1,
                eps=1.0,
                norm="L2",  # type: ignore[arg-type]
            ),
            "norm 'L2'",
        ),
    ]
    for call, message in refused:
        with pytest.raises(Problem, match=message):
            call(*random_problem(0))
