"""Full disks, Ctrl-C and kills: a sentence with the way out, and no finished work is lost."""

import errno
import os
import shutil
import signal
from pathlib import Path

import pytest

from cli.processes import Run
from randsmooth.cli.main import main


def test_a_full_disk_costs_a_sentence(
    cli: Run, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(made / "a.parquet", tmp_path)
    for name in ("a.tsv", "a.html"):
        Path(name).write_text("old")
    before = sorted(path.name for path in tmp_path.iterdir())

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for words, what, way in (
        (
            "train digits --sigma 0.5 --take 20 --out m",
            "m/run.yaml",
            "with --resume goes on",
        ),
        (
            "export a.parquet --out a.tsv --overwrite",
            "a.tsv",
            "run the same command again",
        ),
        (
            "compare a.parquet --out a.html --overwrite",
            "a.html",
            "run the same command again",
        ),
        (
            "leaderboard . --out a.html --overwrite",
            "a.html",
            "run the same command again",
        ),
    ):
        done = cli(*words.split())
        last = done.err.splitlines()[-1]
        assert (
            done.code == 1
            and last.startswith(f"randsmooth: {what}: No space left")
            and way in last
        ), words
        assert Path("a.tsv").read_text() == Path("a.html").read_text() == "old"
        assert (
            sorted(path.name for path in tmp_path.iterdir() if path.name != "m")
            == before
        )


def test_an_interrupted_verb_says_how_to_go_on(
    cli: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    def end(*args: object, **options: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("randsmooth.training.train", end)
    monkeypatch.setattr("randsmooth.papers.reproduction.reproduce", stop)
    for words, told in (
        ("train digits --sigma 0.25", "--resume goes on"),
        ("reproduce acr/table2", "interrupted"),
    ):
        ended = cli(*words.split())
        assert ended.code == 130 and told in ended.err, words
    monkeypatch.setattr("randsmooth.cli.main.app", stop)  # before a verb has begun
    with pytest.raises(SystemExit) as stopped:
        main()
    assert (
        stopped.value.code == 130
        and capsys.readouterr().err == "randsmooth: interrupted\n"
    )
