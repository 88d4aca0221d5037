"""`randsmooth accuracy`: what it prints and writes, and the files it goes on with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

from cli.run import Run
from randsmooth import models, read


@pytest.fixture
def model(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    network = models.Classifier(arch="small-cnn", classes=list("0123456789"), shape=[1, 8, 8]).eval()
    models.save(network, tmp_path / "net")
    return tmp_path / "net"


WORDS = ("--dataset", "digits", "--sigma", "0.25", "--n", "300", "--alpha", "0.01", "--take", "12")


def test_it_says_what_was_measured_and_how_sure_it_is(cli: Run, model: Path) -> None:
    ran = cli("accuracy", model, "--radius", "0.1", "--within", "0.05", *WORDS, "--out", "a.parquet")
    assert ran.code == 0, ran.err
    assert re.search(r"^certified accuracy at r = 0.1 of 12 images: .*, 95% interval$", ran.out, re.MULTILINE)
    assert "with 95% confidence at least" in ran.out and "samples," in ran.out and "a.parquet" in ran.out
    assert read("a.parquet").header.rule == "screen=0.1"
    again = cli("accuracy", model, "--radius", "0.1", "--within", "0.05", *WORDS, "--out", "a.parquet", "--resume")
    assert again.code == 0 and again.out.splitlines()[-4:] == ran.out.splitlines()[-4:]
    code, _, err = cli("accuracy", model, "--radius", "0.1", *WORDS, "--out", "a.parquet")
    assert code != 0 and "a.parquet exists" in err


def test_as_json_and_under_a_name_of_its_own(cli: Run, model: Path) -> None:
    ran = cli("accuracy", model, "--radius", "0.1", "--within", "0.1", *WORDS, "--format", "json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert told["images"] == 12 and told["low"] <= told["value"] <= told["high"] and told["radius"] == 0.1
    assert (model.parent / "net-accuracy-0.1.parquet").exists()


def test_what_cannot_be_is_refused(cli: Run, model: Path) -> None:
    cases: list[tuple[tuple[str, ...], str]] = [
        ((), "accuracy needs --radius"),
        (("--radius", "0.1", "--within", "2"), "within=2.0 must lie strictly between 0 and 0.5"),
        (("--radius", "nan"), "radius=nan must be a finite number >= 0"),
        (("--radius", "0.1", "--format", "csv"), "unknown format 'csv'"),
        (("--radius", "0.1", "--rule", "grid"), "No such option"),
    ]
    for words, named in cases:
        code, _, err = cli("accuracy", model, *WORDS, *words)
        assert code != 0 and named in err
