"""What a task asks of Slurm: times as sbatch writes them, and what cannot be asked for."""

from __future__ import annotations

from typing import Any

import pytest

from randsmooth.errors import InputError
from randsmooth.launch.slurm import Resources, seconds


def test_times_are_read_as_sbatch_reads_them() -> None:
    table = {"90": 5400, "1:30": 90, "2:00:00": 7200, "1-12": 129_600, "1-12:30": 131_400, "1-12:30:15": 131_415}
    assert {time: seconds(time) for time in table} == table
    assert Resources(time="1:30").parameters()["time"] == 2  # whole minutes, rounded up


def test_what_cannot_be_asked_for_is_refused() -> None:
    table: list[tuple[dict[str, Any], str]] = [
        ({"time": "2 hours"}, "--time 2 hours: expected how long a task may run"),
        ({"time": "0"}, "--time 0"),
        ({"time": "1:2:3:4"}, "--time 1:2:3:4"),
        ({"time": "1-"}, "--time 1-"),
        ({"setup": ("module load\nrm",)}, "must be one line"),
        ({"partition": "gpu\n#SBATCH --x"}, "must be one line"),
        ({"extra": {"--exclude": "n7"}}, "--slurm-arg --exclude=...: expected the long name"),
    ]
    for wrong, said in table:
        with pytest.raises(InputError) as refused:
            Resources(**{"time": "90"} | wrong)
        assert said in str(refused.value), wrong
