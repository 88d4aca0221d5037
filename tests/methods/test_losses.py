"""Every loss against its slow derivation in NumPy: value, gradient and the layout of the m copies."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector

from attacks import slow
from methods import slow as slowly
from randsmooth import methods

IMAGES = 9
SEEDS = [0, 1, 2]

WALK = {"T": 3, "eps": 0.5}
ADV = {"eps": 0.5, "T": 4}
MIX = {"T": 3, "alpha": 0.3, "eta": 5.0}
CON = {"lbd": 10.0, "eta": 0.5, "form": "default", "eps": 0.0, "T": 4}
CAT = {
    "lbd": 1.5,
    "p0": 0.2,
    "T": 3,
    "eps": 0.6,
    "low": True,
    "high": "max",
    "mask": True,
    "variant": "paper",
}
TAUGHT = CAT | {"variant": "released", "teacher": "models/gaussian"}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "gaussian, m=3": ("gaussian", {"m": 3}),
    "stability, m=3": ("stability", {"m": 3, "lbd": 0.7}),
    "smoothadv, m=3": ("smoothadv", {"m": 3, "attack": "pgd"} | ADV),
    "smoothadv, ddn": ("smoothadv", {"m": 2, "attack": "ddn"} | ADV),
    "smoothadv, ddn as released": (
        "smoothadv",
        {"m": 3, "attack": "ddn-released"} | ADV,
    ),
    "smoothadv, gradient-free": (
        "smoothadv",
        {"m": 3, "attack": "gradient-free"} | ADV,
    ),
    "macer, k=1": ("macer", {"k": 1, "lbd": 3.0, "gamma": 2.0, "beta": 1.0}),
    "macer, k=3": ("macer", {"k": 3, "lbd": 3.0, "gamma": 1.0, "beta": 2.0}),
    "macer, as published": (
        "macer",
        {"k": 16, "lbd": 12.0, "gamma": 8.0, "beta": 16.0},
    ),
    "macer, beta in both": (
        "macer",
        {"k": 3, "lbd": 3.0, "gamma": 2.0, "beta": 4.0, "beta_in": "both"},
    ),
    "consistency, m=3": ("consistency", {"m": 3} | CON),
    "consistency, kl": ("consistency", {"m": 3} | CON | {"form": "kl"}),
    "consistency, mse": ("consistency", {"m": 3} | CON | {"form": "mse"}),
    "consistency, attacked": ("consistency", {"m": 2} | CON | {"eps": 0.5}),
    "smoothmix, m=3": ("smoothmix", {"m": 3, "start": 0.0} | MIX),
    "smoothmix, one step": ("smoothmix", {"m": 2, "start": 0.3} | MIX),
    "smoothmix, one step, ramping": ("smoothmix", {"m": 2, "start": 0.1} | MIX),
    "smoothmix, one step of one": (
        "smoothmix",
        {"m": 2, "start": 0.1} | MIX | {"T": 1},
    ),
    "cat-rs, m=1": ("cat-rs", {"m": 1} | CAT),
    "cat-rs, m=3": ("cat-rs", {"m": 3} | CAT),
    "cat-rs, mean": ("cat-rs", {"m": 3} | CAT | {"high": "mean"}),
    "cat-rs, low only": ("cat-rs", {"m": 3} | CAT | {"high": "off", "p0": 0.4}),
    "cat-rs, high only": ("cat-rs", {"m": 3} | CAT | {"low": False}),
    "cat-rs, no mask": ("cat-rs", {"m": 3} | CAT | {"mask": False}),
    "cat-rs, released": ("cat-rs", {"m": 3} | TAUGHT),
    "cat-rs, released, no mask": (
        "cat-rs",
        {"m": 2} | TAUGHT | {"mask": False, "high": "mean"},
    ),
    "cat-rs, released, teacher's confidence": (
        "cat-rs",
        {"m": 3} | TAUGHT | {"confidence": "teacher"},
    ),
    "amplify, m=3": ("amplify", {"m": 3} | WALK),
    "amplify, one step": ("amplify", {"m": 2, "T": 1, "eps": 2.0}),
    "amplify, linf": ("amplify", {"m": 3, "norm": "linf"} | WALK),
    "amplify, damped": ("amplify", {"m": 3, "gradient": "damped"} | WALK),
}


def test_every_method_has_a_slow_derivation_and_a_case() -> None:
    assert {*methods.METHODS} == {*slowly.SLOW} == {name for name, _ in CASES.values()}


def noises(hyper: dict[str, Any]) -> int:
    return int(hyper["m"] if "m" in hyper else hyper["k"])


@pytest.mark.parametrize(
    "seeds", [SEEDS[:1], pytest.param(SEEDS[1:], marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize("method", sorted(slowly.SLOW))
def test_value_and_gradient(method: str, seeds: list[int]) -> None:
    for case, (name, hyper) in CASES.items():
        for seed in seeds if name == method else ():
            model, theta, problem = slowly.problem(seed, IMAGES, noises(hyper))
            x, y, noise, inputs = problem.tensors()
            loss = methods.create(name, **hyper).loss(model, x, y, noise, inputs)
            loss.total.backward()
            slope = parameters_to_vector(
                [p.grad for p in model.parameters() if p.grad is not None]
            ).numpy()
            expected = slowly.SLOW[name](theta, problem, **hyper)
            assert (
                min(expected.margins, default=1.0) > 1e-4
            )  # finite differences of 1e-6 turn no tie and no hinge
            assert loss.total.item() == pytest.approx(expected.loss(theta), rel=1e-6), (
                case,
                seed,
            )
            np.testing.assert_allclose(
                slope,
                slow.gradient(expected.loss, theta),
                rtol=1e-6,
                atol=1e-6,
                err_msg=f"{case}, {seed}",
            )


def test_bfloat16_autocast_gives_a_float32_loss() -> None:
    for case, (name, hyper) in CASES.items():
        model, _, problem = slowly.problem(0, IMAGES, noises(hyper))
        x, y, noise, inputs = problem.tensors()
        inputs = inputs._replace(u=inputs.u.float(), target=inputs.target.float())  # type: ignore[union-attr]
        exact = (
            methods.create(name, **hyper)
            .loss(model, x, y, noise, problem.tensors()[3])
            .total
        )
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = methods.create(name, **hyper).loss(
                model.float(), x.float(), y, noise.float(), inputs
            )
            loss.total.backward()
        assert loss.total.dtype == torch.float32, case
        assert all(
            p.grad is not None and p.grad.isfinite().all() for p in model.parameters()
        ), case
        assert loss.total.item() == pytest.approx(exact.item(), rel=0.3), (
            case
        )  # an image may change sides at 8 bits


SURE = 200.0 * torch.tensor([[1.0, 0.0, -1.0]])


def test_saturated_logits_give_finite_values_and_gradients() -> None:
    """Where a probability is 0 or 1 in float32: right, wrong, and a wrong runner-up whose quantile is infinite."""
    for name in methods.METHODS:
        for label in (0, 1, 2):
            net = nn.Sequential(nn.Flatten(), nn.Linear(slow.PIXELS, slow.CLASSES))
            net[1].weight.data = SURE.T @ torch.ones(1, slow.PIXELS) / slow.PIXELS
            net[1].bias.data = SURE[0].clone()
            method = methods.create(name)
            x, noise = (
                torch.full((5, *slow.SHAPE), 0.5),
                0.1 * torch.randn(method.m, 5, *slow.SHAPE),
            )
            target = torch.eye(3)[[0, 1, 2, 0, 1]]
            inputs = methods.LossInputs(
                u=torch.linspace(0, 0.9, 5), target=target, sigma=0.1
            )
            loss = method.loss(net, x, torch.full((5,), label), noise, inputs)
            loss.total.backward()
            assert loss.total.isfinite() and all(
                figure.isfinite() for figure in loss.figures.values()
            ), (name, label)
            assert all(
                p.grad is not None and p.grad.isfinite().all() for p in net.parameters()
            ), (name, label)


def test_macer_leaves_out_images_with_an_infinite_radius_and_no_others() -> None:
    """One image whose probabilities round to 1 and 0 beside one that is in doubt: the doubtful one keeps its term."""
    net = nn.Sequential(nn.Flatten(), nn.Linear(1, 3))
    net[1].weight.data, net[1].bias.data = (
        torch.tensor([[400.0], [0.0], [-400.0]]),
        torch.tensor([0.0, -0.05, -0.1]),
    )
    x, y = torch.tensor([1.0, 0.0]).view(2, 1, 1, 1), torch.tensor([0, 0])
    method, inputs = methods.create("macer", k=2), methods.LossInputs(sigma=0.25)
    both = method.loss(net, x, y, torch.zeros(2, 2, 1, 1, 1), inputs)
    alone = method.loss(net, x[1:], y[1:], torch.zeros(2, 1, 1, 1, 1), inputs)
    assert both.terms["robustness"] > 0
    torch.testing.assert_close(both.terms["robustness"], alone.terms["robustness"] / 2)
    both.total.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())
