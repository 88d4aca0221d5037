"""What the operating system refuses costs a sentence with the way out, and no finished work."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from cli.run import Run
from randsmooth.cli.messages import SENTENCES, explained

FULL = [
    ("train digits --sigma 0.5 --take 20 --out m", "the disk is full: m/run.yaml", "with --resume goes on"),
    ("export a.parquet --out a.tsv --overwrite", "the disk is full: a.tsv", "run the same command again"),
    ("compare a.parquet --out a.html --overwrite", "the disk is full: a.html", "run the same command again"),
    ("leaderboard . --out a.html --overwrite", "the disk is full: a.html", "run the same command again"),
]


def test_a_full_disk_costs_a_sentence(cli: Run, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(made / "a.parquet", tmp_path)
    for name in ("a.tsv", "a.html"):
        (tmp_path / name).write_text("old")
    before = sorted(path.name for path in tmp_path.iterdir())

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for words, what, way in FULL:
        done = cli(*words.split())
        last = done.err.splitlines()[-1]
        assert done.code == 1 and last.startswith("randsmooth: ") and what in last and way in last, (words, last)
        assert (tmp_path / "a.tsv").read_text() == (tmp_path / "a.html").read_text() == "old"
        assert sorted(path.name for path in tmp_path.iterdir() if path.name != "m") == before


def test_every_refusal_names_the_file_and_what_to_do() -> None:
    for number in SENTENCES:
        error = OSError(number, os.strerror(number), "runs/a.parquet")
        assert "runs/a.parquet" in explained(error, resumes=True), number
        assert "--resume goes on: what is finished is kept" in explained(error, resumes=True), number
        assert explained(error, resumes=False).endswith("then run the same command again"), number


def test_an_error_of_no_number_or_of_an_odd_one_is_told_too() -> None:
    assert explained(OSError("the hub said no"), resumes=False) == "OSError: the hub said no"
    assert explained(OSError(errno.EXDEV, "Cross-device link", "a"), resumes=False).startswith("a: Cross-device link")
    assert explained(OSError(errno.ENOSPC, "No space left"), resumes=False).startswith(
        "the disk is full: a file could not"
    )
