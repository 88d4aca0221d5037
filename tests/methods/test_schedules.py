"""What changes from epoch to epoch: ramps, a term that comes late, and what a resumed run takes up."""

import io
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


@pytest.mark.parametrize("warmup", [1, 10])
@pytest.mark.parametrize(("name", "hyper", "growing"), RAMPS)
def test_ramps(name: str, hyper: dict[str, Any], growing: tuple[str, ...], warmup: int) -> None:
    method = methods.create(name, **hyper, warmup=warmup)
    schedule = method.schedule()
    for epoch in EPOCHS:
        share = min(1.0, (epoch + 1) / warmup)
        now = schedule.objective(epoch)
        scaled = {field: share * getattr(method, field) for field in growing}
        assert {field: getattr(now, field) for field in growing} == pytest.approx(scaled)
        assert total(now) == pytest.approx(total(methods.create(name, **hyper | scaled)), rel=1e-9)
        assert now == method or share < 1.0
    assert (total(schedule.objective(0)) != pytest.approx(total(method), rel=1e-6)) == bool(growing and warmup > 1)


@pytest.mark.parametrize("first", [0, 1, 50])
def test_macer_s_robustness_term_may_come_late(first: int) -> None:
    method = methods.create("macer", k=3, lbd_from=first)
    schedule = method.schedule()
    for epoch in (0, 1, 49, 50, 51, 100):
        assert getattr(schedule.objective(epoch), "lbd") == (12.0 if epoch >= first else 0.0)  # noqa: B009
        expected = methods.create("macer", k=3, lbd=12.0 if epoch >= first else 0.0)
        assert total(schedule.objective(epoch)) == total(expected)
    assert total(method) > total(methods.create("macer", k=3, lbd=0.0))


@pytest.mark.parametrize("name", ["gaussian", "stability", "cat-rs"])
def test_the_others_stay_as_they_are(name: str) -> None:
    method = methods.create(name)
    assert all(method.schedule().objective(epoch) == method for epoch in EPOCHS)


STATELESS = sorted(set(methods.METHODS) - {"amplify"})


@pytest.mark.parametrize("name", STATELESS)
def test_a_resumed_schedule_goes_on_the_same(name: str) -> None:
    for stopped in (0, 3, 12):
        whole = methods.create(name).schedule()
        whole.prepare(Nobody())
        for epoch in range(stopped):
            whole.advance(epoch, 20, Nobody())
        buffer = io.BytesIO()
        torch.save(whole.state(), buffer)
        buffer.seek(0)
        resumed = methods.create(name).schedule()
        resumed.restore(torch.load(buffer, weights_only=True), 20)
        for epoch in range(stopped, 20):
            assert resumed.advance(epoch, 20, Nobody()) == whole.advance(epoch, 20, Nobody()) == {}
            assert resumed.objective(epoch) == whole.objective(epoch)
            assert resumed.target(torch.arange(3)) is None and whole.target(torch.arange(3)) is None


def released(**hyper: Any) -> methods.Schedule:
    method = methods.create("cat-rs", variant="released", teacher="models/gaussian", **hyper)
    return method.schedule()


def test_a_teacher_is_asked_once_and_its_predictions_go_to_their_images() -> None:
    shares = torch.rand(20, 3, generator=torch.Generator().manual_seed(0)).softmax(dim=1)
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
    radii = [[released(eps_doubled_from=late).objective(epoch).eps for epoch in (0, 2, 3, 9)] for late in (0, 3)]  # type: ignore[attr-defined]
    assert radii == [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 2.0, 2.0]]


@pytest.mark.parametrize("name", sorted(methods.METHODS))
def test_every_other_method_leaves_the_teacher_alone(name: str) -> None:
    methods.create(name).schedule().prepare(Nobody())
