"""Certifying without samples that pick the class, on the command line: by whichever class crosses, or by the label."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn

import randsmooth as rs
from cli.run import Run

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
    assert (table.samples < usual.samples).all()
    verified = cli("verify", "any.parquet")
    assert verified.code == 0 and "verified" in verified.out
    planned = cli("plan", model, *QUICK, "--n0", "0", "--format", "json")
    assert planned.code == 0, planned.err
    assert json.loads(planned.out)["samples"]["middle"] == pytest.approx(table.samples.sum(), rel=0.2)
    assert cli("compare", "any.parquet", "usual.parquet").code == 0


def test_what_cannot_do_without_a_selection_says_what_can(cli: Run) -> None:
    cases: list[tuple[tuple[str, str], str]] = [
        (("--rule", "grid"), "n0=0 leaves no samples to pick a class"),
        (("--rule", "radius=0"), "radius=0 is too small"),
        (("--bound", "two-sided"), "bound=two-sided does not hold for any class"),
        (("--n0", "-1"), "n0=-1 must be a whole number of samples from 0"),
    ]
    for options, said in cases:
        told = cli("certify", "model.pt", *QUICK, "--n0", "0", *options, "--out", "a.parquet")
        assert told.code == 2 and said in " ".join(told.err.split()) and "Traceback" not in told.err
