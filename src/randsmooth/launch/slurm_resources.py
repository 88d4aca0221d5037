"""The resources that each task asks of Slurm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from randsmooth.children import SAFE_PATH
from randsmooth.errors import BadValue

# Environment variable in which submitit looks for how to log.
LOG_LEVEL = "SUBMITIT_LOG_LEVEL"

# Seconds before the end of a task's time when it is told to make way for its next turn,
# at most, and for each minute of its time: Slurm may warn a minute earlier.
MOST_WARNING_SECONDS = 120
WARNING_SECONDS_PER_MINUTE = 10

# What follows the command in the batch script: srun reports 128 + the signal that killed a
# task. One that ran out of time has then been queued again already. A task is named by its
# array: one of them has the job id of all.
AGAIN_IF_KILLED = (
    resources.files("randsmooth.launch")
    .joinpath("again_if_killed.sh")
    .read_text()
    .splitlines()
)

# The seconds of each part of a time, by how many parts there are.
UNITS_AFTER_DAYS = (86_400, 3_600, 60, 1)
UNITS = {1: (60,), 2: (60, 1), 3: (3_600, 60, 1)}


@dataclass(frozen=True, kw_only=True)
class Resources:
    """The resources that each task asks of Slurm.

    Attributes:
        time: the longest time of a task, as sbatch writes it: 90 (minutes), 2:00:00 or
            1-12:00.
        partition, account, qos, constraint: the parameters of sbatch with these names;
            None stands for Slurm's default.
        gpus, cpus: the number of GPUs and of cores; None stands for Slurm's default.
        mem: the memory of the node, such as 16G.
        setup: lines of shell that run first, such as "module load cuda".
        extra: any other parameters of sbatch, by their long names; True for one without a
            value.

    Raises:
        BadValue: one of them cannot be used.

    Example:
        >>> Resources(time="1-12:00", partition="gpu", gpus=1).minutes
        2160
    """

    time: str
    partition: str | None = None
    gpus: int | None = None
    cpus: int | None = None
    mem: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    setup: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seconds_of(self.time)
        named = (
            self.time,
            self.partition,
            self.gpus,
            self.cpus,
            self.mem,
            self.account,
            self.qos,
            self.constraint,
        )
        for value in (*named, *self.setup, *self.extra.values()):
            check_one_line(str(value))
        for name in self.extra:
            if not re.fullmatch(r"[a-z][a-z-]*", name):
                raise BadValue(
                    field="slurm_arg",
                    value=name,
                    expected="must be the long name of a parameter of sbatch, such "
                    "as exclude",
                )

    @property
    def minutes(self) -> int:
        """Return the time in whole minutes, rounded up, as Slurm counts it."""
        return -(-seconds_of(self.time) // 60)

    def parameters(self) -> dict[str, Any]:
        """Return them as submitit's executor for Slurm takes them."""
        setup = [f"unset {LOG_LEVEL}", f"export {SAFE_PATH}=1", *self.setup]
        srun_options = []
        if self.cpus:
            setup.append(f"export OMP_NUM_THREADS={self.cpus}")
            # srun does not take them over from the task.
            srun_options.append(f"--cpus-per-task={self.cpus}")
        warning = min(MOST_WARNING_SECONDS, self.minutes * WARNING_SECONDS_PER_MINUTE)
        return {
            "partition": self.partition,
            "mem": self.mem,
            "account": self.account,
            "qos": self.qos,
            "constraint": self.constraint,
            "time": self.minutes,
            "gpus_per_node": self.gpus,
            "cpus_per_task": self.cpus,
            "setup": setup,
            "teardown": AGAIN_IF_KILLED,
            "signal_delay_s": warning,
            "stderr_to_stdout": True,
            # submitit would write its own name there.
            "wckey": None,
            "srun_args": srun_options,
            "additional_parameters": {"requeue": True, **self.extra},
        }


def check_one_line(text: str) -> None:
    """Raise BadValue for more than one line of a batch script: a shell would run the rest.

    Example:
        >>> check_one_line("runs/many\\ntouch here")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: 'runs/many\\ntouch here' must be one line ...
    """
    if any(ord(letter) < 32 for letter in text):
        raise BadValue(f"{text!r} must be one line of printable characters")


def seconds_of(time: str) -> int:
    """Return the seconds of a time as sbatch writes it.

    Raises:
        BadValue: it is none, or is nothing.

    Example:
        >>> [seconds_of(time) for time in ("90", "1:30", "2:00:00", "1-12", "1-12:30")]
        [5400, 90, 7200, 129600, 131400]
    """
    days, has_days, rest = time.rpartition("-")
    parts = rest.split(":")
    units = UNITS.get(len(parts), ())
    if has_days:
        parts = [days, *parts]
        units = UNITS_AFTER_DAYS
    is_time = len(parts) <= len(units) and all(
        part.isascii() and part.isdigit() for part in parts
    )
    seconds = 0
    if is_time:
        seconds = sum(
            int(part) * unit for part, unit in zip(parts, units, strict=False)
        )
    if seconds == 0:
        raise BadValue(
            field="time",
            value=time,
            expected=(
                "must say how long a task may run, "
                "such as 90 (minutes), 2:00:00 or 1-12:00"
            ),
        )
    return seconds
