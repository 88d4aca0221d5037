"""`randsmooth certify A B C --ensemble RULE`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import randsmooth as rs
from cli.run import Run
from randsmooth import models

CODE = """
import numpy as np

WEIGHTS = np.random.default_rng(0).normal(size=(64, 10))

def linear():
    return lambda images: (images.reshape(len(images), 64) @ WEIGHTS).argmax(axis=1)
"""


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two model folders that say their data set and sigma."""
    found = []
    for seed in range(2):
        torch.manual_seed(seed)
        spec = rs.data.describe("digits")
        provenance = {"dataset": "digits", "sigma": 0.25, "method": "gaussian", "seed": seed}
        model = models.Classifier(arch="small-cnn", classes=list(spec.classes), shape=spec.shape, provenance=provenance)
        found.append(tmp_path / f"model{seed}")
        models.save(model.eval(), found[-1])
    return found


def test_several_models_are_certified_as_one(folders: list[Path], cli: Run) -> None:
    cases: list[tuple[str, str]] = [("mean-logits", "logits"), ("mean-probabilities", "probabilities")]
    for rule, of in cases:
        a, b = folders
        done = cli("certify", a, b, "--ensemble", rule, "--take", 5, "--n", 300, "--overwrite")
        assert done.code == 0, done.err
        table = rs.read(a.with_name("model0+model1.parquet"))
        expected = rs.certify(rs.Ensemble([a, b], of), take=5, n=300, out=a.with_name("same.parquet"), overwrite=True)
        assert table.header.model == expected.header.model
        assert table.header.sigma == 0.25  # which both say
        assert table.counts is not None
        assert expected.counts is not None
        assert np.array_equal(table.counts, expected.counts)
        assert f"an ensemble of 2: the mean of the members' {of}" in done.out


def test_mixed_kinds_vote_with_a_consensus(folders: list[Path], cli: Run) -> None:
    (folders[0].parent / "zoo.py").write_text(CODE)
    words = ["certify", *folders, "zoo.py:linear", "--ensemble", "vote", "--consensus", 2, "--take", 4, "--n", 300]
    done = cli(*words, "--out", "mixed.parquet", "--identity", "the zoo of today")
    assert done.code == 0, done.err
    table = rs.read(folders[0].with_name("mixed.parquet"))
    assert table.header.backend == "mixed"
    assert "where the first 2 agree, they alone answer" in str(table.header.model)
    again = cli(*words, "--out", "mixed.parquet", "--identity", "the zoo of tomorrow", "--resume")
    assert again.code != 0
    assert "begun differently" in again.err


def test_what_cannot_be_an_ensemble(folders: list[Path], cli: Run) -> None:
    cases: list[tuple[tuple[str, ...], str]] = [
        (("model0", "model1"), "2 models are given"),
        (("model0", "--ensemble", "vote"), "needs at least two models"),
        (("model0", "model1", "--ensemble", "mean"), "unknown ensemble 'mean'"),
        (("model0", "--consensus", "2"), "--consensus 2 is for several models"),
        (("model0", "model1", "--ensemble", "vote", "--consensus", "2"), "consensus=2 must be a whole number from 2"),
        (("model0", "nothing", "--ensemble", "vote"), "nothing"),
        (("model0", "model1", "--ensemble", "vote", "--model-arg", "a=1"), "--model-arg is for one model"),
    ]
    for words, message in cases:
        done = cli("certify", *words)
        assert done.code == 2
        assert message in done.err
