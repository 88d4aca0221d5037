"""A package that is not ours, really installed: its entries train, certify and report by the command line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import randsmooth
from openness.plugin import SOURCE

OFFLINE = (
    "--no-deps",
    "--no-build-isolation",
    "--no-index",
    "--disable-pip-version-check",
    "--quiet",
)
FEW = "--n 1000 --n0 50"


@pytest.mark.slow
def test_it_trains_certifies_and_reports(tmp_path: Path) -> None:
    site, source = (
        tmp_path / "site",
        shutil.copytree(SOURCE, tmp_path / "source"),
    )  # a build leaves files behind
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        *OFFLINE,
        "--target",
        str(site),
        str(source),
    ]
    subprocess.run(install, check=True, timeout=300)
    path = os.pathsep.join([str(site), str(Path(randsmooth.__file__).parents[1])])
    environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}

    def verb(words: str) -> str:
        how = {
            "cwd": tmp_path,
            "env": environment,
            "capture_output": True,
            "text": True,
            "timeout": 600,
        }
        done = subprocess.run(
            [sys.executable, "-m", "randsmooth", *words.split()], **how, check=False
        )  # type: ignore[call-overload]
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    assert "halves[=SHARE]: a share of the samples" in verb("certify --help")
    how = "--method clean-and-noisy --set share=0.3 --arch two-layers --sigma 0.25 --epochs 3"
    verb(f"train stripes {how} --out model")
    verb(
        f"certify model --rule halves=0.25 --backend float64 {FEW} --out stripes.parquet"
    )
    verb(f"certify model {FEW} --out fixed.parquet")
    verb(f"certify model --noise triangular=0.2 {FEW} --out l1.parquet")
    assert "no certificate failed" in verb("attack model l1.parquet --take 5")
    assert "verified" in verb("verify stripes.parquet model")
    assert "stripes    128" in verb("evaluate stripes.parquet fixed.parquet")
    verb("compare stripes.parquet fixed.parquet --out page.html")
    assert "<h2>Abstentions</h2>" in (tmp_path / "page.html").read_text()
