"""Certified accuracy of all images from two passes: the files, what they prove, resumed, and what is refused."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import randsmooth as rs
from certification.planes import HalfSpace, at_distance
from certification.runs import StopAfter
from models.refusing import check_refusals
from randsmooth.errors import BadValue, OutputExists, WrongData
from randsmooth.metrics import (
    MeasuredAccuracy,
    certified_accuracy,
    measured_accuracy,
    sampled_accuracy,
)
from values import Refusal

R, IMAGES = 0.4, 200
SETTINGS = rs.CertificationSettings(sigma=0.5, n=5000, alpha=0.01)
DISTANCES = np.random.default_rng(0).uniform(
    -0.2, 1.2, IMAGES
)  # of the planes: a third of them within R


@pytest.fixture(scope="module")
def split() -> tuple[torch.Tensor, torch.Tensor]:
    return at_distance(DISTANCES.tolist()), torch.ones(IMAGES, dtype=torch.int64)


def measure(split: object, out: Path, **more: object) -> MeasuredAccuracy:
    how = {"radius": R, "within": 0.02, "identity": "half space", "out": out} | more
    return rs.measure_accuracy(HalfSpace().eval(), split, SETTINGS, **how)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def measured(
    split: object, tmp_path_factory: pytest.TempPathFactory
) -> tuple[MeasuredAccuracy, Path]:
    out = tmp_path_factory.mktemp("measured") / "a.parquet"
    return measure(split, out), out


def test_it_is_the_figure_of_all_images_for_fewer_samples_and_keeps_its_evidence_in_two_tables(
    split: object, measured: tuple[MeasuredAccuracy, Path]
) -> None:
    found, out = measured
    how = SETTINGS.replace(rule=f"radius={R}", label_aware=True, n0=0)
    whole = rs.certify(HalfSpace().eval(), split, how, identity="half space")
    assert found.low <= certified_accuracy(whole, R).value <= found.high
    assert (found.high - found.low) / 2 < 0.02 + 1e-9 and found.images == IMAGES
    assert found.assured <= found.low <= found.value <= found.high
    assert found.assured <= np.mean(DISTANCES >= R)
    assert found.samples < whole.samples.sum()
    first, second = rs.read(out), rs.read(out.with_name("a-open.parquet"))
    assert (len(first), len(second)) == (
        IMAGES,
        found.resolved,
    ) and 0 < found.resolved < found.left_open
    assert first.header.rule == f"screen={R}" and second.header.rule == f"radius={R}"
    assert (
        second.header.selection
        == f"{found.resolved} left open by the first pass over all {IMAGES}"
    )
    assert measured_accuracy(first, second) == found
    assert found.samples == first.samples.sum() + second.samples.sum()


def test_a_coarse_answer_takes_some_of_the_images_alone(
    split: object, tmp_path: Path
) -> None:
    found = measure(split, tmp_path / "a.parquet", within=0.15)
    table = rs.read(tmp_path / "a.parquet")
    assert (
        table.header.rule == f"radius={R}"
        and table.header.selection == f"{len(table)} by chance of all {IMAGES}"
    )
    assert (
        found.resolved == len(table) <= IMAGES / 5
        and found.images == found.left_open == IMAGES
    )
    assert found.low <= np.mean(DISTANCES >= R) <= found.high <= found.low + 0.3
    assert not (tmp_path / "a-open.parquet").exists()
    assert not np.array_equal(
        np.diff(table.idx), np.full(len(table) - 1, table.idx[1] - table.idx[0])
    )
    assert sampled_accuracy(table, IMAGES) == found
    assert measure(split, tmp_path / "a.parquet", within=0.15, resume=True) == found
    assert (
        measure(split, tmp_path / "b.parquet", within=0.15, seed=1).resolved
        == found.resolved
    )
    assert not np.array_equal(rs.read(tmp_path / "b.parquet").idx, table.idx)


def test_a_run_cut_short_in_either_pass_goes_on(
    split: object, measured: tuple[MeasuredAccuracy, Path], tmp_path: Path
) -> None:
    out, images = tmp_path / "a.parquet", measured[0].resolved
    for title, stop in (("certify a", IMAGES // 2), ("certify a-open", images // 2)):

        def stopping(
            name: str, *told: object, title: str = title, stop: int = stop
        ) -> Any:
            return nullcontext(StopAfter(stop if name == title else IMAGES))

        with pytest.raises(KeyboardInterrupt):
            measure(split, out, resume=True, progress=stopping)
        assert out.exists() is (title == "certify a-open")
    assert measure(split, out, resume=True) == measured[0]
    check_refusals(
        [
            (
                lambda: measure(split, out, resume=True, within=0.03),
                Refusal(OutputExists),
            ),
            (lambda: measure(split, out), Refusal(OutputExists, "a.parquet")),
        ]
    )
    assert measure(split, out, overwrite=True, seed=1) != measured[0]


def test_what_cannot_be_is_refused_before_any_image(
    split: tuple[torch.Tensor, torch.Tensor], tmp_path: Path
) -> None:
    out = tmp_path / "a.parquet"
    table: list[tuple[dict[str, Any], Refusal]] = [
        ({"rule": "grid"}, Refusal(BadValue, "rule='grid'", field="rule")),
        (
            {"bound": "randomised"},
            Refusal(BadValue, "bound='randomised'", field="bound"),
        ),
        ({"within": 0.7}, Refusal(BadValue, "within=0.7", field="within")),
        ({"radius": -1.0}, Refusal(BadValue, "-1.0")),
        ({"radius": 9.0}, Refusal(BadValue)),
        ({"out": tmp_path / "a.tsv"}, Refusal(BadValue)),
    ]
    check_refusals(
        (lambda how=how: measure(split, **{"out": out} | how), said)  # type: ignore[misc]
        for how, said in table
    )
    check_refusals([(lambda: measure(split[0], out), Refusal(WrongData))])
    assert not list(tmp_path.iterdir())
