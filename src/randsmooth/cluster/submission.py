"""A certification that is shared out among tasks: the folder that says what each does, and how far they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from randsmooth.atomic import write_atomically
from randsmooth.certificates.journal import read_journal
from randsmooth.certificates.partial import journal_path
from randsmooth.certificates.selection import Shard
from randsmooth.cluster.graph import Graph, Step
from randsmooth.errors import InputError

RECORD, CONFIG, LOGS = "submission.json", "certify.yaml", "logs"
FORMAT = 1
MERGE = "merge"  # the name of the step that puts the shards together


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What was shared out, and to which jobs.

    Attributes:
        folder: of the record, the settings, the shards and the logs.
        out: where the merged table goes.
        shards: how many tasks there are.
        images: how many images they share.
        jobs: shard -> the job of Slurm that it was last given to.
        merge: the job that merges the shards.

    Example:
        >>> submission = Submission(folder=Path("a.tasks"), out=Path("a.parquet"), shards=4, images=10)
        >>> submission.step(2).command()
        'randsmooth certify --config a.tasks/certify.yaml --shard 2/4 --out a.tasks/2-of-4.parquet --resume'
        >>> [submission.images_of(shard) for shard in submission.numbers]
        [3, 3, 2, 2]
    """

    folder: Path
    out: Path
    shards: int
    images: int
    jobs: Mapping[int, str] = field(default_factory=dict)
    merge: str | None = None

    @classmethod
    def read(cls, folder: Path) -> Submission:
        """The submission that `write` recorded in `folder`.

        Raises:
            InputError: there is none, or it cannot be read.
        """
        path = folder / RECORD
        if not path.is_file():
            raise InputError(f"{folder} holds no submission: give the --out of a `randsmooth submit certify`")
        try:
            kept = json.loads(path.read_bytes())
            if kept.pop("format") != FORMAT:
                raise ValueError("it is of another version of randsmooth")
            jobs = {int(shard): str(job) for shard, job in kept.pop("jobs").items()}
            return cls(folder=folder, out=Path(kept.pop("out")), jobs=jobs, **kept)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"{path} cannot be read ({error}): move {folder} away to begin anew") from None

    def write(self) -> None:
        """Record it in its folder."""
        kept = {"format": FORMAT, "out": str(self.out), "shards": self.shards, "images": self.images}
        kept |= {"jobs": {str(shard): job for shard, job in self.jobs.items()}, "merge": self.merge}
        write_atomically(self.folder / RECORD, json.dumps(kept, indent=1).encode() + b"\n")

    @property
    def numbers(self) -> range:
        """The numbers of the shards, from 1."""
        return range(1, self.shards + 1)

    def step(self, shard: int) -> Step:
        """The command that certifies a shard, or goes on with it."""
        which = Shard(shard, self.shards)
        file = self.folder / f"{shard}-of-{self.shards}.parquet"
        options = {"config": self.folder / CONFIG, "shard": which, "out": file}
        return Step(str(which), "certify", [], options, file)

    def merge_step(self) -> Step:
        """The command that puts all shards together."""
        steps = [self.step(shard) for shard in self.numbers]
        files, names = [str(step.makes) for step in steps], tuple(step.name for step in steps)
        return Step(MERGE, "merge", files, {"out": self.out}, self.out, names)

    def graph(self) -> Graph:
        """All commands, the last of which needs the others."""
        return Graph([*map(self.step, self.numbers), self.merge_step()])

    def missing(self) -> list[int]:
        """The shards whose tables are not there."""
        return [shard for shard in self.numbers if not self.step(shard).is_done()]

    def images_of(self, shard: int) -> int:
        """How many images a shard has."""
        return Shard(shard, self.shards).images_of(self.images)

    def certified(self, shard: int) -> int:
        """How many images of a shard are certified."""
        step = self.step(shard)
        try:
            content = None if step.is_done() else read_journal(journal_path(step.makes))
        except (FileNotFoundError, InputError):  # it is not begun, ended just now, or is damaged, which its task says
            content = None
        if content is None:
            return self.images_of(shard) if step.is_done() else 0
        return len(content.rows)

    def all_jobs(self) -> set[str]:
        """Every job of Slurm that is recorded."""
        return {*self.jobs.values(), *([self.merge] if self.merge else [])}


def folder_of(out: Path) -> Path:
    """Where the tasks of a certification into `out` are kept; `out` may be that folder itself.

    Example:
        >>> folder_of(Path("runs/gaussian.parquet")).as_posix()
        'runs/gaussian.tasks'
    """
    return out.with_suffix(".tasks")
