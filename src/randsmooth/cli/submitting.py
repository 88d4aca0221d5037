"""What `randsmooth submit certify` does: a folder for the tasks, and the tasks themselves, in Slurm or here."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from randsmooth.atomic import claimed, held
from randsmooth.certificates.partial import journal_path
from randsmooth.cli.certification import Certify, order_of
from randsmooth.cli.configuration import read_config, validate, write_config
from randsmooth.cli.messages import FAILURE
from randsmooth.cluster.carry_out import carry_out
from randsmooth.cluster.graph import Step
from randsmooth.cluster.resources import Resources
from randsmooth.cluster.slurm_array import Submitted, arrays, submit_missing
from randsmooth.cluster.slurm_queue import SlurmQueue, alive
from randsmooth.cluster.step_processes import Processes, cores, gpus_here, log_of
from randsmooth.cluster.submission import CONFIG, LOGS, MERGE, RECORD, Submission, folder_of
from randsmooth.errors import InputError
from randsmooth.escape import printable, say
from randsmooth.progress import Reporter, console

CORES = 2  # of a task on this machine, unless --parallel says otherwise
NOT_OF_THE_RUN = {"resume": False, "overwrite": False, "out": None}


@contextmanager
def begun(asked: Certify, array: int, out: Path) -> Iterator[Submission]:
    """The submission of a certification into `out`, begun or gone on with, for the one process that may submit it.

    Raises:
        InputError: the certification itself cannot be done, or another one was submitted into `out`.
    """
    folder = folder_of(out)
    with claimed(folder):
        if asked.overwrite and (folder / RECORD).exists():
            _discard(Submission.read(folder))
        if (folder / RECORD).exists():
            submission = Submission.read(folder)
            _check_same(submission, asked, array)
            _check_model(submission, asked)
        else:
            submission = _new(asked, array, out)
            (folder / CONFIG).unlink(missing_ok=True)  # of a run that was killed right here
            if asked.overwrite:
                _make_room(out)
            write_config(asked.model_copy(update=NOT_OF_THE_RUN), "certify", folder / CONFIG)
            submission.write()
        try:
            yield submission
        except InputError:  # refused: where nothing was begun, nothing is to stand in the way of the next try
            if not Submission.read(folder).jobs and len(submission.missing()) == array:
                shutil.rmtree(folder)
            raise


def _new(asked: Certify, array: int, out: Path) -> Submission:
    """A submission that does not exist yet, once model, data and settings have been looked at."""
    from randsmooth.certification.dataset import check_parquet

    check_parquet(out)
    there = next((path for path in (out, journal_path(out)) if path.exists()), None)
    if there is not None and not asked.overwrite:
        raise InputError(f"{there} exists and was not made by tasks: use --overwrite or another --out")
    images = order_of(asked).count()
    if array > images:
        raise InputError(
            f"--array {array} is more than the {images:,} images, so that tasks would have none: give {images} at most"
        )
    return Submission(folder=folder_of(out), out=out, shards=array, images=images)


def _check_same(submission: Submission, asked: Certify, array: int) -> None:
    there = validate(Certify, "certify", read_config(submission.folder / CONFIG, "certify"))
    now = asked.model_copy(update=NOT_OF_THE_RUN)
    names = [name for name in Certify.model_fields if getattr(there, name) != getattr(now, name)]
    different = [f"{name}: {getattr(there, name)} there, {getattr(now, name)} asked for" for name in names]
    if array != submission.shards:
        different.append(f"array: {submission.shards} there, {array} asked for")
    if different:
        raise InputError(
            f"{submission.folder} holds tasks that were begun differently ({'; '.join(different)}): ask for the same, "
            "use another --out, or discard them by --overwrite"
        )


def _check_model(submission: Submission, asked: Certify) -> None:
    """Raise InputError where the model is no longer the one whose certificates are there, as after a new training."""
    from randsmooth.certificates import read_parquet

    done = [submission.step(shard).makes for shard in submission.numbers if submission.step(shard).is_done()]
    table = next((path for path in [submission.out, *done] if path.exists()), None)
    if table is not None:
        order_of(asked).check_model(read_parquet(table))


def _discard(submission: Submission) -> None:
    """Remove the folder of a submission of which nothing is queued any more."""
    if queued := alive(submission.all_jobs()):
        raise InputError(
            f"tasks of {submission.folder} are still queued or running: stop them by `scancel "
            f"{' '.join(arrays(queued))}`, then use --overwrite"
        )
    shutil.rmtree(submission.folder)


def _make_room(out: Path) -> None:
    """Remove the table of an earlier run, which would pass for that of the tasks, and the journal of one.

    Raises:
        InputError: another run is writing it.
    """
    journal = journal_path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with held(journal, make=True, output=out):
        out.unlink(missing_ok=True)
        journal.unlink()


def submit(submission: Submission, resources: Resources, at_once: int | None) -> None:
    """Submit what is missing to Slurm, and say where it is."""
    found = submit_missing(submission, SlurmQueue(submission.folder / LOGS, resources), at_once=at_once)
    for line in _submitted(found):
        say(printable(line))


def _submitted(found: Submitted) -> Iterator[str]:
    now = found.submission
    if found.merge is None:
        yield f"nothing to submit: all {now.shards} tasks are done, certificates in {now.out}"
        return
    done = now.shards - len(now.missing())
    counts = {"done": done, "queued or running": len(found.queued), "submitted now": len(found.new)}
    yield f"{now.shards} tasks: {', '.join(f'{count} {what}' for what, count in counts.items() if count)}"
    jobs = arrays([*found.queued, *found.new])
    yield f"jobs {' '.join([*jobs, found.merge])}; the last merges what the others make into {now.out}"
    if found.new:
        (array,) = arrays(found.new)
        yield f"logs: {now.folder / LOGS}/{array}_*.out"
    yield f"to watch: randsmooth submit status {now.out}"
    yield f"to stop: scancel {' '.join([*jobs, found.merge])}; the same command then goes on"


def run_here(submission: Submission, parallel: int | None, device: str) -> None:
    """Run what is missing in processes of this machine, and merge all; exit with 1 where one of them fails."""
    gpus = gpus_here() if device in ("auto", "cuda") else []
    at_once = min(submission.shards, parallel or len(gpus) or max(1, cores() // CORES))
    with console(f"certify {submission.out.stem}", submission.images, "images") as reporter:
        outcome = carry_out(submission.graph(), Processes(at_once, gpus), _Watch(submission, reporter))
    if outcome.failed:
        say("randsmooth: the same command goes on with what failed", file=sys.stderr)
        raise typer.Exit(FAILURE)
    log_of(submission.merge_step()).unlink(missing_ok=True)
    from randsmooth.certificates import read
    from randsmooth.report import render

    say(render([read(submission.out)]), end="")
    say(printable(f"certificates in {submission.out}"))


class _Watch:
    """Shows how many images are certified, and what failed."""

    def __init__(self, submission: Submission, reporter: Reporter) -> None:
        self.submission, self.reporter = submission, reporter
        self.certified = {name: submission.certified(shard) for shard, name in self._names()}
        reporter.skip(sum(self.certified.values()))

    def _names(self) -> list[tuple[int, str]]:
        return [(shard, self.submission.step(shard).name) for shard in self.submission.numbers]

    def began(self, step: Step) -> None:
        pass

    def ended(self, step: Step, error: str) -> None:
        if error:
            what = "the shards could not be merged" if step.name == MERGE else f"shard {step.name} failed"
            self.reporter.say(f"{what}: {error} (log: {log_of(step)})")
        self.looked([step.name])

    def looked(self, running: Collection[str]) -> None:
        for shard, name in self._names():
            if name in running:
                now = self.submission.certified(shard)
                if now > self.certified[name]:
                    self.reporter.advance(now - self.certified[name])
                    self.certified[name] = now
