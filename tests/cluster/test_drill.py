"""One drill of each kind; `python -m cluster.drill` does them many times."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.drill import drilled

pytestmark = pytest.mark.slow


def test_the_table_is_that_of_one_process_whatever_happens_to_workers(tmp_path: Path) -> None:
    tallies = drilled(tmp_path, workers=3, drivers=1, seed=7)
    assert {tally.drill: tally.passed for tally in tallies} == {tally.drill: True for tally in tallies}
    assert all(tally.tried for tally in tallies)
