"""A certification that is shared out: its shards, each a file with a journal of its own, and the table of them all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from filelock import FileLock

from randsmooth.atomic import InUse, claimed, write_atomically
from randsmooth.certificates import Certificates, Header, Shard, merge, read_parquet
from randsmooth.certificates.journal import journal_path, shards_path
from randsmooth.certificates.same_run import check_same_run
from randsmooth.certification.order import Opened, Order
from randsmooth.certification.resumable_run import certify_images, check_flags
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import InputError, setting
from randsmooth.launch.slurm import Job, Jobs, Resources, Submitted, check_slurm
from randsmooth.progress import Progress, Reporter

EACH = 8  # shards of a worker, so that all are busy until nearly the end
RECORD = "run.json"


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
        of = next((path.name.split("-of-")[1].split(".")[0] for path in shards_path(out).glob("1-of-*.parquet*")), None)
        if of is None and (names := [*shards_path(out).glob("*-of-*.parquet*")]):
            of = names[0].name.split("-of-")[1].split(".")[0]
        return cls(out, int(of)) if of is not None and of.isdecimal() else None

    @property
    def path(self) -> Path:
        return shards_path(self.out)

    @property
    def shards(self) -> list[Shard]:
        return [Shard(number, self.of) for number in range(1, self.of + 1)]

    def file(self, shard: Shard) -> Path:
        """The table of a shard."""
        return self.path / f"{shard.number}-of-{self.of}.parquet"

    def is_done(self, shard: Shard) -> bool:
        """Whether the table of a shard is there, whole."""
        return self.file(shard).exists() and not journal_path(self.file(shard)).exists()

    def missing(self) -> list[Shard]:
        """The shards that are not done."""
        return [shard for shard in self.shards if not self.is_done(shard)]

    def certified(self, images: int) -> int:
        """How many images are certified, of so many."""
        return sum(
            shard.images_of(images) if self.is_done(shard) else rows_of(journal_path(self.file(shard)))
            for shard in self.shards
        )

    def record(self) -> tuple[Header, list[str]] | None:
        """The header of the first worker's run, and what it had to say; None where no worker has begun."""
        path = self.path / RECORD
        if not path.exists():
            return None
        kept = parse_json(read_file(path), path)
        return Header(**kept["header"]), list(kept["notes"])


def rows_of(journal: Path) -> int:
    """How many images a journal holds; 0 where there is none."""
    try:
        with journal.open("rb") as file:
            return max(0, sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b"")) - 1)
    except OSError:
        return 0


@dataclass(frozen=True)
class Worker:
    """A unit of work: certify whichever shards nobody else has, one after the other.

    A shard is taken by the lock of its journal, which ends with its process: what a dead worker has left goes on.
    """

    order: Order
    folder: ShardFolder

    def __call__(self, device: str) -> None:
        order = replace(self.order, device=device)
        opened = None
        for shard in self.folder.missing():
            file = self.folder.file(shard)
            try:
                with claimed(file, kind="taken"):
                    if self.folder.is_done(shard):
                        continue
                    if opened is None:
                        order, opened = self._begun(order)
                    prepared = replace(order, shard=shard).prepare(opened)
                    certify_images(prepared, file, resume=file.exists() or journal_path(file).exists())
            except InUse:
                continue

    def _begun(self, order: Order) -> tuple[Order, Opened]:
        """The order as the first worker decided what it leaves open, such as the backend, and the model opened."""
        with FileLock(self.folder.path / ".begin"):
            if (record := self.folder.record()) is None:
                opened = order.open()
                prepared = order.prepare(opened)
                header = prepared.facts.header
                kept = {"header": header.model_dump(mode="json"), "notes": prepared.facts.notes}
                write_atomically(self.folder.path / RECORD, json.dumps(kept).encode())
                return order.like(header), opened
        order = order.like(record[0])
        return order, order.open()


class Workers(Protocol):
    """Where units run (see `launch.workers`)."""

    @property
    def number(self) -> int | None: ...

    def run(
        self,
        units: Mapping[str, Callable[[str], None]],
        *,
        device: str,
        left: Callable[[], set[str]],
        look: Callable[[], int],
    ) -> dict[str, str]: ...


def certify_on(
    workers: Workers, order: Order, out: Path, show: Progress, *, resume: bool = False, overwrite: bool = False
) -> Certificates:
    """Certify by `workers` into the file `out`: the table that one process would have made, in every count.

    Raises:
        InputError: what `certify` raises, or workers that are not there. What is certified by then is kept.
    """
    check_flags(out, resume=resume, overwrite=overwrite)
    _check_alone(out, resume=resume)
    indices, _ = order.selected()
    with claimed(shards_path(out), output=out):
        if overwrite:
            discard(out)
        folder = ShardFolder.begun(out)
        if folder is None:
            if out.exists():  # to be looked at by one process, which does nothing more
                return _finished(order, out)
            number = workers.number or EACH
            folder = ShardFolder(out, min(len(indices), EACH * number))
        folder.path.mkdir(parents=True, exist_ok=True)
        with show(f"certify {out.stem}", len(indices), "images") as reporter:
            return _carried_out(workers, order, folder, len(indices), reporter)


def _carried_out(workers: Workers, order: Order, folder: ShardFolder, images: int, reporter: Reporter) -> Certificates:
    watch = _Watch(folder, images, reporter)
    number = min(workers.number or folder.of, folder.of)
    units = {str(k): Worker(order, folder) for k in range(number)}
    left = {str(k) for k in range(number)}
    try:
        failed = workers.run(
            units, device=order.device, left=lambda: left if folder.missing() else set(), look=watch.look
        )
        if failed:
            raise InputError(next(iter(failed.values())))
    except InputError as error:
        if not watch.seen:  # nothing to resume: do not stand in the way of the next try
            shutil.rmtree(folder.path)
            raise
        raise InputError(f"{error}; {watch.seen} images are certified. To go on: {setting(resume=True)}") from error
    return merged(folder, order)


def merged(folder: ShardFolder, order: Order) -> Certificates:
    """The table of all shards, which are removed once it is written."""
    images = None if order.only is None else order.only[0]
    table = merge([folder.file(shard) for shard in folder.shards], out=folder.out, overwrite=True, images=images)
    shutil.rmtree(folder.path)
    return table


def discard(out: Path) -> None:
    """Remove the table at `out`, its journal, and the shards of a run into it. InputError where jobs make them."""
    Jobs(shards_path(out)).check_none()
    for path in (out, journal_path(out)):
        path.unlink(missing_ok=True)
    if shards_path(out).exists():
        shutil.rmtree(shards_path(out))


def _finished(order: Order, out: Path) -> Certificates:
    """The table at `out`, which is of this run. InputError where it is of another."""
    table = read_parquet(out)
    check_same_run(table.header, order.like(table.header).prepare().facts.header, out)
    return table


def _check_alone(out: Path, *, resume: bool) -> None:
    """Raise InputError for a run that one process began: its journal is not cut into shards."""
    if resume and journal_path(out).exists():
        raise InputError(
            f"{journal_path(out)} was begun by one process, which alone goes on with it: leave out --workers, --ray "
            "and the like"
        )


def submit_shards(
    order: Order, out: Path, of: int, words: Sequence[str], resources: Resources, *, at_once: int | None = None
) -> Submitted:
    """Submit the shards of a run that are missing to Slurm, and a job that merges them.

    Args:
        order: what to certify; model and data are looked at, the model is not tried out.
        out: of the whole table.
        of: how many shards there are to be.
        words: of the command that certifies, but for its shard and its files.
        resources: what each asks for.
        at_once: how many may run at once.

    Raises:
        InputError: what can be known to be unusable; other shards are there; Slurm refuses.
    """
    check_slurm()
    indices, _ = order.selected()
    Shard(1, of).share(indices)
    folder = ShardFolder.begun(out) or ShardFolder(out, of)
    if folder.of != of:
        raise InputError(f"{folder.path} holds {folder.of} shards: ask for as many, use another --out, or remove it")
    with claimed(folder.path, output=out):
        if out.exists():
            order.check_model(read_parquet(out))
            return Submitted({}, {})
        if journal_path(out).exists():
            raise InputError(f"{journal_path(out)} was begun by one process: use another --out, or --overwrite")
        jobs = [
            Job(str(shard), [[*words, "--shard", str(shard), "--out", str(folder.file(shard)), "--resume"]])
            for shard in folder.missing()
        ]
        files = [str(folder.file(shard)) for shard in folder.shards]
        names = tuple(job.name for job in jobs)
        merging = Job("merge", [["merge", *files, "--out", str(out), "--overwrite"]], names, light=True)
        try:
            return Jobs(folder.path).submit([*jobs, merging], resources, at_once=at_once)
        except InputError:  # refused: where nothing was begun, nothing is to stand in the way of the next try
            if not Jobs(folder.path).read() and not folder.certified(len(indices)):
                shutil.rmtree(folder.path)
            raise


class _Watch:
    """Shows how many images the journals of the shards hold, and what the first worker has to say."""

    def __init__(self, folder: ShardFolder, images: int, reporter: Reporter) -> None:
        self.folder, self.images, self.reporter = folder, images, reporter
        self.seen, self.said = folder.certified(images), False
        reporter.skip(self.seen)

    def look(self) -> int:
        if not self.said and (record := self.folder.record()) is not None:
            self.said = True
            for note in record[1]:
                self.reporter.say(f"note: {note}")
        now = max(self.seen, self.folder.certified(self.images))
        if now > self.seen:
            self.reporter.advance(now - self.seen)
            self.seen = now
        return now
