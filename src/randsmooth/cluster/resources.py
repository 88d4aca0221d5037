"""What a task asks of Slurm, checked before anything is submitted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from randsmooth.errors import InputError

# The forms of sbatch's --time, with the seconds that each of their numbers stands for.
TIMES = {
    r"(\d+)": (60,),
    r"(\d+):(\d+)": (60, 1),
    r"(\d+):(\d+):(\d+)": (3600, 60, 1),
    r"(\d+)-(\d+)": (86400, 3600),
    r"(\d+)-(\d+):(\d+)": (86400, 3600, 60),
    r"(\d+)-(\d+):(\d+):(\d+)": (86400, 3600, 60, 1),
}
WARNING = 120  # seconds before the end of a task's time when it is told to make way for its next turn
TIMEOUTS = 20  # how often a task may run out of time: one that never finishes an image must not go on for ever
SHORT = 60  # minutes of a job that only merges files
RESTARTS = 5  # how often a task that was killed, as for want of memory, is tried again

# What follows the command in the batch script: srun reports 128 + the signal that killed a task. One that ran out of
# time has then been queued again already. A task is named by its array: one of them has the job id of all.
AGAIN_IF_KILLED = [
    "code=$?",
    f'if [ $code -gt 128 ] && [ $code -lt 193 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {RESTARTS} ]; then',
    '  echo "killed by signal $((code - 128)): this task is queued again"',
    "  task=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}",
    '  scontrol requeue "${task:-$SLURM_JOB_ID}"',
    "fi",
    "exit $code",
]


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What each task asks of Slurm.

    Attributes:
        time: how long it may run, as sbatch writes it: 90 (minutes), 2:00:00 or 1-12:00.
        partition, account, qos, constraint: as in sbatch; None: Slurm's default.
        gpus, cpus: how many; None: Slurm's default.
        mem: memory of the node, such as 16G.
        setup: lines of shell that run first, such as "module load cuda".
        extra: any other parameters of sbatch, by their long names; True for one without a value.

    Raises:
        InputError: one of them cannot be used.

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
        seconds(self.time)
        if self.gpus is not None and self.gpus < 0:
            raise InputError(f"--gpus {self.gpus}: a task can have no GPU (0) or several, not fewer than none")
        if self.cpus is not None and self.cpus < 1:
            raise InputError(f"--cpus {self.cpus}: a task needs at least one")
        if self.mem is not None and not re.fullmatch(r"\d+(\.\d+)?[KMGT]?B?", self.mem, re.IGNORECASE):
            raise InputError(f"--mem {self.mem}: expected an amount of memory such as 16G or 800M")
        words = [self.partition, self.mem, self.account, self.qos, self.constraint, *self.setup]
        for word in [*words, *self.extra, *self.extra.values()]:
            if any(ord(letter) < 32 for letter in str(word)):  # each is a line of the batch script
                raise InputError(f"{str(word)!r} must be one line of printable characters")
        for name in self.extra:
            if not re.fullmatch(r"[a-z][a-z-]*", name):
                raise InputError(
                    f"--slurm-arg {name}=...: expected the long name of a parameter of sbatch without its dashes, such "
                    "as exclude=node7 or mail-user=me@example.org"
                )

    @property
    def minutes(self) -> int:
        """The time in whole minutes, rounded up, as Slurm counts it."""
        return -(-seconds(self.time) // 60)

    def without_gpus(self) -> Resources:
        """The same for a short job that needs no GPU."""
        return replace(self, gpus=None, cpus=None, mem=None, time=str(min(self.minutes, SHORT)))

    def parameters(self) -> dict[str, Any]:
        """As submitit's executor for Slurm takes them."""
        setup = [*self.setup, *([f"export OMP_NUM_THREADS={self.cpus}"] if self.cpus else [])]
        return {
            "time": self.minutes,
            "partition": self.partition,
            "gpus_per_node": self.gpus,
            "cpus_per_task": self.cpus,
            "mem": self.mem,
            "account": self.account,
            "qos": self.qos,
            "constraint": self.constraint,
            "setup": setup or None,
            "teardown": AGAIN_IF_KILLED,
            "signal_delay_s": min(WARNING, self.minutes * 10),  # Slurm may warn a minute earlier
            "stderr_to_stdout": True,
            "wckey": None,  # where submitit would write its own name
            "srun_args": [f"--cpus-per-task={self.cpus}"] if self.cpus else [],  # which srun does not take over
            "additional_parameters": {"requeue": True, **self.extra},
        }


def seconds(time: str) -> int:
    """The seconds of a time as sbatch writes it.

    Raises:
        InputError: it is none, or is nothing.

    Example:
        >>> seconds("90"), seconds("2:00:00"), seconds("1-12")
        (5400, 7200, 129600)
    """
    for form, units in TIMES.items():
        if found := re.fullmatch(form, time):
            total = sum(int(number) * unit for number, unit in zip(found.groups(), units, strict=True))
            if total > 0:
                return total
    raise InputError(
        f"--time {time}: expected how long a task may run, as MINUTES, HOURS:MINUTES:SECONDS or "
        "DAYS-HOURS:MINUTES, such as 90, 2:00:00 or 1-12:00"
    )
