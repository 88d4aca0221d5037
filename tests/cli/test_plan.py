"""`randsmooth plan` and `certify --plan`: what a certification will take, and nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.run import Run
from randsmooth import data, models

SHORT = ("--sigma", "0.5", "--n", "1000", "--seconds", "0.2")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    spec = data.describe("digits")
    made = models.Classifier(arch="small-cnn", classes=list(spec.classes), shape=spec.shape)
    models.save(made.eval(), tmp_path / "model")
    return tmp_path / "model"


def test_a_person_reads_samples_times_and_what_rules_cost(cli: Run, model: Path) -> None:
    ran = cli("plan", model, "--dataset", "digits", "--take", "50", "--rule", "grid", "--workers", "2,8", *SHORT)
    assert ran.code == 0
    assert "digits test, take 50 of 364, rule grid, n = 1,000: 50 images" in ran.out
    for part in ("samples", "time here", "2 workers", "8 workers", "memory", "disk", "<- asked for", "chance"):
        assert part in ran.out
    assert {path.name for path in model.parent.iterdir()} == {"model"}


def test_a_program_reads_json(cli: Run, model: Path) -> None:
    ran = cli("plan", model, "--dataset", "digits", "--take", "20", "--workers", "4", "--format", "json", *SHORT)
    found = json.loads(ran.out)
    assert found["samples"] == {"middle": 22000.0, "low": 22000.0, "high": 22000.0}
    assert found["workers"]["4"]["middle"] < found["seconds"]["middle"]
    assert found["model"] == str(model) and found["rules"]["grid"]["samples"]["middle"] <= 22000.0


def test_certify_says_it_in_place_of_certifying(cli: Run, model: Path) -> None:
    ran = cli("certify", model, "--dataset", "digits", "--take", "5", "--sigma", "0.5", "--n", "200", "--plan")
    assert ran.code == 0 and "rule fixed, n = 200: 5 images" in ran.out
    assert {path.name for path in model.parent.iterdir()} == {"model"}


def test_bad_input_is_refused(cli: Run, model: Path) -> None:
    for words, named in (
        (["--format", "xml"], "xml"),
        (["--seconds", "0"], "--seconds"),
        (["--seconds", "inf"], "--seconds"),
        (["--workers", "0"], "--workers"),
        (["--workers", "two"], "two"),
        (["--pilot-seed", "-1"], "--pilot-seed"),
        (["--rule", "grd"], "did you mean 'grid'"),
    ):
        ran = cli("plan", model, "--dataset", "digits", "--sigma", "0.5", *words)
        assert ran.code == 2 and named in ran.err, words
