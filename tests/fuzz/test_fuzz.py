"""Mutated files through every reader; and the harness: it calls every misbehaviour by its name, and repeats itself."""

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from fuzz.__main__ import main
from fuzz.damage import NUMBERS, WAYS, Draw, wounded
from fuzz.formats import formats_of
from fuzz.harness import (
    CHANGED,
    GOOD,
    OTHER,
    RAW,
    REFUSED,
    SAME,
    Bench,
    Input,
    difference,
    make,
)
from fuzz.readers import READERS
from fuzz.run import Limits, run
from fuzz.toys import FILE, TOYS, VALID, Toy

WHERE = "fuzz.toys:TOYS"
SEED, FEW, MANY = 11, 12, 2_000
LIMITS = Limits(seconds=2.0, wall=4.0, growth=12, room=1024)


def test_a_few_mutated_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal or what was written; never a traceback. In this process, and without the bombs."""
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
    for name, reader in READERS.items():
        valid = reader.valid()
        bench = Bench(reader, valid, tmp_path / name)
        ways = {make(reader, valid, (), SEED, number).way for number in range(2 * FEW)}
        assert ("bent" in ways) == any(map(formats_of, valid[0])), name
        for number in range(FEW):
            outcome = bench.examine(make(reader, valid, (), SEED, number))
            assert outcome.kind in GOOD, (
                f"{name}, input {number} of seed {SEED}: {outcome.said}\n{outcome.trace}"
            )


@pytest.mark.slow
def test_many_mutated_files(tmp_path: Path) -> None:
    """In workers, bombs first: neither hangs nor floods, either."""
    tallies = run(
        "fuzz.readers:READERS",
        dict.fromkeys(READERS, range(MANY)),
        seed=SEED,
        folder=tmp_path,
    )
    failures = {
        name: tally.failures[:5] for name, tally in tallies.items() if tally.failures
    }
    assert not failures, f"inputs of seed {SEED}, by number: {failures}"
    assert all(tally.counts.total() == MANY for tally in tallies.values())


@pytest.mark.slow  # some wait until they are stopped
def test_every_misbehaviour_is_counted_as_what_it_is(tmp_path: Path) -> None:
    """And the inputs after it are read, by another process where it took one down."""
    toys = [name for name in TOYS if name not in ("honest", "broken")]
    tallies = run(
        WHERE, dict.fromkeys(toys, range(2)), seed=SEED, folder=tmp_path, limits=LIMITS
    )
    for name in toys:
        assert tallies[name].counts == Counter({TOYS[name].kind: 2}), name  # type: ignore[attr-defined]


def test_a_crash_is_kept_and_can_be_repeated_alone(tmp_path: Path) -> None:
    whole = run(
        WHERE, {"crash": range(4)}, seed=SEED, folder=tmp_path / "whole", limits=LIMITS
    )["crash"]
    alone = run(
        WHERE,
        {"crash": range(3, 4)},
        seed=SEED,
        folder=tmp_path / "alone",
        limits=LIMITS,
    )["crash"]
    assert whole.counts == {RAW: 4} and alone.failures == whole.failures[3:]
    kept = [
        (tmp_path / folder / "failed" / "crash" / "3" / FILE).read_bytes()
        for folder in ("whole", "alone")
    ]
    assert (
        kept[0]
        == kept[1]
        == make(TOYS["crash"], TOYS["crash"].valid(), (), SEED, 3).files[FILE]
    )
    assert kept[0] not in VALID


def test_what_a_file_may_mean(tmp_path: Path) -> None:
    """One signed anew may say something else; damage that made another valid file means that one."""
    (tally,) = run(
        WHERE, {"honest": range(100)}, seed=SEED, folder=tmp_path, limits=LIMITS
    ).values()
    assert set(tally.counts) == {REFUSED, OTHER} and tally.counts[OTHER] > 10
    bench = Bench(
        Toy("two numbers", "", int), [{FILE: b"1"}, {FILE: b"2"}], tmp_path / "scratch"
    )
    assert bench.examine(Input(0, {FILE: b"2"}, 0, "damaged")).kind == SAME
    assert bench.examine(Input(1, {FILE: b"3"}, 0, "damaged")).kind == CHANGED
    with pytest.raises(RuntimeError, match="'broken' fails on its valid files"):
        run(WHERE, {"broken": range(4)}, seed=SEED, folder=tmp_path, limits=LIMITS)


def test_the_exit_status_and_the_record_say_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = tmp_path / "fuzz.json"
    for toy, status in (("refuse", 0), ("bend", 1)):
        words = [
            "--inputs",
            "3",
            "--seed",
            "12",
            "--readers",
            toy,
            "--out",
            str(tmp_path),
            "--json",
            str(counts),
        ]
        monkeypatch.setattr(sys, "argv", ["fuzz", *words])
        assert main(WHERE) == status, toy
        told = capsys.readouterr().out
        assert "seed 12" in told and (
            f"--seed 12 --readers {toy} --number 0" in told
        ) == (status == 1)
        record = json.loads(counts.read_text())
        assert record["seed"] == 12 and record["readers"][toy]["inputs"] == 3


def test_any_bytes_are_damaged() -> None:
    for way in WAYS:
        for content in (b"", b"7", b"a line\nand 1.5 more\n", bytes(range(256))):
            done = {
                wounded(content, b"another 8\n", way, Draw(SEED, number))
                for number in range(60)
            }
            assert len(content) < 2 or done - {content}, way


def test_a_difference_is_one_of_bits() -> None:
    for number in NUMBERS:
        meant = {"n": number, "a": np.arange(9.0), "t": torch.arange(9.0)}
        assert (
            difference(
                meant, {"n": number, "a": np.arange(9.0), "t": torch.arange(9.0)}
            )
            == ""
        ), number
        for other in (
            {"n": "other"},
            {"a": np.arange(9)},
            {"t": np.arange(9.0) + 1e-15},
            {"further": 1},
        ):
            assert difference(meant, meant | other) != "", (number, other)
    assert (
        difference({"n": 0.0}, {"n": -0.0})
        and difference({"n": 1}, {"n": 1.0})
        and difference([1], [True])
    )
