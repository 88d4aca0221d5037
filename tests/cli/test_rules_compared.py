"""Comparing tables of several rules: figures show what is measured, and remarks say what is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from randsmooth import certify
from randsmooth.models import Classifier

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    torch.manual_seed(0)
    model = Classifier(arch="small-cnn", classes=list("0123456789"), shape=[1, 8, 8]).eval()
    for name, rule in (("whole", "fixed"), ("grid", "grid"), ("one", "radius=0.1")):
        certify(
            model, "digits", sigma=0.25, take=8, n0=20, n=300, alpha=0.01, rule=rule, out=folder / f"{name}.parquet"
        )
    return folder


def test_the_p_a_figure_leaves_out_what_does_not_tell_it(cli: Run, tables: Path) -> None:
    files = [tables / f"{name}.parquet" for name in ("whole", "grid", "one")]
    code, out, err = cli("compare", *files, "--out", "a.html", "--figures", "png")
    assert code == 0
    assert Path("a-p_A.png").exists() and "a-p_A.png" in out
    assert "a-p_A.png leaves out grid, one, which do not tell p_A" in err
    assert "its radii are those of the grid" in err
    assert "it proves radius 0.1 or nothing" in err
    assert "(--rule grid, --rule radius=0.1, Clopper-Pearson bound)" in err


def test_without_any_that_tells_it_there_is_no_p_a_figure(cli: Run, tables: Path) -> None:
    code, out, _ = cli("compare", tables / "grid.parquet", "--out", "a.html", "--figures", "png")
    assert code == 0
    assert not Path("a-p_A.png").exists() and "a-p_A.png" not in out
