"""`randsmooth doctor` on this machine, and on machines where something is missing or broken."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from cli.run import Run
from randsmooth.certification.backends import BACKENDS
from randsmooth.extras import EXTRAS
from test_extras import without


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, with the cache and the data sets below it."""
    folder = tmp_path / "home"
    (folder / "data" / "mnist").mkdir(parents=True)
    (folder / "cache" / "unsent" / "s3").mkdir(parents=True)
    (folder / "cache" / "unsent" / "s3" / "a.parquet").write_bytes(b"x" * 2**20)
    for name, value in {
        "HOME": folder,
        "RANDSMOOTH_CACHE": folder / "cache",
        "RANDSMOOTH_DATA": folder / "data",
    }.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("HF_HOME", raising=False)
    return folder


def test_the_report_says_what_is_here_and_names_no_home(cli: Run, home: Path) -> None:
    done = cli("doctor", "--quick")
    assert done.code == 0, done.out
    assert str(home) not in done.out
    assert f"{home.name}/" not in done.out
    lines = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert lines["mnist"].split()[1:] == ["~/data/mnist"]
    assert "1 files, 1.0 MiB, to be sent" in lines["unsent"]
    assert re.search(r"^  torch +\d", done.out, re.MULTILINE)
    assert "AVX" in lines["processor"] or "cores" in lines["processor"]
    assert done.out.splitlines()[-1] == "nothing is broken"


def test_secrets_and_the_environment_stay_out(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "HF_TOKEN", "MLFLOW_TRACKING_URI", "SOMETHING_ELSE"):
        monkeypatch.setenv(name, "open-sesame")
    monkeypatch.setenv("RANDSMOOTH_DATA", "s3://key:open/open-sesame@bucket/data")
    done = cli("doctor", "--quick", "--json")
    assert "open-sesame" not in done.out
    assert json.loads(done.out)["environment"]["RANDSMOOTH_DATA"] == "s3://...@bucket/data"


def test_without_any_extra_it_says_what_to_install(tmp_path: Path) -> None:
    done = without({*EXTRAS}, tmp_path, "doctor", "--quick", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads(done.stdout)
    assert set(found["missing"]) == {*EXTRAS.values()}
    assert all("pip install" in said for said in found["missing"].values())
    assert found["backends"] == {}


def test_what_is_broken_is_named_and_the_rest_is_looked_at(
    cli: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> bool:
        raise OSError("libopenvino.so: cannot open shared object file")

    (home / "file").write_text("")
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(home / "file"))
    monkeypatch.setattr(metadata, "requires", lambda name: ["numpy>=99.1", "torch>=99; extra == 'torch'", "scipy>=1.0"])
    monkeypatch.setattr(BACKENDS["openvino"], "installed", fails)
    done = cli("doctor", "--quick")
    assert done.code == 1
    said = [line for line in done.out.splitlines() if line.startswith("BROKEN: ")]
    expected = ["numpy 2.*numpy >= 99.1", "torch 2.*torch >= 99", "backend openvino: OSError: libopenvino.so"]
    for words, line in zip([*expected, "~/file .*set RANDSMOOTH_CACHE"], said, strict=True):
        assert re.search(words, line), line
    assert "  torch           installed" in done.out


@pytest.mark.slow
def test_backends_are_timed() -> None:
    command = [sys.executable, "-m", "randsmooth", "doctor", "--json"]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    backends = json.loads(done.stdout)["backends"]
    for name in ("torch", "openvino", "onnx"):
        rate = backends[name].partition(": ")[2].split(" in ")[0]
        assert int(rate.replace(",", "")) > 100, backends[name]
