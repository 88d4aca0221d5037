"""A package that is not ours, really installed: its entries train, certify and report by the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import randsmooth
from openness.plugin import SOURCE

OFFLINE = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")

Run = Callable[..., str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs Python with these words in an environment that has the package; what it printed."""
    site, work = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("work")
    source = shutil.copytree(SOURCE, tmp_path_factory.mktemp("source") / "package")  # a build leaves files behind
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *OFFLINE, "--target", site, source], check=True, timeout=300
    )
    path = os.pathsep.join([str(site), str(Path(randsmooth.__file__).parents[1])])

    def run(*words: object) -> str:
        environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}
        command = [sys.executable, *map(str, words)]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


CONTRACTS = """
from randsmooth import testing
testing.check_method("clean-and-noisy")
testing.check_rule("halves")
testing.check_rule("halves=0.25")
testing.check_dataset("stripes")
testing.check_architecture("two-layers")
testing.check_backend("float64")
testing.check_panel("abstentions")
"""


@pytest.mark.slow
def test_its_contracts_hold(run: Run) -> None:
    run("-c", CONTRACTS)


@pytest.mark.slow
def test_it_is_listed_with_its_name(run: Run) -> None:
    listed = run("-m", "randsmooth", "methods")
    assert "an example, after Cohen, Rosenfeld & Kolter, ICML 2019; from smoothing-extras" in listed
    assert "stripes         Stripes across or down, 8x8 grey, made on the spot (from smoothing-extras)" in run(
        "-m", "randsmooth", "data", "list"
    )
    assert "halves[=SHARE]: a share of the samples" in run("-m", "randsmooth", "certify", "--help")


@pytest.mark.slow
def test_it_trains_certifies_and_reports(run: Run) -> None:
    verb = ("-m", "randsmooth")
    settings = ("--method", "clean-and-noisy", "--set", "share=0.3", "--arch", "two-layers", "--sigma", 0.25)
    run(*verb, "train", "stripes", *settings, "--epochs", 3, "--out", "model")
    run(
        *verb,
        "certify",
        "model",
        "--rule",
        "halves=0.25",
        "--backend",
        "float64",
        "--n",
        1000,
        "--n0",
        50,
        "--out",
        "stripes.parquet",
    )
    run(*verb, "certify", "model", "--n", 1000, "--n0", 50, "--out", "fixed.parquet")
    assert "verified" in run(*verb, "verify", "stripes.parquet", "model")
    assert "stripes    128" in run(*verb, "evaluate", "stripes.parquet", "fixed.parquet")
    run(*verb, "compare", "stripes.parquet", "fixed.parquet", "--out", "page.html")
    run("-c", "assert '<h2>Abstentions</h2>' in open('page.html').read()")
