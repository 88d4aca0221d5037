"""What a task asks of Slurm: times as sbatch writes them, and what cannot be asked for."""

from __future__ import annotations

from typing import Any

import pytest

from randsmooth.errors import InputError
from randsmooth.launch.slurm import Resources, seconds


@pytest.mark.parametrize(
    ("time", "total"),
    [
        ("90", 5400),
        ("1:30", 90),
        ("2:00:00", 7200),
        ("1-12", 129_600),
        ("1-12:30", 131_400),
        ("1-12:30:15", 131_415),
    ],
)
def test_times_are_read_as_sbatch_reads_them(time: str, total: int) -> None:
    assert seconds(time) == total


def test_a_time_is_asked_for_in_whole_minutes_rounded_up() -> None:
    assert Resources(time="1:30").parameters()["time"] == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"time": "2 hours"}, "--time 2 hours: expected how long a task may run"),
        ({"time": "0"}, "--time 0"),
        ({"time": "1:2:3:4"}, "--time 1:2:3:4"),
        ({"gpus": -1}, "--gpus -1"),
        ({"cpus": 0}, "--cpus 0"),
        ({"mem": "lots"}, "--mem lots: expected an amount of memory such as 16G"),
        ({"setup": ("module load\nrm",)}, "must be one line"),
        ({"partition": "gpu\n#SBATCH --x"}, "must be one line"),
        ({"extra": {"--exclude": "n7"}}, "--slurm-arg --exclude=...: expected the long name"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Resources(**{"time": "90"} | wrong)
