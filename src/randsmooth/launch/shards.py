"""The shards of a certification: files with journals, in a folder beside the table."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock

from randsmooth.atomic import claimed, write_atomically
from randsmooth.certificates import Header, Shard
from randsmooth.certificates.journal import journal_path, shards_path
from randsmooth.certification.certifying import certify_into, is_finished
from randsmooth.certification.run import OpenRun, RunSpec
from randsmooth.certification.run_notes import notes_of
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import Busy
from randsmooth.launch.model_steps import count_rows
from randsmooth.launch.slurm import Jobs
from randsmooth.notes import Note

# Files in the folder of the shards: their number, and the record of the first worker.
NUMBER = "shards.json"
RECORD = "run.json"


@dataclass(frozen=True)
class Record:
    """The record that the first worker of a run leaves for all that wait for it.

    Attributes:
        header: the header of the run.
        notes: the notes on the run.
        doubts: the notes that tell of a likely mistake.
    """

    header: Header
    notes: tuple[Note, ...]
    doubts: tuple[Note, ...]

    def write(self, path: Path) -> None:
        """Write it to a file."""
        content = {
            "header": self.header.facts(),
            "notes": [note.to_dict() for note in self.notes],
            "doubts": [doubt.to_dict() for doubt in self.doubts],
        }
        write_atomically(path, json.dumps(content).encode())

    @classmethod
    def read(cls, path: Path) -> Record:
        """Return the record in a file."""
        content = parse_json(read_file(path), path)
        return cls(
            header=Header.from_facts(content["header"]),
            notes=tuple(map(Note.from_dict, content["notes"])),
            doubts=tuple(map(Note.from_dict, content["doubts"])),
        )


@dataclass(frozen=True)
class ShardFolder:
    """The shards of a run into `out`, in a folder that lasts until they are merged.

    Attributes:
        out: the file of the whole table.
        of: the number of shards.

    Example:
        >>> folder = ShardFolder(Path("runs/a.parquet"), 2)
        >>> folder.path.as_posix(), [folder.file(shard).name for shard in folder.shards]
        ('runs/a.shards', ['1-of-2.parquet', '2-of-2.parquet'])
        >>> folder.begin()
        >>> ShardFolder.begun(folder.out) == folder
        True
    """

    out: Path
    of: int

    @classmethod
    def begun(cls, out: Path) -> ShardFolder | None:
        """Return the folder of a run into `out` that was shared out; None for none."""
        path = shards_path(out) / NUMBER
        if not path.exists():
            return None
        return cls(out, int(parse_json(read_file(path), path)["of"]))

    def begin(self) -> None:
        """Make the folder, which says from then on how many shards there are."""
        write_atomically(self.path / NUMBER, json.dumps({"of": self.of}).encode())

    @property
    def path(self) -> Path:
        """Return the folder of the shards."""
        return shards_path(self.out)

    @property
    def shards(self) -> list[Shard]:
        """Return all shards."""
        return [Shard(number, self.of) for number in range(1, self.of + 1)]

    def file(self, shard: Shard) -> Path:
        """Return the file of the table of a shard."""
        return self.path / f"{shard.number}-of-{self.of}.parquet"

    def missing(self) -> list[Shard]:
        """Return the shards that are not done."""
        return [shard for shard in self.shards if not is_finished(self.file(shard))]

    def count_certified(self, images: int) -> int:
        """Count the images that are certified, of so many."""
        certified = 0
        for shard in self.shards:
            file = self.file(shard)
            if is_finished(file):
                certified += len(shard.share(range(images)))
            else:
                certified += count_rows(journal_path(file))
        return certified

    def record(self) -> Record | None:
        """Return the first worker's record; None where no worker has begun."""
        path = self.path / RECORD
        if not path.exists():
            return None
        return Record.read(path)

    def open(self, spec: RunSpec, shard: Shard) -> OpenRun:
        """Open a shard.

        What the run leaves open, such as the backend, the first worker has decided.
        """
        with FileLock(self.path / ".begin"):
            record = self.record()
            if record is None:
                whole = spec.open()
                notes = notes_of(whole)
                record = Record(whole.header, notes.notes, notes.doubts)
                record.write(self.path / RECORD)
                return whole.of_shard(shard)
        return replace(spec.like(record.header), shard=shard).open()


def certify_shards(spec: RunSpec, folder: ShardFolder, device: str) -> None:
    """Certify whichever shards nobody else has, one after the other: a unit of work.

    A shard is taken by a lock, which ends with its process: what a dead worker has left
    goes on.
    """
    spec = replace(spec, device=device)
    run: OpenRun | None = None
    for shard in folder.missing():
        file = folder.file(shard)
        with suppress(Busy), claimed(file, kind="taken"):
            if is_finished(file):
                continue
            # Model and images are opened once, with the first shard that is left.
            run = folder.open(spec, shard) if run is None else run.of_shard(shard)
            certify_into(run, file)


def discard(out: Path) -> None:
    """Remove the table at `out`, its journal, and the shards of a run into it.

    Raises:
        Busy: jobs of Slurm make them.
    """
    Jobs(shards_path(out)).check_none()
    out.unlink(missing_ok=True)
    journal_path(out).unlink(missing_ok=True)
    if shards_path(out).exists():
        shutil.rmtree(shards_path(out))
