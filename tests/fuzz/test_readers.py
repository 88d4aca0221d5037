"""Mutated files through every reader: a clear refusal, or what was written; never a traceback, a hang or a flood.

`make fuzz` reads many more, with another seed every time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.examine import GOOD, Bench
from fuzz.inputs import make
from fuzz.readers import READERS
from fuzz.run import run

SEED = 11
FEW, MANY = 25, 2_000


@pytest.mark.parametrize("name", READERS)
def test_a_few_mutated_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, and without the bombs."""
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
    reader = READERS[name]
    valid = reader.valid()
    bench = Bench(reader, valid, tmp_path / "files")
    for number in range(FEW):
        outcome = bench.examine(make(reader, valid, (), SEED, number))
        assert outcome.kind in GOOD, f"input {number} of seed {SEED}: {outcome.said}\n{outcome.trace}"


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_mutated_files(name: str, tmp_path: Path) -> None:
    """In workers, bombs first."""
    (tally,) = run("fuzz.readers:READERS", {name: range(MANY)}, seed=SEED, folder=tmp_path, workers=1).values()
    assert tally.inputs == MANY
    assert not tally.failures, f"inputs of seed {SEED}, by number: {tally.failures[:5]}"
