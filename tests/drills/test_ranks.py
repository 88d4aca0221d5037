"""A rank that is killed, once; `python -m drills.ranks` kills three, and its figures are in results/drills."""

from __future__ import annotations

from pathlib import Path

import pytest

from drills.ranks import drill


@pytest.mark.slow
def test_a_killed_rank_changes_nothing(tmp_path: Path) -> None:
    told = drill(tmp_path, times=1, seed=1)
    assert told["killed"] == told["equal to the last bit"] == told["ended in a sentence that names the rank"] == 1
