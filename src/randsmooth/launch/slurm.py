"""Commands of randsmooth as jobs of Slurm: submitted through submitit, looked up with squeue."""

from __future__ import annotations

import contextlib
import getpass
import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from randsmooth.atomic import write_atomically
from randsmooth.children import SAFE_PATH
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import BadValue, Busy, Setting, Unreachable
from randsmooth.extras import needs
from randsmooth.launch.chains import Chain, last_sentence, run_verb

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission

ANSWER = 60.0  # seconds that Slurm may take for an answer
LEVEL = "SUBMITIT_LOG_LEVEL"  # where submitit looks for how to log
LOGS, JOBS = (
    "slurm",
    ".jobs.json",
)  # in the folder of what is submitted: logs, and which job each command became

WARNING = 120  # seconds before the end of a task's time when it is told to make way for its next turn
TIMEOUTS = 20  # how often a task may run out of time: one that never finishes an image must not go on for ever
LIGHT = (
    "merge",
    "leaderboard",
)  # verbs that only put files together, of all that has ended by then,
SHORT = 60  # in so many minutes

# What follows the command in the batch script: srun reports 128 + the signal that killed a task. One that ran out of
# time has then been queued again already. A task is named by its array: one of them has the job id of all.
AGAIN_IF_KILLED = (
    resources.files("randsmooth.launch")
    .joinpath("again_if_killed.sh")
    .read_text()
    .splitlines()
)


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
        Problem: one of them cannot be used.

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
        for word in map(str, [*vars(self).values(), *self.setup, *self.extra.values()]):
            check_one_line(word)
        for name in self.extra:
            if not re.fullmatch(r"[a-z][a-z-]*", name):
                raise BadValue(
                    field="slurm_arg",
                    value=name,
                    expected="must be the long name of a parameter of sbatch, as exclude",
                )

    @property
    def minutes(self) -> int:
        """The time in whole minutes, rounded up, as Slurm counts it."""
        return -(-seconds(self.time) // 60)

    def parameters(self) -> dict[str, Any]:
        """As submitit's executor for Slurm takes them."""
        threads = [f"export OMP_NUM_THREADS={self.cpus}"] if self.cpus else []
        same = ("partition", "mem", "account", "qos", "constraint")
        return {name: getattr(self, name) for name in same} | {
            "time": self.minutes,
            "gpus_per_node": self.gpus,
            "cpus_per_task": self.cpus,
            "setup": [f"unset {LEVEL}", f"export {SAFE_PATH}=1", *self.setup, *threads],
            "teardown": AGAIN_IF_KILLED,
            "signal_delay_s": min(
                WARNING, self.minutes * 10
            ),  # Slurm may warn a minute earlier
            "stderr_to_stdout": True,
            "wckey": None,  # where submitit would write its own name
            "srun_args": [f"--cpus-per-task={self.cpus}"]
            if self.cpus
            else [],  # which srun does not take over
            "additional_parameters": {"requeue": True, **self.extra},
        }


def check_one_line(word: str) -> None:
    """Raise Problem for what would be more than one line of a batch script, of which a shell would run the rest.

    Example:
        >>> check_one_line("runs/many\\ntouch here")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: 'runs/many\\ntouch here' must be one line of printable characters
    """
    if any(ord(letter) < 32 for letter in word):
        raise BadValue(f"{word!r} must be one line of printable characters")


def seconds(time: str) -> int:
    """The seconds of a time as sbatch writes it.

    Raises:
        Problem: it is none, or is nothing.

    Example:
        >>> [seconds(time) for time in ("90", "1:30", "2:00:00", "1-12", "1-12:30", "1-12:30:15")]
        [5400, 90, 7200, 129600, 131400, 131415]
    """
    days, has_days, rest = time.rpartition("-")
    numbers = [*([days] if has_days else []), *rest.split(":")]
    units = (
        (86400, 3600, 60, 1)
        if has_days
        else ((60,), (60, 1), (3600, 60, 1))[min(len(numbers), 3) - 1]
    )
    whole = len(numbers) <= len(units) and all(
        number.isascii() and number.isdigit() for number in numbers
    )
    if whole and (
        total := sum(
            int(number) * unit for number, unit in zip(numbers, units, strict=False)
        )
    ):
        return total
    raise BadValue(
        field="time",
        value=time,
        expected="must say how long a task may run, such as 90 (minutes), 2:00:00 or 1-12:00",
    )


@dataclass
class VerbTask:
    """`randsmooth WORDS` for each of some commands, one after the other, in `folder`. All that is pickled are words.

    The commands must go on with what an earlier try has left (`--resume`): after a time-out or a preemption submitit
    asks `checkpoint` what is to run next, and that is the same again.

    Example:
        >>> import contextlib, io, pickle
        >>> task = pickle.loads(pickle.dumps(VerbTask([["--version"]], Path.cwd())))
        >>> with contextlib.redirect_stdout(io.StringIO()) as said:
        ...     task()
        >>> said.getvalue().startswith("randsmooth ")
        True
    """

    commands: list[list[str]]
    folder: Path
    stopped: bool = False

    def __call__(self) -> None:
        """Run the commands in this process, so that no child outlives it.

        Raises:
            RuntimeError: one of them ended with another exit code than 0, and has printed why.
        """
        os.chdir(self.folder)
        for words in self.commands:
            try:
                run_verb(words)
            except SystemExit as end:
                if self.stopped:  # by submitit, whose process has to end now
                    raise
                if end.code:
                    raise RuntimeError(
                        f"randsmooth {words[0]} ended with exit code {end.code}"
                    ) from None

    def checkpoint(self) -> DelayedSubmission:
        """What the task is to do when it runs again; called before the process is stopped."""
        from submitit.helpers import DelayedSubmission

        self.stopped = True
        return DelayedSubmission(VerbTask(self.commands, self.folder))


@dataclass(frozen=True)
class Jobs:
    """The record of which jobs of Slurm the commands of a folder became, and what became of them."""

    folder: Path

    def read(self) -> dict[str, str]:
        """Name -> the id of the job that it was last submitted as."""
        path = self.folder / JOBS
        return dict(parse_json(read_file(path), path)) if path.exists() else {}

    def alive(self) -> dict[str, str]:
        """Name -> what Slurm calls the state of its job, of those that are queued or running.

        Raises:
            Problem: Slurm does not answer.
        """
        if not (jobs := self.read()):
            return {}
        words = [
            "squeue",
            "--noheader",
            "--all",
            "--array",
            f"--user={getpass.getuser()}",
            "--format=%i|%T",
        ]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, check=True, timeout=ANSWER
            )
        except (OSError, subprocess.SubprocessError) as error:
            said = " ".join((getattr(error, "stderr", None) or str(error)).split())
            raise Unreachable(
                f"Slurm does not answer ({said}): ask on a login node of the cluster, or later"
            ) from None
        states = dict(line.strip().split("|") for line in done.stdout.splitlines())
        return {name: states[job] for name, job in jobs.items() if job in states}

    def check_none(self) -> None:
        """Raise Problem where some are queued or running, whose work would be done twice."""
        if left := self.alive():
            way = f"let them end, or stop them by `scancel {' '.join(arrays([self.read()[name] for name in left]))}`"
            raise Busy(
                f"{len(left)} jobs of {self.folder} are queued or running in Slurm: {way}"
            )

    def submit(
        self,
        chains: Sequence[Chain],
        resources: Resources,
        *,
        at_once: int | None = None,
    ) -> Submitted:
        """Submit what is missing of chains that are not queued or running, each to run once those it needs have ended.

        Chains that need the same become one array. One that is preempted, killed or out of time is queued again, and
        its command goes on with what it had done. One that fails takes those that need it out of the queue, but for
        those that only put files together.

        Args:
            chains: in an order in which each comes after those that it needs.
            resources: what each asks for.
            at_once: how many of an array may run at once. (default: as many as Slurm lets)

        Raises:
            Problem: the folder cannot stand in a batch script; Slurm refuses, or does not answer. What was submitted
                before that is remembered.
        """
        check_one_line(str(self.folder.absolute()))
        known, queued, new = self.read(), self.alive(), dict[str, str]()
        todo = [
            chain for chain in chains if chain.name not in queued and chain.missing()
        ]
        for needed, group in groupby(todo, key=lambda chain: sorted(chain.needs)):
            together = list(group)
            after = arrays(
                [
                    (known | new)[name]
                    for name in needed
                    if name in queued or name in new
                ]
            )
            ids = self._array(together, resources, after, at_once)
            new |= dict(zip([chain.name for chain in together], ids, strict=True))
            write_atomically(self.folder / JOBS, json.dumps(known | new).encode())
        return Submitted({name: known[name] for name in queued}, new)

    def _array(
        self,
        chains: list[Chain],
        resources: Resources,
        after: list[str],
        at_once: int | None,
    ) -> list[str]:
        """Submit chains as one array; the ids of its tasks."""
        from submitit import SlurmExecutor
        from submitit.core.utils import FailedJobError

        light = all(step.verb in LIGHT for step in chains[0].steps)
        time = str(min(resources.minutes, SHORT)) if light else resources.time
        parameters = replace(resources, time=time).parameters() | {
            "job_name": f"randsmooth {self.folder.name}"
        }
        parameters["array_parallelism"] = at_once or len(chains)
        if after:
            parameters["dependency"] = (
                f"{'afterany' if light else 'afterok'}:{':'.join(after)}"
            )
            parameters["additional_parameters"] |= {"kill-on-invalid-dep": "yes"}
        executor = SlurmExecutor(self.folder / LOGS, max_num_timeout=TIMEOUTS)
        tasks = [
            VerbTask([step.words() for step in chain.missing()], Path.cwd())
            for chain in chains
        ]
        try:
            with contextlib.redirect_stderr(
                io.StringIO()
            ):  # submitit prints there what the error says again
                executor.update_parameters(**parameters)
                return [job.job_id for job in executor.submit_array(tasks)]
        except FailedJobError as error:
            said = [
                line.removeprefix("sbatch: error: ").strip()
                for line in str(error).splitlines()
            ]
            raise Unreachable(
                f"Slurm refused: {'; '.join(filter(None, said))}"
            ) from None

    def failure(self, name: str) -> str:
        """Why a job that is no longer in the queue did not end well; empty where it was never submitted, or began."""
        log = self.folder / LOGS / f"{self.read().get(name)}_0_log.out"
        return f"{last_sentence(log)} (log: {log})" if log.exists() else ""


class Submitted(NamedTuple):
    """Which jobs were queued or running before, and which were submitted now, by name."""

    queued: dict[str, str]
    new: dict[str, str]

    def lines(self, what: str) -> Iterator[str]:
        """What a person reads of it."""
        counts = {"queued or running": len(self.queued), "submitted now": len(self.new)}
        yield (
            ", ".join(f"{count} {what} {how}" for how, count in counts.items() if count)
            or "nothing is missing"
        )
        if jobs := arrays([*self.queued.values(), *self.new.values()]):
            yield f"to stop: scancel {' '.join(jobs)}; the same command then goes on"


def arrays(jobs: Collection[str]) -> list[str]:
    """The arrays that jobs belong to, as one can name them to Slurm.

    Example:
        >>> arrays(["12_0", "12_1", "15"])
        ['12', '15']
    """
    return sorted({job.partition("_")[0] for job in jobs}, key=int)


def check_slurm() -> None:
    """Raise Problem where submitit or one of Slurm's commands is missing."""
    os.environ.setdefault(
        LEVEL, "NOCONFIG"
    )  # its set-up of logging closes the handlers that the process has
    with needs("Slurm", "processes of this machine (workers) run the same"):
        import submitit  # noqa: F401
    for program in ("sbatch", "srun", "squeue"):
        if not shutil.which(program):
            raise Unreachable(
                f"Slurm needs {program} on PATH",
                fix=("run this on a login node, or give ", Setting("workers"), " here"),
            )
