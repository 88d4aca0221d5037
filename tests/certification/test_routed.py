"""The routed classifier: in memory, on a data set, in stages that resume, and against the truth."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import randsmooth as rs
from randsmooth.certificates import ABSTAIN, Certificates
from randsmooth.certification import attack
from randsmooth.errors import Conflict, NotComparable, Problem, WrongTable
from randsmooth.notes import Note


def by_coordinate(place: int, classes: tuple[int, int], K: int) -> nn.Module:
    """Return a classifier of 1x1x2 images: one class where a coordinate is above 0.5, else the other."""
    layer = nn.Linear(2, K)
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.fill_(-100.0)
        for side, k in zip((1.0, -1.0), classes, strict=True):
            layer.weight[k, place] = side
            layer.bias[k] = -0.5 * side
    return nn.Sequential(nn.Flatten(), layer).eval()


def parts() -> tuple[rs.SmoothedClassifier, list[rs.SmoothedClassifier]]:
    """The router looks at the first coordinate; expert 0 at the second, expert 1 answers 2 anywhere near."""
    router = rs.SmoothedClassifier(
        by_coordinate(0, (0, 1), K=2), sigma=0.2, n0=100, n=2000, seed=0
    )
    first = rs.SmoothedClassifier(
        by_coordinate(1, (0, 1), K=3), sigma=0.25, n0=100, n=2000, seed=0
    )
    other = by_coordinate(1, (2, 2), K=3)
    second = rs.SmoothedClassifier(other, sigma=1.0, n0=100, n=2000, seed=0)
    return router, [first, second]


# Distances to the border of the router and to that of expert 0, in pixels.
X = torch.tensor([[0.9, 0.9], [0.6, 0.9], [0.9, 0.45], [0.1, 0.9], [0.51, 0.5]])
IMAGES = X.reshape(-1, 1, 1, 2)


def test_radii_end_before_the_first_border() -> None:
    router, experts = parts()
    certified = rs.Routed(router, experts).certify(IMAGES)
    assert certified.predict[:4].tolist() == [0, 0, 1, 2]
    border = np.abs(X.numpy() - 0.5)
    # Expert 1 has no border: beyond the router's border only does the answer change.
    true = np.where(X[:, 0] > 0.5, border.min(axis=1), border[:, 0])
    decided = certified.predict != ABSTAIN
    assert np.all(certified.radius[decided] <= true[decided] + 1e-6)
    assert certified.radius[0] > 0.3
    # The answer does change just beyond the nearest border.
    beyond = torch.tensor([[0.49, 0.9]]).reshape(-1, 1, 1, 2)
    predict = rs.Routed(router, experts).predict
    assert predict(IMAGES[1:2], n=20_000).tolist() == [0]
    assert predict(beyond, n=200_000).tolist() == [2]


def test_a_router_that_is_not_smoothed_is_refused() -> None:
    router, experts = parts()
    with pytest.raises(Problem):
        rs.Routed(router.model, experts)  # type: ignore[arg-type]
    with pytest.raises(Problem):
        rs.Routed(router, experts[:1])
    uniform = rs.SmoothedClassifier(experts[0].model, noise="uniform=0.5")
    with pytest.raises(Problem):
        rs.Routed(router, [experts[0], uniform])


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.uniform(0.0, 1.0, size=(24, 1, 1, 2)).astype(np.float32)
    return x, rng.integers(0, 3, size=24)


def same(one: Certificates, other: Certificates) -> bool:
    assert one.routes is not None and other.routes is not None
    return all(
        np.array_equal(column, other.routes.columns()[name])
        for name, column in one.routes.columns().items()
    ) and np.array_equal(one.predict, other.predict)


def test_a_data_set_is_certified_in_stages(tmp_path: Path) -> None:
    routed = rs.Routed(*parts())
    in_memory = rs.certify(routed, data())
    out = tmp_path / "routed.parquet"
    table = rs.certify(routed, data(), out=out)
    assert same(table, in_memory)
    assert same(rs.read(out), table)
    assert table.label.tolist() == data()[1].tolist()
    router = rs.read(tmp_path / "routed-router.parquet")
    assert not router.labelled and len(router) == 24
    sizes = [len(rs.read(tmp_path / f"routed-expert{k}.parquet")) for k in range(2)]
    assert 24 <= sum(sizes) < 48
    assert table.samples.sum() == 2100 * (24 + sum(sizes))
    # What is there is not made again, and not overwritten unasked.
    with pytest.raises(Problem):
        rs.certify(routed, data(), out=out)
    before = (tmp_path / "routed-expert0.parquet").stat().st_mtime_ns
    out.unlink()
    (tmp_path / "routed-expert1.parquet").unlink()
    again = rs.certify(routed, data(), out=out, resume=True)
    assert same(again, table)
    assert (tmp_path / "routed-expert0.parquet").stat().st_mtime_ns == before
    rs.certify(routed, data(), out=out, overwrite=True, n=1000)
    assert rs.read(out).samples.sum() < table.samples.sum()


def test_a_router_that_chooses_nothing_is_told() -> None:
    router, experts = parts()
    always_second = by_coordinate(0, (1, 1), K=2)
    constant = rs.SmoothedClassifier(always_second, sigma=0.2, n0=100, n=2000, seed=0)
    notes = {}
    for name, part in {"router": router, "constant": constant}.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rs.certify(rs.Routed(part, experts), data())
        (notes[name],) = [
            warning.message.facts
            for warning in caught
            if isinstance(warning.message, Note)
            and warning.message.kind == "images_of_experts"
        ]
    assert notes["router"]["only"] is None
    assert notes["constant"]["only"] == 1
    # An expert that the router never names gets an image, so that it has a table.
    assert notes["constant"]["numbers"] == [1, 24]


def test_a_router_may_stop_early() -> None:
    routed = rs.Routed(*parts())
    whole = rs.certify(routed, data())
    cheap = rs.certify(routed, data(), router_rule="grid")
    assert cheap.samples.sum() < whole.samples.sum()
    assert cheap.header.routing is not None
    assert cheap.header.routing["router"]["rule"] == "grid"


@pytest.mark.parametrize("facts", [{"sigma": 0.5}, {"shard": "1/2"}])
def test_what_parts_cannot_share_is_refused(facts: dict[str, object]) -> None:
    with pytest.raises(Problem):
        rs.certify(rs.Routed(*parts()), data(), **facts)  # type: ignore[arg-type]
    with pytest.raises(Problem):
        rs.certify(parts()[0].model, data(), sigma=0.5, router_rule="grid")


def inflated(table: Certificates, factor: float) -> Certificates:
    """Return a routed table that claims `factor` times its radii."""
    assert table.routes is not None
    routes = replace(
        table.routes,
        router_radius=factor * table.routes.router_radius,
        expert_radius=factor * table.routes.expert_radius,
    )
    return replace(table, routes=routes, radius=factor * table.radius)


@pytest.mark.parametrize("gradient_free", [False, True])
def test_an_attack_crosses_the_borders_of_router_and_experts(
    gradient_free: bool,
) -> None:
    routed = rs.Routed(*parts())
    table = rs.certify(routed, data())
    how = {"gradient_free": gradient_free, "n": 2000, "m": 32, "take": 12}
    attacks = attack(routed, table, data(), **how)  # type: ignore[arg-type]
    assert len(attacks) == 12 and not attacks.failed.any()
    assert np.all(attacks.distance <= attacks.radius * (1.0 + 1e-5))

    # Three times the radius reaches a border. Expert 1 has none: there the router's is
    # crossed, or no answer changes.
    refuted = attack(routed, inflated(table, 3.0), data(), **how)  # type: ignore[arg-type]
    by_second = refuted.certified == 2
    assert refuted.failed[by_second].any() and refuted.failed[~by_second].any()
    border = np.abs(data()[0].reshape(-1, 2)[refuted.idx] - 0.5)
    near = np.where(by_second, border[:, 0], border.min(axis=1))
    assert np.all(refuted.distance[refuted.failed] >= near[refuted.failed] - 1e-5)


def test_only_the_routed_classifier_of_a_table_is_attacked() -> None:
    router, experts = parts()
    routed = rs.Routed(router, experts)
    table = rs.certify(routed, data())
    x, y = data()
    others = {
        "model": rs.Routed(router, experts[::-1]),
        "images": (x[::-1].copy(), y),
    }
    with pytest.raises(NotComparable):
        attack(others["model"], table, data(), n=2000)
    with pytest.raises(NotComparable):
        attack(routed, table, others["images"], n=2000)
    # Part of a routed classifier answers other questions.
    with pytest.raises(WrongTable):
        attack(experts[0].model, table, data(), n=2000)
    with pytest.raises(Conflict):
        attack(routed, table, data(), toward="2", n=2000)
