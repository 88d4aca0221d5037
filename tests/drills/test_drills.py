"""One of each kind of drill, once; `make drills` has twenty of each, on every command."""

from pathlib import Path

import pytest

from cli.processes import server
from drills.__main__ import chosen, drilled
from drills.bench import Bench, Tally, stage
from drills.facts import facts
from drills.subjects import SUBJECTS

ONE_EACH = (
    "kill -9: train amplify,kill -9: sweep,kill -9: certify shard,disk full: certify few,torn journal,"
    "read-only: train few,two at once: leaderboard,SIGTERM: train gaussian,Ctrl-C: certify fixed,Ctrl-C twice: leader"
)


@pytest.mark.slow
def test_each_kind_of_drill_ends_as_it_should(tmp_path: Path) -> None:
    with server():
        stage(tmp_path / "stage")
        tallies = [drilled(*one, tmp_path, seed=0, times=1) for one in chosen(ONE_EACH)]
    assert len(tallies) == 10
    assert [tally.told() for tally in tallies if not tally.passed] == []


def test_a_changed_number_and_a_file_too_many_are_seen(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "history.csv").write_text("epoch,loss,seconds\n0,1.5,3.0\n")
    bench = Bench(
        SUBJECTS["train few"], tmp_path, tmp_path, seed=0, times=1, drill="none"
    )
    bench.folder = tmp_path
    right = facts(bench.out)
    (tmp_path / "out" / "history.csv").write_text("epoch,loss,seconds\n0,1.5,4.0\n")
    assert bench.difference(right) == ""  # times are the machine's
    (tmp_path / "out" / "history.csv").write_text("epoch,loss,seconds\n0,1.25,3.0\n")
    (tmp_path / "out" / ".history.csv.77.tmp").touch()
    assert (
        bench.difference(right)
        == "left over: .history.csv.77.tmp; not equal: history.csv"
    )


def test_how_a_run_ended_is_told_apart() -> None:
    for code, said, counted in (
        (0, "", "ended"),
        (1, "randsmooth: a.parquet: No space left", "refused"),
        (2, "note: a\nrandsmooth: no such file", "refused"),
        (1, "Traceback (most recent call last):\n  ...\nOSError", "raw"),
        (1, "", "raw"),
        (-11, "randsmooth: a.parquet: No space left", "raw"),
    ):
        tally = Tally("one")
        tally.end(code, said)
        assert (
            getattr(tally, counted) == 1 == tally.ended + tally.refused + tally.raw
        ), (code, said)
        assert tally.passed is False  # no result was equal yet
