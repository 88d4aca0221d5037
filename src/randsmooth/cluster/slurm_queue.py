"""Commands of randsmooth as jobs of Slurm: submitted through submitit, looked up with squeue."""

from __future__ import annotations

import contextlib
import getpass
import io
import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from randsmooth.cluster.resources import TIMEOUTS, Resources
from randsmooth.cluster.verb_task import VerbTask
from randsmooth.errors import InputError
from randsmooth.extras import needs

ANSWER = 60.0  # seconds that Slurm may take for an answer
LEVEL = "SUBMITIT_LOG_LEVEL"  # where submitit looks for how to log


@dataclass(frozen=True)
class Alive:
    """A job that is queued or running.

    Attributes:
        state: what Slurm calls it: PENDING, RUNNING, COMPLETING, ...
        reason: why it waits, in Slurm's words, or "None".
        node: where it runs; empty while it waits.
        since: how long it has run, as [days-]hours:minutes:seconds.
    """

    state: str
    reason: str
    node: str
    since: str


@dataclass(frozen=True)
class SlurmQueue:
    """Where commands of randsmooth are submitted to, and looked for.

    A job that is preempted or runs out of time is queued again, and so is one that was killed; its command has to
    go on with what it had done.

    Attributes:
        folder: for the logs, and for the words of each task; it must be one that all nodes see.
        resources: what each task asks for.

    Raises:
        InputError: submitit or Slurm's commands are missing here.
    """

    folder: Path
    resources: Resources

    def __post_init__(self) -> None:
        check_slurm()

    def submit(
        self,
        commands: Sequence[Sequence[str]],
        *,
        name: str,
        after: Collection[str] = (),
        all_well: bool = True,
        at_once: int | None = None,
    ) -> list[str]:
        """Submit `randsmooth WORDS` for each of `commands`, several of them as one array; the id of each job.

        Args:
            commands: the words of each.
            name: what squeue calls them.
            after: ids of jobs, or of whole arrays, that have to end before.
            all_well: these must end well, or the jobs never run and Slurm drops them; else they need only end.
            at_once: how many of an array may run at once. (default: as many as Slurm lets)

        Raises:
            InputError: Slurm refuses them, in its words.
        """
        from submitit import SlurmExecutor

        parameters = self.resources.parameters() | {"job_name": name, "array_parallelism": at_once or len(commands)}
        if after:
            parameters["dependency"] = f"{'afterok' if all_well else 'afterany'}:{':'.join(sorted(after))}"
            parameters["additional_parameters"] |= {"kill-on-invalid-dep": "yes"}
        executor = SlurmExecutor(self.folder, max_num_timeout=TIMEOUTS)
        with _refusals():
            executor.update_parameters(**parameters)
            jobs = executor.submit_array([VerbTask([*words], Path.cwd()) for words in commands])
        return [job.job_id for job in jobs]

    def log(self, job: str) -> Path:
        """Where a job writes what it says, each of its tries below the last."""
        return log_of_job(self.folder, job)


def log_of_job(folder: Path, job: str) -> Path:
    """Where a job that was submitted from `folder` writes what it says."""
    return folder / f"{job}_0_log.out"


def check_slurm() -> None:
    """Raise InputError where submitit or one of Slurm's commands is missing."""
    with needs("--slurm", "--local runs the same without Slurm"):
        _import_submitit()
    for program in ("sbatch", "srun", "squeue"):
        if not shutil.which(program):
            raise InputError(
                f"--slurm needs Slurm's command {program}, which is not on PATH: run this on a login node of the "
                "cluster, or use --local, which runs the same on this machine"
            )


def _import_submitit() -> None:
    """Import submitit without its set-up of logging, which closes the handlers that the process has."""
    level = os.environ.get(LEVEL)
    os.environ[LEVEL] = "NOCONFIG"
    try:
        import submitit  # noqa: F401
    finally:  # tasks inherit the environment, and are to log as their user wants
        os.environ.pop(LEVEL) if level is None else os.environ.update({LEVEL: level})


def alive(jobs: Collection[str]) -> dict[str, Alive]:
    """Those of `jobs` that are queued or running, by their ids. The others have ended, well or not.

    Raises:
        InputError: Slurm does not answer.
    """
    if not jobs:
        return {}
    words = ["squeue", "--noheader", "--all", "--array", f"--user={getpass.getuser()}", "--format=%i|%T|%r|%N|%M"]
    found = {}
    for line in _answer(words).splitlines():
        job, state, reason, node, since = line.strip().split("|")
        if job in jobs:
            found[job] = Alive(state, reason, node, since)
    return found


def cancel(jobs: Collection[str]) -> None:
    """Take `jobs` out of Slurm's queue, and stop those that run; for one that has ended nothing is done."""
    if jobs:
        _answer(["scancel", *sorted(jobs)])


def _answer(words: list[str]) -> str:
    """What a command of Slurm prints; InputError where it fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=ANSWER)
    except FileNotFoundError:
        raise InputError(f"{words[0]} is not on PATH: ask on a login node of the cluster") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"Slurm did not answer within {ANSWER:g} seconds ({words[0]}): try again later") from None
    if done.returncode != 0:
        raise InputError(f"Slurm does not answer: {' '.join(done.stderr.split())}")
    return done.stdout


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turn what Slurm refuses into an InputError in its own words."""
    from submitit.core.utils import FailedJobError

    try:
        with contextlib.redirect_stderr(io.StringIO()):  # submitit prints there what the error says again
            yield
    except FailedJobError as error:
        said = [line.removeprefix("sbatch: error: ").strip() for line in str(error).splitlines()]
        raise InputError(f"Slurm refused: {'; '.join(filter(None, said))}") from None
