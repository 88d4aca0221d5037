"""`randsmooth plan`, `certify --plan` and `randsmooth accuracy`: what is said, what is written, what is refused."""

import json
import re
from pathlib import Path

import pytest

from cli.processes import Run
from randsmooth import read

SHORT = ("--n", "1000", "--seconds", "0.2")
FEW = ("--n", "300", "--alpha", "0.01", "--take", "12")


def test_a_plan_says_samples_times_and_what_rules_cost_and_writes_nothing(
    cli: Run, model: Path
) -> None:
    ran = cli.done(
        "plan", model, "--take", "50", "--rule", "grid", "--workers", "2,8", *SHORT
    )
    assert "digits test, take 50 of 364, rule grid, n = 1,000: 50 images" in ran.out
    for part in (
        "samples",
        "time here",
        "2 workers",
        "8 workers",
        "memory",
        "disk",
        "<- asked for",
        "chance",
    ):
        assert part in ran.out
    found = json.loads(
        cli(
            "plan", model, "--take", "20", "--workers", "4", "--format", "json", *SHORT
        ).out
    )
    assert found["samples"] == {"middle": 22000.0, "low": 22000.0, "high": 22000.0}
    assert found["workers"]["4"]["middle"] < found["seconds"]["middle"]
    assert (
        found["model"] == str(model)
        and found["rules"]["grid"]["samples"]["middle"] <= 22000.0
    )
    assert (
        "rule fixed, n = 200: 5 images"
        in cli.done("certify", model, "--take", "5", "--n", "200", "--plan").out
    )
    assert [path.name for path in model.parent.iterdir()] == ["m"]


def test_accuracy_says_what_was_measured_and_how_sure_it_is(
    cli: Run, model: Path
) -> None:
    words = ("accuracy", model, "--radius", "0.1", "--within", "0.05", *FEW)
    ran = cli.done(*words, "--out", "a.parquet")
    assert re.search(
        r"^certified accuracy at r = 0.1 of 12 images: .*, 95% interval$",
        ran.out,
        re.MULTILINE,
    )
    assert (
        "with 95% confidence at least" in ran.out
        and "samples," in ran.out
        and "a.parquet" in ran.out
    )
    assert read("a.parquet").header.rule == "screen=0.1"
    assert (
        cli.done(*words, "--out", "a.parquet", "--resume").out.splitlines()[-4:]
        == ran.out.splitlines()[-4:]
    )
    assert "a.parquet exists" in cli.refused(*words, "--out", "a.parquet")
    told = json.loads(cli(*words, "--format", "json").out)  # under a name of its own
    assert (
        told["images"] == 12
        and told["low"] <= told["value"] <= told["high"]
        and told["radius"] == 0.1
    )
    assert (model.parent / "m-accuracy-0.1.parquet").exists()


@pytest.mark.usefixtures("model")
def test_accuracy_and_assess_say_what_radii_of_features_count_in(
    cli: Run, tmp_path: Path
) -> None:
    rows = ["a,b,label", *(f"{i % 7},{10 * (i % 5)},{i % 7 // 4}" for i in range(60))]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    (tmp_path / "rule.py").write_text(
        "def make():\n    return lambda x: (x[:, 0] > 3.5).astype(int)\n"
    )
    unit = "radius in standard deviations of each feature"
    words = ("rule.py:make", "--num-classes", "2", "--n", "100", "--identity", "a")
    ran = cli.done(
        "accuracy",
        *words,
        *("--dataset", "rows.csv", "--sigma", "0.25std"),
        *("--radius", "0.1", "--within", "0.1", "--out", "a.parquet"),
    )
    assert f"r is the {unit}" in ran.out
    table = read("a.parquet")
    assert table.norm == "deviations" and table.noise.scale == 0.25
    done = cli.done(
        *("assess", words[0], "rows.csv", *words[1:], "--take", "8"),
        *("--sigma", "0.25std", "--out", "assessed"),
    )
    assert f"unit        {unit}" in done.out
    assert "σ = 0.25 standard deviations of each feature" in done.out
    assert "gaussian-per-coordinate" not in done.out + done.err


@pytest.mark.usefixtures("model")
def test_what_cannot_be_is_refused(cli: Run) -> None:
    bad = {
        "plan m --seconds inf": "--seconds",
        "plan m --workers two": "two",
        "plan m --pilot-seed -1": "--pilot-seed",
        "accuracy m": "accuracy needs --radius",
        "accuracy m --radius 0.1 --within 2": "--within 2.0 must lie strictly between 0 and 0.5",
        "accuracy m --radius 0.1 --rule grid": "no such option",
    }
    cli.refuses(bad)
