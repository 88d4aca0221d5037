"""One of each kind of drill, once; `make drills` has twenty of each, on every command."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cli.processes import server, start
from drills import clocks, folders, full, kills, object_store, rivals, shards, signals, tails
from drills.bench import Bench, stage
from drills.facts import facts
from drills.subjects import named

KINDS = {
    "kill -9": (kills.kills, "train amplify"),
    "shards killed": (shards.killed, "certify grid"),
    "disk full": (full.disk_full, "certify few"),
    "read-only": (full.read_only, "train few"),
    "folder removed": (folders.removed, "certify fixed"),
    "clock set back": (clocks.set_back, "certify few"),
    "two at once": (rivals.rivals, "leaderboard"),
    "object store": (object_store.every_tenth, "certify few"),
    "torn journal": (tails.torn, "certify fixed"),
    "SIGTERM": (signals.terminated, "train gaussian"),
    "Ctrl-C": (signals.interrupted, "certify fixed"),
    "Ctrl-C twice": (signals.interrupted_twice, "leaderboard"),
}


@pytest.mark.slow
def test_each_kind_of_drill_ends_as_it_should(tmp_path: Path) -> None:
    wrong = {}
    kinds = KINDS | ({"small disk": (full.small_disk, "certify few")} if full.may_mount() else {})
    with server():
        stage(tmp_path / "stage")
        for kind, (drill, name) in kinds.items():
            (root := tmp_path / kind).mkdir()
            bench = Bench(named(name)[0], tmp_path / "stage", root, seed=0, times=1, drill=kind)
            bench.measure()
            drill(bench)
            if not bench.tally.passed:
                wrong[kind] = bench.tally.told()
    assert not wrong


@pytest.mark.slow
def test_threads_that_start_processes_hear_how_each_ended() -> None:
    def ends(kill: bool) -> set[int | None]:
        return {_end(kill) for _ in range(15)}

    with server([]), ThreadPoolExecutor(8) as pool:
        assert [*pool.map(ends, [True, False] * 4)] == [{-signal.SIGKILL}, {0}] * 4


def _end(kill: bool) -> int | None:
    process = start(["--version"])
    if kill:
        process.kill()
    process.join()
    return process.exitcode


def test_a_changed_number_and_a_file_too_many_are_seen(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "history.csv").write_text("epoch,loss,seconds\n0,1.5,3.0\n")
    bench = Bench(named("train few")[0], tmp_path, tmp_path, seed=0, times=1, drill="none")
    bench.folder = tmp_path
    right = facts(bench.out)
    (tmp_path / "out" / "history.csv").write_text("epoch,loss,seconds\n0,1.5,4.0\n")
    assert bench.difference(right) == ""  # times are the machine's
    (tmp_path / "out" / "history.csv").write_text("epoch,loss,seconds\n0,1.25,3.0\n")
    (tmp_path / "out" / ".history.csv.77.tmp").touch()
    assert bench.difference(right) == "left over: .history.csv.77.tmp; not equal: history.csv"


@pytest.mark.parametrize(
    ("code", "said", "counted"),
    [
        (0, "", "ended"),
        (1, "randsmooth: the disk is full", "refused"),
        (2, "note: a\nrandsmooth: no such file", "refused"),
        (1, "Traceback (most recent call last):\n  ...\nOSError", "raw"),
        (1, "", "raw"),
        (-11, "randsmooth: the disk is full", "raw"),
    ],
)
def test_how_a_run_ended_is_told_apart(code: int, said: str, counted: str, tmp_path: Path) -> None:
    tally = Bench(named("train few")[0], tmp_path, tmp_path, seed=0, times=1, drill="none").tally
    tally.end(code, said)
    assert {key: getattr(tally, key) for key in ("ended", "refused", "raw")} == {
        key: int(key == counted) for key in ("ended", "refused", "raw")
    }
    assert tally.passed is False  # no result was equal yet
