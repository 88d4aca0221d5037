"""The uniform numbers of the randomised bound: by pixels and seed, or fresh and kept, and of level alpha."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

import randsmooth as rs
from certification.planes import HalfSpace, beside
from randsmooth.certificates import (
    Certificates,
    from_counts,
    merge,
    read,
    write_parquet,
)

SIGMA, ALPHA, N0, N, IMAGES = 0.5, 0.01, 51, 100, 6000


def linear() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 2)).eval()


def run(x: torch.Tensor, out: Path, **facts: Any) -> Certificates:
    settings: dict[str, Any] = {
        "sigma": SIGMA,
        "n0": 20,
        "n": 200,
        "bound": "randomised",
    }
    return rs.certify(linear(), (x, np.arange(len(x)) % 2), out=out, **settings | facts)


def test_equal_images_get_one_number_and_so_do_a_run_its_shards_and_a_call(
    tmp_path: Path,
) -> None:
    x = torch.rand(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    x[2] = x[4] = x[0]
    whole = run(x, tmp_path / "whole.parquet")
    assert whole.u is not None and len(set(whole.u.tolist())) == 4
    assert len(set(whole.radius[[0, 2, 4]].tolist())) == 1
    for shard in ("1/2", "2/2"):
        run(x, tmp_path / "shards" / "a.parquet", shard=shard)
    merged = merge((tmp_path / "shards").iterdir())
    called = rs.SmoothedClassifier(
        linear(), sigma=SIGMA, n0=20, n=200, bound="randomised", seed=0
    )
    for table in (read(tmp_path / "whole.parquet"), merged):
        assert np.array_equal(table.u, whole.u) and np.array_equal(  # type: ignore[arg-type]
            table.radius, whole.radius
        )
    assert np.array_equal(called.certify(x).radius, whole.radius)
    assert not np.array_equal(run(x, tmp_path / "seed.parquet", seed=1).u, whole.u)  # type: ignore[arg-type]


def test_numbers_for_counts_from_elsewhere_are_fresh_and_kept(tmp_path: Path) -> None:
    facts: dict[str, Any] = {
        "n": N,
        "picked": [0] * 50,
        "label": [0] * 50,
        "sigma": SIGMA,
        "bound": "randomised",
    }
    first, second = (from_counts([N] * 50, **facts) for _ in range(2))
    assert not np.any(first.u == second.u) and len(set(first.radius)) > 10
    write_parquet(first, tmp_path / "a.parquet")
    for again in (read(tmp_path / "a.parquet"), first.at(alpha=0.001)):
        assert np.array_equal(again.u, first.u) and np.array_equal(  # type: ignore[arg-type]
            again.radius, first.radius
        )
    few = first.rows(np.array([7, 3])).u
    assert (
        first.u is not None and few is not None and np.array_equal(few, first.u[[7, 3]])
    )


class Sure(nn.Module):
    """Class 1, whatever it is asked."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack(
            [x.flatten(1)[:, 0] * 0.0, x.flatten(1)[:, 0] * 0.0 + 1.0], dim=1
        )


def allowed() -> float:
    return float(stats.binom.isf(1e-4, IMAGES, ALPHA)) / IMAGES


@pytest.mark.slow
def test_whoever_saw_the_numbers_of_other_images_in_the_same_rows_gains_nothing() -> (
    None
):
    """First images so sure that their radii tell the rows' numbers; then one in each row just short of that radius."""
    facts: dict[str, Any] = {
        "sigma": SIGMA,
        "n0": N0,
        "n": N,
        "alpha": ALPHA,
        "bound": "randomised",
        "seed": 0,
    }
    label = np.ones(IMAGES, np.int64)
    sure = beside(1.0, IMAGES, step=2.0**-16)
    seen = rs.certify(Sure().eval(), (sure, label), identity="sure", **facts).radius
    x = beside(seen - 1e-4, IMAGES, step=2.0**-16)
    distance = ((x.double().flatten(1) - 0.5).sum(dim=1) / x[0].numel() ** 0.5).numpy()
    assert np.all(distance < seen)
    table = rs.certify(HalfSpace().eval(), (x, label), identity="a plane", **facts)
    assert np.mean((table.predict == 1) & (table.radius > distance)) <= allowed()
    assert (
        np.mean(table.evidence()[1][:, 1] == N) > allowed()
    )  # so many were false by the numbers that were seen
