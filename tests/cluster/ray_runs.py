"""Certifications that the tests have a Ray cluster carry out, each a command in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from randsmooth import read

ZOO = """
import os, torch
def linear():
    torch.manual_seed(int(os.environ.get("ZOO_SEED", "0")))
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
"""
WORDS = ["zoo.py:linear", "--dataset", "digits", "--sigma", "0.5", "--device", "cpu"]
PATIENCE = 180.0


def certify(folder: Path, *words: str) -> subprocess.Popen[str]:
    """`randsmooth certify` of the model above in `folder`, started."""
    (folder / "zoo.py").write_text(ZOO)
    command = [sys.executable, "-m", "randsmooth", "certify", *WORDS, *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(folder: Path, *words: str) -> tuple[str, str]:
    """What such a command says on stdout and on stderr, once it has ended well."""
    process = certify(folder, *words)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out + err
    return out, err


def wait_for_rows(journal: Path, process: subprocess.Popen[str], rows: int = 1) -> None:
    """Wait until an unfinished run has so many rows."""
    until = time.monotonic() + PATIENCE
    while not journal.exists() or journal.read_bytes().count(b"\n") <= rows:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


def same_counts(one: Path, other: Path) -> bool:
    """Whether two tables are of the same images, in the same order, with the same counts."""
    columns = ("idx", "label", "counts0", "counts", "predict", "radius")
    return all(np.array_equal(getattr(read(one), name), getattr(read(other), name)) for name in columns)
