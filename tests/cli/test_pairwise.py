"""`certify --bound pairwise`: recorded in the table, whose radii are those of the bound, and judged again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from cli.run import Run
from randsmooth import bounds, models, read
from randsmooth.noise import Gaussian


def radii(counts: np.ndarray, picked: np.ndarray, alpha: float) -> np.ndarray:
    _, q, p = bounds.pairwise_bounds(counts, picked, alpha)
    return np.asarray(Gaussian(0.25).radius(q, p).min(axis=1))


def test_a_table_says_that_its_radii_are_pairwise(cli: Run, tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = models.Classifier(arch="small-cnn", classes=list("0123456789"), shape=[1, 8, 8]).eval()
    models.save(network, tmp_path / "net")
    words = ("--dataset", "digits", "--sigma", "0.25", "--n0", "20", "--n", "400", "--alpha", "0.01", "--take", "6")
    ran = cli("certify", "net", *words, "--bound", "pairwise", "--out", "a.parquet")
    assert ran.code == 0, ran.err
    table = read("a.parquet")
    assert table.header.bound == "pairwise" and "tested against each other one" in (table.header.guarantee or "")
    assert table.counts is not None and table.counts0 is not None
    picked = table.counts0.argmax(axis=1)
    expected = radii(table.counts, picked, 0.01)
    np.testing.assert_allclose(table.radius, expected)
    assert np.array_equal(table.predict >= 0, expected > 0.0)
    np.testing.assert_allclose(table.at(alpha=0.1).radius, radii(table.counts, picked, 0.1))
    code, _, err = cli("certify", "net", *words, "--rule", "grid", "--bound", "pairwise", "--out", "b.parquet")
    assert code != 0 and "bound=pairwise is for the fixed rule" in err
