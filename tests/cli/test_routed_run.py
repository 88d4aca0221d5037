"""A router trained and certified with its experts from the command line."""

import json
from pathlib import Path

import pytest

from cli.processes import Run
from randsmooth import read
from untrained import another, untrained


@pytest.fixture
def experts(tmp_path: Path) -> list[str]:
    untrained(tmp_path / "large", dataset="digits", sigma=0.5)
    # Other weights, so that either is the best expert for some images.
    copied = untrained(tmp_path / "copied", dataset="digits", sigma=0.05)
    another(copied, tmp_path / "small")
    return ["small", "large"]


def test_a_router_is_trained_and_certified_with_its_experts(
    cli: Run, tmp_path: Path, experts: list[str]
) -> None:
    for name in experts:
        words = ["--split", "train", "--take", 200, "--n0", 10, "--n", 100]
        cli.done("certify", name, *words, "--out", f"{name}-train.parquet")
    told = [word for name in experts for word in ("--expert", f"{name}-train.parquet")]
    trained = ["--method", "gaussian", "--sigma", 0.5, "--epochs", 1, "--out", "router"]
    cli.done("train", "digits", *told, *trained)
    words = ["certify", "--router", "router", *experts, "--take", 10, "--n", 200]
    cli.done(*words, "--out", "routed.parquet")
    table = read(tmp_path / "routed.parquet")
    assert len(table) == 10 and table.labelled
    assert table.header.routing is not None
    names = [entry["name"] for entry in table.header.routing["experts"]]
    assert names == ["routed-expert0", "routed-expert1"]
    assert cli(*words, "--out", "routed.parquet").code == 2
    cli.done(*words, "--out", "routed.parquet", "--resume")
    cli.done(*words, "--out", "routed.parquet", "--overwrite", "--router-rule", "grid")
    assert read(tmp_path / "routed-router.parquet").header.rule == "grid"
    plan = cli.done(*words, "--plan")
    assert plan.out.count("samples ") >= 2


@pytest.mark.parametrize(
    "words",
    [
        ["small"],
        ["small", "large", "--ensemble", "vote"],
        ["small", "large", "--sigma", 0.5],
        ["small", "large", "--shard", "1/2"],
    ],
)
def test_what_a_router_cannot_take_is_refused(
    cli: Run, experts: list[str], words: list[object]
) -> None:
    assert experts
    assert cli("certify", "--router", "small", *words).code == 2


def test_json_names_the_table(cli: Run, experts: list[str]) -> None:
    # An expert of ten classes is no router of two experts.
    refused = cli("certify", "--router", "small", *experts, "--take", 3, "--n", 100)
    assert refused.code == 2
    assert json.dumps(refused.out) == '""'
