"""The labels and images that train a router."""

from pathlib import Path

import numpy as np
import pytest
import torch

import randsmooth as rs
from randsmooth.certificates import from_counts, from_radii, write_parquet
from randsmooth.errors import Problem


def table(
    n_a: list[int], picked: list[int], sigma: float, **how: object
) -> rs.Certificates:
    counts = np.zeros((len(n_a), 3), np.int64)
    counts[np.arange(len(n_a)), picked] = n_a
    counts[np.arange(len(n_a)), (np.array(picked) + 1) % 3] = 1000 - np.array(n_a)
    facts: dict[str, object] = {"label": [0, 0, 0, 0, 0], "picked": picked, **how}
    return from_counts(counts, sigma=sigma, **facts)  # type: ignore[arg-type]


SMALL = table([999, 990, 999, 510, 900], [0, 0, 0, 0, 1], 0.25)
LARGE = table([999, 520, 999, 505, 950], [0, 0, 1, 0, 2], 1.0)


def test_the_label_is_the_expert_that_certifies_furthest() -> None:
    labels = rs.router_labels([SMALL, LARGE])
    # Of image 3 neither is sure, and the first has the right class more often; nobody
    # gets image 4 right.
    assert labels.idx.tolist() == [0, 1, 2, 3]
    assert labels.label.tolist() == [1, 0, 0, 0]
    assert labels.left_out.tolist() == [4]


def test_order_of_rows_and_files_do_not_matter(tmp_path: Path) -> None:
    for name, each in (("a", SMALL), ("b", LARGE.rows(np.array([3, 1, 4, 0, 2])))):
        write_parquet(each, tmp_path / f"{name}.parquet")
    labels = rs.router_labels([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert labels.label.tolist() == rs.router_labels([SMALL, LARGE]).label.tolist()


@pytest.mark.parametrize(
    "tables",
    [
        [SMALL],
        [SMALL, LARGE.rows(np.arange(4))],
        [SMALL, table([999] * 5, [0] * 5, 1.0, label=None)],
        [SMALL, table([999] * 5, [0] * 5, 1.0, label=[0, 0, 0, 0, 1])],
        # The second is never the best.
        [SMALL, from_radii([0.0] * 5, label=[0] * 5)],
    ],
)
def test_tables_that_tell_no_labels_are_refused(tables: list[rs.Certificates]) -> None:
    with pytest.raises(Problem):
        rs.router_labels(tables)


def test_images_are_those_of_the_tables() -> None:
    images = rs.data.load("digits", "train")
    idx = [7, 3, 100, 50, 20]
    label = images.labels[idx].tolist()
    small = from_radii([0.1, 0.0, 0.3, 0.0, 0.2], idx=idx, label=label)
    large = from_radii([0.2, 0.0, 0.1, 0.4, 0.0], idx=idx, label=label)
    x, y = rs.router_data("digits", [small, large])
    # Image 3 is certified by no expert.
    expected, _ = images.batch([7, 20, 50, 100])
    assert torch.equal(x, expected)
    assert y.tolist() == [1, 0, 1, 0]
    beyond = [
        from_radii(radius, idx=[7, 400], label=[0, 0])
        for radius in ([0.1, 0.2], [0.2, 0.1])
    ]
    with pytest.raises(Problem):
        rs.router_data("digits", beyond, split="test")
