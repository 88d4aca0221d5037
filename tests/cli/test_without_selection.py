"""Certifying without samples that pick the class, on the command line: by whichever class crosses, or by the label."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn

import randsmooth as rs
from cli.run import Run
from randsmooth import metrics

QUICK = ("--dataset", "mine.npz", "--sigma", "0.5", "--n", "2000", "--alpha", "0.01", "--rule", "radius=0.25")


@pytest.fixture
def model(cli: Run) -> str:
    """A model that tells dark images from bright ones, and six grey images in the folder where `cli` runs."""
    grey = np.array([0, 60, 110, 140, 200, 255], np.uint8)
    np.savez("mine.npz", x=np.broadcast_to(grey[:, None, None], (6, 8, 8)), y=[0, 0, 1, 1, 1, 1])
    last = nn.Linear(64, 2)
    last.weight.data = torch.tensor([[-1.0], [1.0]]).expand(2, 64) / 8
    last.bias.data = torch.tensor([4.0, -4.0])
    made = nn.Sequential(nn.Flatten(), last).eval()
    with pytest.warns(DeprecationWarning):
        torch.jit.script(made).save("model.pt")
    return "model.pt"


def test_whichever_class_crosses_is_certified_planned_and_verified(cli: Run, model: str) -> None:
    told = cli("certify", model, *QUICK, "--n0", "0", "--out", "any.parquet")
    assert told.code == 0, told.err
    assert cli("certify", model, *QUICK, "--out", "usual.parquet").code == 0
    table, usual = rs.read("any.parquet"), rs.read("usual.parquet")
    assert (table.header.n0, table.header.bound) == (0, "any-class") and usual.header.bound is None
    assert np.array_equal(table.predict, usual.predict) and (table.predict >= 0).sum() >= 4
    assert np.array_equal(table.samples, usual.samples - 100)
    verified = cli("verify", "any.parquet")
    assert verified.code == 0 and "verified" in verified.out
    planned = cli("plan", model, *QUICK, "--n0", "0", "--format", "json")
    assert planned.code == 0, planned.err
    assert json.loads(planned.out)["samples"]["middle"] == pytest.approx(table.samples.sum(), rel=0.2)
    assert cli("compare", "any.parquet", "usual.parquet").code == 0


def test_a_log_of_it_is_refused_with_the_way_to_one(cli: Run, model: str) -> None:
    fixed = [*QUICK[:-1], "fixed", "--n0", "0", "--take", "1"]
    assert cli("certify", model, *fixed, "--out", "any.parquet").code == 0
    refused = cli("export", "any.parquet")
    assert refused.code == 2 and "certify with --n0 100" in " ".join(refused.err.split())


@pytest.mark.slow
def test_the_label_itself_is_tested(cli: Run, model: str) -> None:
    told = cli("certify", model, *QUICK, "--n0", "0", "--label-aware", "--out", "label.parquet", "--workers", "2")
    assert told.code == 0, told.err
    assert cli("certify", model, *QUICK, "--out", "usual.parquet").code == 0
    table, usual = rs.read("label.parquet"), rs.read("usual.parquet")
    assert metrics.certified_accuracy(table, 0.25).value == metrics.certified_accuracy(usual, 0.25).value
    wrong = table.label != usual.counts0.argmax(axis=1)  # type: ignore[union-attr]
    assert wrong.sum() == 1 and table.samples[wrong] == 32  # given up at the first look
    assert table.samples.mean() < usual.samples.mean() - 90
    assert "samples test each image's label" in (table.header.guarantee or "")
    assert cli("verify", "label.parquet").code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rule", "grid"), "n0=0 leaves no samples to pick a class"),
        (("--rule", "radius=0"), "radius=0 is too small"),
        (("--bound", "two-sided"), "bound=two-sided does not hold for any class"),
        (("--n0", "-1"), "n0=-1 must be a whole number of samples from 0"),
    ],
)
def test_what_cannot_do_without_a_selection_says_what_can(cli: Run, options: tuple[str, str], said: str) -> None:
    told = cli("certify", "model.pt", *QUICK, "--n0", "0", *options, "--out", "a.parquet")
    assert told.code == 2 and said in " ".join(told.err.split()) and "Traceback" not in told.err
