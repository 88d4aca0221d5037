"""The harness itself: it calls every misbehaviour by its name, survives it, and makes the same inputs every time."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from fuzz import draw
from fuzz.__main__ import main, options
from fuzz.damage import WAYS
from fuzz.draw import NUMBERS, YAML, Draw, values
from fuzz.examine import CHANGED, FLOOD, HANG, NOTED, OTHER, RAW, REFUSED, SAME, Bench
from fuzz.inputs import Input, make
from fuzz.plain import bent, to_json, to_yaml
from fuzz.reader import Files, difference
from fuzz.readers import READERS
from fuzz.run import Tally, run
from fuzz.toys import FILE, TOYS, VALID, Toy
from fuzz.worker import Limits

WHERE = "fuzz.toys:TOYS"
SEED = 5
LIMITS = Limits(seconds=2.0, wall=4.0, growth=12, room=1024)
BEHAVIOUR = {
    **{"refuse": REFUSED, "mumble": RAW, "talk": RAW, "trip": RAW, "nest": RAW, "leave": RAW, "crash": RAW},
    **{"warn": RAW, "loop": HANG, "wait": HANG, "allocate": FLOOD, "demand": FLOOD, "bend": CHANGED},
    **{"unsigned": OTHER, "below": CHANGED, "make-anew": NOTED},
}


@pytest.fixture(scope="module")
def tallies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tally]:
    """Every toy, on a few inputs."""
    numbers = dict.fromkeys(BEHAVIOUR, range(2))
    return run(WHERE, numbers, seed=SEED, folder=tmp_path_factory.mktemp("run"), limits=LIMITS)


@pytest.mark.slow  # some wait until they are stopped
@pytest.mark.parametrize("toy", BEHAVIOUR)
def test_a_misbehaviour_is_counted_as_what_it_is(toy: str, tallies: dict[str, Tally]) -> None:
    """And the inputs after it are read, by another worker where it took one down."""
    assert tallies[toy].counts == Counter({BEHAVIOUR[toy]: 2})


def test_a_file_signed_anew_may_say_something_else(tmp_path: Path) -> None:
    (tally,) = run(WHERE, {"honest": range(100)}, seed=SEED, folder=tmp_path, limits=LIMITS).values()
    assert set(tally.counts) == {REFUSED, OTHER} and tally.counts[OTHER] > 10


def test_an_input_that_damage_made_another_valid_file_means_that_one(tmp_path: Path) -> None:
    valid: list[Files] = [{FILE: b"1"}, {FILE: b"2"}]
    bench = Bench(Toy("two numbers", int), valid, tmp_path / "scratch")
    assert bench.meant == [1, 2]
    assert bench.examine(Input(0, valid[1], 0, "damaged")).kind == SAME
    assert bench.examine(Input(1, {FILE: b"3"}, 0, "damaged")).kind == CHANGED


def test_a_failing_input_is_kept_and_can_be_repeated_alone(tmp_path: Path) -> None:
    whole = run(WHERE, {"crash": range(4)}, seed=SEED, folder=tmp_path / "whole", limits=LIMITS)["crash"]
    alone = run(WHERE, {"crash": range(3, 4)}, seed=SEED, folder=tmp_path / "alone", limits=LIMITS)["crash"]
    assert alone.failures == whole.failures[3:]
    kept = [(tmp_path / folder / "failed" / "crash" / "3" / FILE).read_bytes() for folder in ("whole", "alone")]
    assert kept[0] == kept[1] == make(TOYS["crash"], TOYS["crash"].valid(), (), SEED, 3).files[FILE]
    assert kept[0] not in VALID


def test_a_reader_that_fails_on_valid_files_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="'broken' fails on its valid files"):
        run(WHERE, {"broken": range(4)}, seed=SEED, folder=tmp_path, limits=LIMITS)


@pytest.mark.parametrize(("toy", "status"), [("refuse", 0), ("trip", 1), ("bend", 1)])
def test_the_exit_status_says_whether_an_input_failed(
    toy: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = tmp_path / "fuzz.json"
    options = ["--inputs", "3", "--seed", "12", "--readers", toy, "--out", str(tmp_path), "--json", str(counts)]
    monkeypatch.setattr(sys, "argv", ["fuzz", *options])
    assert main(WHERE) == status
    told = capsys.readouterr().out
    assert "seed 12" in told and (f"--seed 12 --readers {toy} --number 0" in told) == (status == 1)
    record = json.loads(counts.read_text())
    assert record["seed"] == 12 and record["readers"][toy]["inputs"] == 3


def test_without_a_choice_every_reader_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzz"])
    monkeypatch.delenv("FUZZ_READERS", raising=False)
    assert options(READERS).readers == list(READERS)


def test_inputs_follow_from_seed_reader_and_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = TOYS["refuse"]

    def made(seed: int, numbers: list[int]) -> dict[int, bytes]:
        return {number: make(reader, reader.valid(), (), seed, number).files[FILE] for number in numbers}

    forwards, backwards = made(SEED, [*range(50)]), made(SEED, [*range(49, -1, -1)])
    assert forwards == backwards != made(SEED + 1, [*range(50)])
    assert len(set(forwards.values())) > 40
    drawn, others = repr(values(SEED)), repr(values(SEED + 1))
    monkeypatch.setattr(draw, "_drawn", {})
    assert repr(values(SEED)) == drawn != others


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_damage_is_done_to_any_bytes(way: object) -> None:
    for content in (b"", b"7", b"a line\nand 1.5 more\n", bytes(range(256))):
        done = {way(content, b"another 8\n", Draw(SEED, number)) for number in range(60)}  # type: ignore[operator]
        assert all(isinstance(each, bytes) for each in done)
        assert len(content) < 2 or done - {content}


def test_any_value_can_be_bent_and_written() -> None:
    said = {"a": 1, "b": [1.5, {"c": "text"}], "d": None}
    for number in range(300):
        chosen = Draw(SEED, number)
        assert isinstance(to_json(bent(said, chosen), chosen), bytes)
        assert isinstance(to_yaml(bent(said, chosen, YAML), chosen), bytes)
    assert said == {"a": 1, "b": [1.5, {"c": "text"}], "d": None}


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_a_difference_is_one_of_bits(number: object) -> None:
    meant = {"n": number, "a": np.arange(9.0), "t": torch.arange(9.0)}
    assert difference(meant, {"n": number, "a": np.arange(9.0), "t": torch.arange(9.0)}) == ""
    for other in ({"n": "other"}, {"a": np.arange(9)}, {"t": np.arange(9.0) + 1e-15}, {"further": 1}):
        assert difference(meant, meant | other) != ""
    assert difference({"n": 0.0}, {"n": -0.0}) and difference({"n": 1}, {"n": 1.0}) and difference([1], [True])
