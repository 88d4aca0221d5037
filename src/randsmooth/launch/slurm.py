"""Chains of steps as jobs of Slurm, submitted through submitit."""

from __future__ import annotations

import contextlib
import getpass
import io
import json
import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.atomic import write_atomically
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import Busy, Problem, Setting, Unreachable
from randsmooth.extras import needs
from randsmooth.launch.chains import Chain
from randsmooth.launch.slurm_resources import LOG_LEVEL, Resources, check_one_line
from randsmooth.launch.step import Step

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission

# In the folder of the submitted chains: the logs, and the job that each chain became.
LOGS = "slurm"
JOBS = ".jobs.json"

# Seconds that Slurm may take for an answer.
ANSWER_SECONDS = 60.0
# Number of times that a task may run out of time: one that never finishes an image must
# not go on for ever.
MOST_TIMEOUTS = 20
# Minutes of a task that only puts files together, at most.
QUICK_MINUTES = 60


@dataclass
class StepsTask:
    """The task of a job: some steps, one after the other, in `folder`.

    The steps go on with what an earlier try has left: after a time-out or a preemption
    submitit asks `checkpoint` what is to run next, and that is the same again.

    Example:
        >>> import pickle
        >>> task = pickle.loads(pickle.dumps(StepsTask((), Path.cwd())))
        >>> task()
    """

    steps: tuple[Step, ...]
    folder: Path

    def __call__(self) -> None:
        """Carry out the steps in this process, so that no child outlives it.

        Raises:
            Problem: one of them failed, which its own file says, too.
        """
        os.chdir(self.folder)
        for step in self.steps:
            if step.is_done():
                continue
            problem = step.run()
            if problem is not None:
                raise problem

    def checkpoint(self) -> DelayedSubmission:
        """Return the task of the next turn; called before the process is stopped."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(StepsTask(self.steps, self.folder))


@dataclass(frozen=True)
class Jobs:
    """The record of the jobs of Slurm that the chains of a folder became."""

    folder: Path

    def read(self) -> dict[str, str]:
        """Return name -> the id of the job that it was last submitted as."""
        path = self.folder / JOBS
        if not path.exists():
            return {}
        return dict(parse_json(read_file(path), path))

    def alive(self) -> dict[str, str]:
        """Return name -> the state of its job, as Slurm calls it, if queued or running.

        Raises:
            Unreachable: Slurm does not answer.
        """
        jobs = self.read()
        if not jobs:
            return {}
        states = _states_of_jobs()
        return {name: states[job] for name, job in jobs.items() if job in states}

    def check_none(self) -> None:
        """Raise Busy where jobs are queued or running: work would be done twice."""
        alive = self.alive()
        if alive:
            jobs = self.read()
            words = " ".join(arrays([jobs[name] for name in alive]))
            raise Busy(
                f"{len(alive)} jobs of {self.folder} are queued or running in Slurm: "
                f"let them end, or stop them by `scancel {words}`"
            )

    def submit(
        self,
        chains: Sequence[Chain],
        resources: Resources,
        *,
        at_once: int | None = None,
    ) -> Submitted:
        """Submit what is missing of chains that are not queued or running.

        Each runs once those that it needs have ended.

        Chains that need the same become one array. One that is preempted, killed or out of
        time is queued again, and its steps go on with what they had done. One that fails
        takes those that need it out of the queue, but for those that only put files
        together.

        Args:
            chains: the chains, each after those that it needs.
            resources: the resources that each chain asks for.
            at_once: the number of tasks of an array that may run at once; by default
                as many as Slurm lets.

        Raises:
            Problem: the folder cannot stand in a batch script; Slurm refuses, or does not
                answer. What was submitted before that is remembered.
        """
        check_one_line(str(self.folder.absolute()))
        earlier = self.read()
        queued = self.alive()
        missing = [
            chain for chain in chains if chain.name not in queued and chain.missing()
        ]
        for chain in missing:
            for step in chain.steps:
                step.forget_failure()

        submitted: dict[str, str] = {}
        for needed, group in groupby(missing, key=lambda chain: sorted(chain.needs)):
            array = list(group)
            jobs = earlier | submitted
            waits_for = [
                jobs[name] for name in needed if name in queued or name in submitted
            ]
            ids = self._submit_array(array, resources, arrays(waits_for), at_once)
            for chain, job in zip(array, ids, strict=True):
                submitted[chain.name] = job
            record = json.dumps(earlier | submitted)
            write_atomically(self.folder / JOBS, record.encode())
        return Submitted({name: earlier[name] for name in queued}, submitted)

    def _submit_array(
        self,
        chains: Sequence[Chain],
        resources: Resources,
        after: Sequence[str],
        at_once: int | None,
    ) -> list[str]:
        """Submit chains as one array, and return the ids of its tasks.

        Args:
            after: the jobs that must have ended before.

        Raises:
            Unreachable: Slurm refuses.
        """
        from submitit import SlurmExecutor
        from submitit.core.utils import FailedJobError

        is_quick = chains[0].is_quick
        if is_quick and resources.minutes > QUICK_MINUTES:
            resources = replace(resources, time=str(QUICK_MINUTES))
        parameters = resources.parameters()
        parameters["job_name"] = f"randsmooth {self.folder.name}"
        parameters["array_parallelism"] = at_once or len(chains)
        if after:
            # What puts files together takes those that there are.
            condition = "afterany" if is_quick else "afterok"
            parameters["dependency"] = f"{condition}:{':'.join(after)}"
            parameters["additional_parameters"]["kill-on-invalid-dep"] = "yes"

        executor = SlurmExecutor(self.folder / LOGS, max_num_timeout=MOST_TIMEOUTS)
        tasks = [StepsTask(tuple(chain.missing()), Path.cwd()) for chain in chains]
        try:
            # submitit prints there what the error says again.
            with contextlib.redirect_stderr(io.StringIO()):
                executor.update_parameters(**parameters)
                return [job.job_id for job in executor.submit_array(tasks)]
        except FailedJobError as error:
            lines = [
                line.removeprefix("sbatch: error: ").strip()
                for line in str(error).splitlines()
            ]
            reason = "; ".join(filter(None, lines))
            raise Unreachable(f"Slurm refused: {reason}") from None

    def ended_early(self, name: str) -> Problem | None:
        """Return that a job began, for one of which no step says how it ended.

        It was killed, or cancelled. The answer is None where it never began.
        """
        job = self.read().get(name)
        log = self.folder / LOGS / f"{job}_0_log.out"
        if job is None or not log.exists():
            return None
        return Problem(
            f"job {job} ended before its work was done; its log is {log}", file=log
        )


def _states_of_jobs() -> dict[str, str]:
    """Return the state of each job of this user that is queued or running.

    Raises:
        Unreachable: Slurm does not answer.
    """
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
            words, capture_output=True, text=True, check=True, timeout=ANSWER_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        printed: Any = getattr(error, "stderr", None) or str(error)
        reason = " ".join(printed.split())
        raise Unreachable(
            f"Slurm does not answer ({reason}): "
            "ask on a login node of the cluster, or later"
        ) from None
    states = {}
    for line in done.stdout.splitlines():
        job, state = line.strip().split("|")
        states[job] = state
    return states


@dataclass(frozen=True)
class Submitted:
    """Which jobs were submitted now, and which were queued or running before.

    Attributes:
        queued, new: name -> job.

    Example:
        >>> for line in Submitted({}, {"a": "12_0", "b": "12_1"}).lines("models"):
        ...     print(line)
        2 models submitted now
        to stop: scancel 12; the same command then goes on
    """

    queued: dict[str, str]
    new: dict[str, str]

    def lines(self, what: str) -> Iterator[str]:
        """Say what a person wants to know of it; `what` is what became a job each."""
        counts = []
        if self.queued:
            counts.append(f"{len(self.queued)} {what} queued or running")
        if self.new:
            counts.append(f"{len(self.new)} {what} submitted now")
        yield ", ".join(counts) or "nothing is missing"
        jobs = arrays([*self.queued.values(), *self.new.values()])
        if jobs:
            yield f"to stop: scancel {' '.join(jobs)}; the same command then goes on"


def arrays(jobs: Collection[str]) -> list[str]:
    """Return the arrays that jobs belong to, as one can name them to Slurm.

    Example:
        >>> arrays(["12_0", "12_1", "15"])
        ['12', '15']
    """
    return sorted({job.partition("_")[0] for job in jobs}, key=int)


def check_slurm() -> None:
    """Raise Problem where submitit or one of Slurm's commands is missing."""
    # submitit's set-up of logging closes the handlers that the process has.
    os.environ.setdefault(LOG_LEVEL, "NOCONFIG")
    with needs("Slurm", "processes of this machine (workers) run the same"):
        import submitit  # noqa: F401
    for program in ("sbatch", "srun", "squeue"):
        if not shutil.which(program):
            raise Unreachable(
                f"Slurm needs {program} on PATH",
                fix=("run this on a login node, or give ", Setting("workers"), " here"),
            )
