"""A certification that is shared out: its shards, each a file with a journal of its own, and the table of them all."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from randsmooth.atomic import claimed, write_atomically
from randsmooth.certificates import Certificates, Header, Shard, merge, read_parquet
from randsmooth.certificates.journal import journal_path, shards_path
from randsmooth.certification.certifying import certify_into, check_flags, finished
from randsmooth.certification.run import OpenRun, RunSpec
from randsmooth.certification.run_header import check_same
from randsmooth.certification.run_notes import notes_of
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import (
    OUT,
    OVERWRITE,
    Busy,
    OutputExists,
    Problem,
    Setting,
)
from randsmooth.launch.chains import Step, chains_of
from randsmooth.launch.slurm import Jobs, Resources, Submitted, check_slurm
from randsmooth.launch.workers import Workers, watched
from randsmooth.notes import Note
from randsmooth.progress import Progress, silent

EACH = 8  # shards of a worker, so that all are busy until nearly the end
RECORD = "run.json"


class Record(NamedTuple):
    """What the first worker of a run left for the others, and for whoever waits for them.

    Attributes:
        header: of its run.
        notes: on the run.
        doubts: those of the notes that tell of a likely mistake.
    """

    header: Header
    notes: list[Note]
    doubts: list[Note]


@dataclass(frozen=True)
class ShardFolder:
    """The shards of a run into `out`, in a folder beside it that lasts until they are merged.

    Attributes:
        out: the file of the whole table.
        of: how many shards there are.

    Example:
        >>> folder = ShardFolder(Path("runs/a.parquet"), 2)
        >>> folder.path.as_posix(), [folder.file(shard).name for shard in folder.shards]
        ('runs/a.shards', ['1-of-2.parquet', '2-of-2.parquet'])
    """

    out: Path
    of: int

    @classmethod
    def begun(cls, out: Path) -> ShardFolder | None:
        """The folder of a run into `out` that was shared out before; None where there is none."""
        there = [
            path.name.partition("-of-")[2].partition(".")[0]
            for path in shards_path(out).glob("*-of-*.parquet*")
        ]
        there += [
            name.partition("/")[2] for name in Jobs(shards_path(out)).read()
        ]  # which may all wait in the queue
        of = next((number for number in there if number.isdecimal()), None)
        return None if of is None else cls(out, int(of))

    @property
    def path(self) -> Path:
        return shards_path(self.out)

    @property
    def shards(self) -> list[Shard]:
        return [Shard(number, self.of) for number in range(1, self.of + 1)]

    def file(self, shard: Shard) -> Path:
        """The table of a shard."""
        return self.path / f"{shard.number}-of-{self.of}.parquet"

    def step(self, shard: Shard, words: Sequence[str] = ()) -> Step:
        """The step that makes the table of a shard; `words` are those of the command, but for shard and file."""
        file = self.file(shard)
        return Step(
            f"{shard}/certify", "certify", words, {"shard": shard, "out": file}, file
        )

    def missing(self) -> list[Shard]:
        """The shards that are not done."""
        return [shard for shard in self.shards if not self.step(shard).is_done()]

    def certified(self, images: int) -> int:
        """How many images are certified, of so many."""
        steps = ((shard, self.step(shard)) for shard in self.shards)
        return sum(
            len(shard.share(range(images))) if step.is_done() else step.rows()
            for shard, step in steps
        )

    def record(self) -> Record | None:
        """What the first worker left; None where no worker has begun."""
        path = self.path / RECORD
        if not path.exists():
            return None
        kept = parse_json(read_file(path), path)
        return Record(
            header=Header(**kept["header"]),
            notes=[Note.from_dict(note) for note in kept["notes"]],
            doubts=[Note.from_dict(doubt) for doubt in kept["doubts"]],
        )

    def open(self, spec: RunSpec, shard: Shard) -> OpenRun:
        """Open a shard, as the first worker decided what the run leaves open, such as the backend."""
        with FileLock(self.path / ".begin"):
            record = self.record()
            if record is None:
                whole = spec.open()
                notes = notes_of(whole)
                kept = {
                    "header": whole.header.model_dump(mode="json"),
                    "notes": [note.to_dict() for note in notes.notes],
                    "doubts": [doubt.to_dict() for doubt in notes.doubts],
                }
                write_atomically(self.path / RECORD, json.dumps(kept).encode())
                return whole.of_shard(shard)
        return replace(spec.like(record.header), shard=shard).open()


def certify_shards(spec: RunSpec, folder: ShardFolder, device: str) -> None:
    """A unit of work: certify whichever shards nobody else has, one after the other.

    A shard is taken by the lock of its journal, which ends with its process: what a dead worker has left goes on.
    """
    spec = replace(spec, device=device)
    run: OpenRun | None = None
    for shard in folder.missing():
        file = folder.file(shard)
        with suppress(Busy), claimed(file, kind="taken"):
            if folder.step(shard).is_done():
                continue
            # Model and images are opened once, with the first shard that is left.
            run = folder.open(spec, shard) if run is None else run.of_shard(shard)
            certify_into(run, file)


def certify_on(
    workers: Workers,
    spec: RunSpec,
    out: Path,
    show: Progress,
    *,
    resume: bool = False,
    overwrite: bool = False,
) -> Certificates:
    """Certify by workers into the file `out`: the table that one process would have made, in every count.

    Args:
        workers: who certifies.
        spec: what to certify.
        out: of the table.
        show: the progress.
        resume, overwrite: as in `certify`.

    Raises:
        Problem: what `certify` raises, or workers that are not there. What is certified by then is kept.
    """
    check_flags(out, resume=resume, overwrite=overwrite)
    if resume and journal_path(out).exists():
        raise OutputExists(
            f"{journal_path(out)} was begun by one process, which goes on with it",
            fix=("leave out ", Setting("workers")),
            file=out,
        )
    positions, _ = spec.choose(len(spec.open_inputs().images))
    images = len(positions)
    with claimed(shards_path(out), output=out):
        if overwrite:
            discard(out)
        folder = ShardFolder.begun(out)
        if folder is None:
            if out.exists():
                like_it = spec.like(read_parquet(out).header)
                return finished(like_it.open(), out)
            folder = ShardFolder(out, min(images, EACH * (workers.number or EACH)))
        folder.path.mkdir(parents=True, exist_ok=True)
        with show(f"certify {out.stem}", images, "images") as reporter:
            with watched(reporter, lambda: folder.certified(images)) as look:
                _make_all(folder, spec, workers, look)
            record = folder.record()
            for note in record.notes if record else ():
                reporter.say(f"note: {note}")
            for doubt in record.doubts if record and show is silent else ():
                warnings.warn(doubt, stacklevel=3)
        only = None if spec.only is None else spec.only[0]
        table = merge(
            [folder.file(shard) for shard in folder.shards],
            out=out,
            overwrite=True,
            images=only,
        )
        shutil.rmtree(folder.path)
        return table


def _make_all(
    folder: ShardFolder, spec: RunSpec, workers: Workers, look: Callable[[], int]
) -> None:
    """Make the shards that are missing. Problem where one of them fails."""
    units = {
        str(k): partial(certify_shards, spec, folder)
        for k in range(min(workers.number or folder.of, folder.of))
    }
    try:
        failed = workers.run(
            units,
            device=spec.device,
            left=lambda: {*units} if folder.missing() else set(),
            look=look,
        )
        if failed:
            raise Problem(next(iter(failed.values())))
    except Problem as error:
        if not (
            done := look()
        ):  # nothing to resume: do not stand in the way of the next try
            shutil.rmtree(folder.path)
            raise
        raise Problem(
            f"{error}; {done} images are certified. To go on: resume=True"
        ) from error


def discard(out: Path) -> None:
    """Remove the table at `out`, its journal, and the shards of a run into it. Problem where jobs make them."""
    Jobs(shards_path(out)).check_none()
    for path in (out, journal_path(out)):
        path.unlink(missing_ok=True)
    if shards_path(out).exists():
        shutil.rmtree(shards_path(out))


def submit_shards(
    spec: RunSpec,
    out: Path,
    of: int,
    words: Sequence[str],
    resources: Resources,
    *,
    at_once: int | None = None,
) -> Submitted:
    """Submit the shards of a run that are missing to Slurm, and a job that merges them.

    Args:
        spec: what to certify; model and data are looked at, the model is not tried out.
        out: of the whole table.
        of: how many shards there are to be.
        words: of the command that certifies, but for its shard and its files.
        resources: what each asks for.
        at_once: how many may run at once.

    Raises:
        Problem: what can be known to be unusable; other shards are there; Slurm refuses.
    """
    check_slurm()
    inputs = spec.open_inputs()
    indices, _ = spec.choose(len(inputs.images))
    Shard(1, of).share(indices)
    folder = ShardFolder.begun(out) or ShardFolder(out, of)
    if folder.of != of:
        raise OutputExists(
            f"{folder.path} holds {folder.of} shards",
            fix=("ask for as many, give another ", OUT, ", or remove it"),
            file=folder.path,
        )
    with claimed(folder.path, output=out):
        if out.exists():
            check_same(inputs.model, read_parquet(out), spec.identity)
            return Submitted({}, {})
        if journal_path(out).exists():
            raise OutputExists(
                f"{journal_path(out)} was begun by one process",
                fix=("give another ", OUT, ", or ", OVERWRITE),
                file=out,
            )
        shards = [folder.step(shard, words[1:]) for shard in folder.shards]
        merging, made = (
            {"out": out, "overwrite": True},
            [str(step.makes) for step in shards],
        )
        chains = chains_of(
            [*shards, Step("merge/merge", "merge", made, merging, out, tuple(shards))]
        )
        try:
            return Jobs(folder.path).submit(chains, resources, at_once=at_once)
        except Problem:  # refused: where nothing was begun, nothing is to stand in the way of the next try
            if not Jobs(folder.path).read() and not folder.certified(len(indices)):
                shutil.rmtree(folder.path)
            raise
