"""What changes from epoch to epoch: ramps, a term that comes late, and what a resumed run takes up."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from methods import slow as slowly
from randsmooth import methods

EPOCHS = [0, 4, 9, 10, 100]

# method and hyperparameters -> which of them grow
RAMPS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("smoothadv", {"m": 2, "eps": 0.5, "T": 3}, ("eps",)),
    ("smoothadv", {"m": 2, "eps": 0.5, "T": 3, "attack": "gradient-free"}, ("eps",)),
    ("consistency", {"m": 2, "eps": 0.5, "T": 3}, ("eps",)),
    ("consistency", {"m": 2}, ()),
    ("smoothmix", {"m": 2, "T": 3, "alpha": 0.3, "start": 0.3}, ("eta", "start")),
    ("smoothmix", {"m": 2, "T": 3, "alpha": 0.3}, ("eta",)),
]


class Nobody:
    """A probe or a teacher that must not be asked."""

    def __call__(self, *_: object, **__: object) -> Tensor:
        raise AssertionError("asked")


def total(method: methods.Method) -> float:
    model, _, problem = slowly.problem(0, 6, method.m)
    return method.loss(model, *problem.tensors()).total.item()


def test_ramps() -> None:
    for (name, hyper, growing), warmup in itertools.product(RAMPS, (1, 10)):
        method = methods.create(name, **hyper, warmup=warmup)
        schedule = method.schedule()
        for epoch in EPOCHS:
            share = min(1.0, (epoch + 1) / warmup)
            now = schedule.objective(epoch)
            scaled = {field: share * getattr(method, field) for field in growing}
            assert {field: getattr(now, field) for field in growing} == pytest.approx(
                scaled
            ), name
            assert total(now) == pytest.approx(
                total(methods.create(name, **hyper | scaled)), rel=1e-9
            ), name
            assert now == method or share < 1.0
        changed = total(schedule.objective(0)) != pytest.approx(total(method), rel=1e-6)
        assert changed == bool(growing and warmup > 1), name
    for name in ("gaussian", "stability", "cat-rs"):
        method = methods.create(name)
        assert all(method.schedule().objective(epoch) == method for epoch in EPOCHS), (
            name
        )


def test_macer_s_robustness_term_may_come_late() -> None:
    for first, epoch in itertools.product((0, 1, 50), (0, 1, 49, 50, 51, 100)):
        now: Any = (
            methods.create("macer", k=3, lbd_from=first).schedule().objective(epoch)
        )
        assert now.lbd == (12.0 if epoch >= first else 0.0), (first, epoch)
        assert total(now) == total(methods.create("macer", k=3, lbd=now.lbd))


def released(**hyper: Any) -> methods.Schedule:
    method = methods.create(
        "cat-rs", variant="released", teacher="models/gaussian", **hyper
    )
    return method.schedule()


def test_a_teacher_is_asked_once_and_its_predictions_go_to_their_images() -> None:
    shares = torch.rand(20, 3, generator=torch.Generator().manual_seed(0)).softmax(
        dim=1
    )
    asked: list[tuple[str, int, bool]] = []

    def teacher(folder: str, n: int, *, augmented: bool = False) -> Tensor:
        asked.append((folder, n, augmented))
        return shares

    schedule = released(teacher_noises=50)
    schedule.prepare(teacher)
    assert asked == [("models/gaussian", 50, True)]
    schedule.advance(0, 20, Nobody())
    indices = torch.tensor([3, 19, 0, 3])
    found = schedule.target(indices)
    assert found is not None
    torch.testing.assert_close(found.float(), shares[indices], rtol=0, atol=0)
    assert schedule.objective(0) == schedule.method


def test_cat_rs_doubles_its_radius_late_where_asked() -> None:
    radii = [
        [released(eps_doubled_from=late).objective(epoch).eps for epoch in (0, 2, 3, 9)]  # type: ignore[attr-defined]
        for late in (0, 3)
    ]
    assert radii == [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 2.0, 2.0]]
