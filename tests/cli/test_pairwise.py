"""`certify --bound pairwise`: recorded in the table, whose radii are those of the bound, and judged again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from cli.run import Run
from randsmooth import bounds, models, read


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
    expected = bounds.pairwise_radius(table.counts, picked, 0.25, 0.01)
    np.testing.assert_allclose(table.radius, expected)
    assert np.array_equal(table.predict >= 0, expected > 0.0)
    np.testing.assert_allclose(table.at(alpha=0.1).radius, bounds.pairwise_radius(table.counts, picked, 0.25, 0.1))
    code, _, err = cli("certify", "net", *words, "--rule", "grid", "--bound", "pairwise", "--out", "b.parquet")
    assert code != 0 and "bound=pairwise is for the fixed rule" in err
