"""`randsmooth submit certify` and `randsmooth submit status`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from randsmooth.cli.certification import Certify, check_names, out_file
from randsmooth.cli.settings import Settings, argument, option
from randsmooth.cli.slurm_options import SlurmOptions
from randsmooth.errors import InputError
from randsmooth.escape import printable, say
from randsmooth.urls import local_only

if TYPE_CHECKING:
    from randsmooth.cluster.submission import Submission
    from randsmooth.cluster.task_states import Task


class SubmitCertify(SlurmOptions, Certify):
    """Settings of `randsmooth submit certify`: those of certify, and where it runs."""

    local: bool = option("Run the tasks on this machine, without Slurm.", False)
    array: int | None = option("How many tasks share the images; each certifies a shard of them.")
    parallel: int | None = option(
        "How many tasks may run at once. (default: with --slurm all; with --local one a GPU, or one for two cores)"
    )


class Status(Settings):
    """Settings of `randsmooth submit status`."""

    out: Path = argument("The --out of a `randsmooth submit certify`, or the folder OUT.tasks beside it.")

    @classmethod
    def in_files(cls) -> bool:
        """False: this shows how a run is, and is none itself."""
        return False


def certify(settings: SubmitCertify) -> None:
    """Share out a certification among the tasks of a Slurm array, and merge what they make into one table.

    It is the table of `randsmooth certify` with the same options. A task that is preempted, killed or out of time is
    queued again and goes on where it was. The same command again submits what is missing.

    Example: randsmooth submit certify runs/gaussian --n 100k --slurm --array 50 --partition gpu --gpus 1 --time 2:00:00

    On this machine: randsmooth submit certify runs/gaussian --n 100k --local --array 8 --parallel 4
    """
    array = _check_where(settings)
    resources = settings.resources() if settings.slurm else None
    if resources is not None:
        from randsmooth.cluster.slurm_queue import check_slurm

        check_slurm()
    check_names(settings)
    asked = Certify(**{name: getattr(settings, name) for name in Certify.model_fields})
    out = local_only(out_file(settings), "what tasks make")
    from randsmooth.cli.submitting import begun, run_here, submit

    with begun(asked, array, out) as submission:
        if resources is None:
            run_here(submission, settings.parallel, settings.device)
        else:
            submit(submission, resources, settings.parallel)


def status(settings: Status) -> None:
    """Show how far the tasks of a submission are, and what to do about those that failed.

    Example: randsmooth submit status runs/gaussian.parquet
    """
    from randsmooth.cluster.submission import Submission, folder_of
    from randsmooth.cluster.task_states import tasks

    submission = Submission.read(folder_of(settings.out))
    for line in table(submission, tasks(submission)):
        say(printable(line))


def _check_where(given: SubmitCertify) -> int:
    """How many tasks there are to be. Raises InputError unless it is said, in one way, where they are to run."""
    if given.shard is not None:
        raise InputError(f"--shard {given.shard}: the tasks have a shard each; leave it out, or give it to certify")
    for name in ("ray", "plan"):
        if getattr(given, name):
            raise InputError(f"--{name} is not for tasks: give it to `randsmooth certify`, with the same options")
    if given.slurm == given.local:
        raise InputError(
            "say where the tasks are to run: --slurm submits them, --local runs them on this machine"
            + ("; not both" if given.slurm else "")
        )
    for name in ("array", "parallel"):
        number = getattr(given, name)
        if number is not None and number < 1:
            raise InputError(f"--{name} {number}: expected at least 1")
    if given.array is None:
        raise InputError("--array is missing: in how many tasks the images are shared out, such as --array 50")
    return given.array


def table(submission: Submission, found: Sequence[Task]) -> Iterator[str]:
    """A table of the tasks, and what to do."""
    certified = sum(task.certified for task in found)
    yield f"{submission.out}: {certified:,} of {submission.images:,} images certified by {submission.shards} tasks"
    rows = [("task", "state", "images", "job", "")]
    rows += [(t.name, t.state, f"{t.certified}/{t.images}" if t.images else "", t.job, t.words) for t in found]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row[:4], widths, strict=True)), row[4]]).rstrip()
    counts = Counter(task.state for task in found)
    yield ", ".join(f"{count} {state}" for state, count in counts.items())
    if {*counts} & {"failed", "not begun"}:
        yield "the same `randsmooth submit certify` again submits what failed or has not begun; it goes on where it was"
