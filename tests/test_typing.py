"""A program that uses the public functions passes `mypy --strict`, and its mistakes are found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import randsmooth

SOURCE = Path(randsmooth.__file__).parents[1]

PROGRAM = """
import numpy as np
from torch import nn

import randsmooth as rs


def told(metrics: dict[str, float], model: rs.models.Classifier) -> None:
    print(metrics["epoch"], model.classes)


x, y = (images := rs.data.load("digits", "test")).batch(rs.data.take(len(images), 5))
model = rs.train("digits", sigma=0.25, epochs=1, take=64, out="m", logger="csv", callback=told, progress=False)
classes: list[str] = rs.models.load("m").classes
table: rs.Certificates = rs.certify(model, "digits", take=5, n=100, out="m.parquet")
settings = rs.CertificationSettings(sigma=0.5, n=1000)
other = rs.certify(nn.Flatten().eval(), (np.zeros((2, 8, 8)), [0, 1]), settings, out="o.parquet")
radii: list[float] = table.radius.tolist()
counts: int = int(rs.SmoothedClassifier(model, sigma=0.25).certify(x, n=100).counts.sum())
print(rs.metrics.acr(table), rs.read("m.parquet").header.n, rs.ABSTAIN, rs.Problem("no"))
"""

MISTAKES = """
import torch

import randsmooth as rs

x = torch.zeros(1, 8, 8)
network = torch.nn.Flatten()
rs.train("digits", sigma=0.25, out=3)
rs.data.load("digits", 7)
rs.models.load("m").forward(3)
rs.certify("m", out="m.parquet").radii
table = rs.read("m.parquet")
rs.train("digits", sgima=0.25, out="m")
rs.train("digits", method="gaussian", epoch=5, out="m")
rs.train("digits", epochs="five", out="m")
rs.train_denoiser("digits", sigma=0.25, objectiv="mse", out="d")
rs.assess("m", "digits", nosie="uniform=0.6")
rs.assess("m", "digits", sigmas=[0.25], label_colum="y")
rs.explain("m", rs.data.load("digits").batch(rs.data.take(9, 1))[0][0], aplha=0.01)
rs.certification.attack("m", table, identify="forest")
rs.certification.quantise("m", out="m.xml", lable_column="y")
rs.measure_accuracy("m", radius=0.5, out="a.parquet", taek=5)
rs.measure_accuracy("m", radius=0.5, out="a.parquet", sgima=0.25)
rs.report.write_comparison([table], "page.html", radi=[0.5])
rs.report.write_leaderboard([], "board.html", titel="Ours")
rs.app.Served.of("m", "mine", sgima=0.25)
rs.certify("m", sgima=0.5)
rs.SmoothedClassifier("m", sgima=0.5)
rs.SmoothedClassifier("m", sigma=0.5).certify(x, n_0=100)
rs.certification.watch(rs.SmoothedClassifier("m", sigma=0.5), x, rlue="grid")
rs.certification.Engine(network, sigm=0.5, device=x.device)
rs.certification.RunSpec.of("m", taek=5)
"""


def check(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program)
    options = [
        "--strict",
        "--config-file=",
        "--follow-imports=silent",
        f"--cache-dir={folder / 'cache'}",
    ]
    environment = os.environ | {"MYPYPATH": str(SOURCE)}
    return subprocess.run(
        [sys.executable, "-m", "mypy", *options, "program.py"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip


@pytest.mark.slow
def test_a_program_passes_and_its_mistakes_do_not(tmp_path: Path) -> None:
    done = check(PROGRAM, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [
        line
        for line in check(MISTAKES, tmp_path).stdout.splitlines()
        if " error: " in line
    ]
    lines = MISTAKES.splitlines()
    wrong = [n for n, line in enumerate(lines, 1) if line.startswith("rs.")]
    assert [int(line.split(":")[1]) for line in found] == wrong, found
