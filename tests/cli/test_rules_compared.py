"""Comparing tables of several rules: figures show what is measured, and remarks say what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from cli.run import Run
from randsmooth import certify
from randsmooth.models import Classifier


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    torch.manual_seed(0)
    model = Classifier(arch="small-cnn", classes=list("0123456789"), shape=[1, 8, 8]).eval()
    rules = {"whole": "fixed", "grid": "grid", "one": "radius=0.1"}
    for name, rule in rules.items():
        certify(
            model, "digits", sigma=0.25, take=8, n0=20, n=300, alpha=0.01, rule=rule, out=folder / f"{name}.parquet"
        )
    return folder


def test_the_p_a_figure_leaves_out_what_does_not_tell_it(cli: Run, tables: Path) -> None:
    files = [tables / f"{name}.parquet" for name in ("whole", "grid", "one")]
    code, out, err = cli("compare", *files, "--out", "a.html", "--figures", "png")
    assert code == 0
    assert Path("a-p_A.png").exists() and "a-p_A.png" in out
    assert "a-p_A.png leaves out grid, one, whose p_A is not known" in err
    assert "its radii are those of the grid" in err
    assert "it proves radius 0.1 or nothing" in err
    assert "(--rule grid, --rule radius=0.1, Clopper-Pearson bound)" in err


def test_without_any_that_tells_it_there_is_no_p_a_figure(cli: Run, tables: Path) -> None:
    code, out, _ = cli("compare", tables / "grid.parquet", "--out", "a.html", "--figures", "png")
    assert code == 0
    assert not Path("a-p_A.png").exists() and "a-p_A.png" not in out


def test_methods_of_several_sigma_are_drawn_at_their_best(cli: Run, tmp_path: Path) -> None:
    facts = {"dataset": "digits", "method": "gaussian"}
    model = Classifier(arch="small-cnn", classes=list("0123456789"), shape=[1, 8, 8], provenance=facts).eval()
    for sigma in (0.25, 1.0):
        certify(model, "digits", sigma=sigma, take=8, n0=20, n=300, alpha=0.01, out=tmp_path / f"{sigma:g}.parquet")
    code, out, err = cli("compare", "0.25.parquet", "1.parquet", "--out", "a.html", "--figures", "png")
    assert code == 0 and "a-sigmas.png" in out and Path("a-sigmas.png").exists()
    assert "a-sigmas.png: this is no one classifier's certified accuracy" in err
    code, out, err = cli("compare", "0.25.parquet", "--out", "b.html", "--figures", "png")
    assert code == 0 and "sigmas" not in out and "no b-sigmas.png: no method has" in err
