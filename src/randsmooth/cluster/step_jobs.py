"""As which jobs the steps of a folder were submitted to Slurm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from randsmooth.atomic import write_atomically
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import InputError

JOBS = ".jobs.json"


class StepJobs:
    """The record of a folder in which steps are carried out."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / JOBS

    def read(self) -> dict[str, str]:
        """Step -> the id of the job that it was last submitted as."""
        return dict(parse_json(read_file(self.path), self.path)) if self.path.exists() else {}

    def write(self, jobs: Mapping[str, str]) -> None:
        """Remember as which jobs steps were submitted."""
        write_atomically(self.path, json.dumps(dict(jobs)).encode())

    def leave(self) -> None:
        """Forget them, so that the steps can be carried out elsewhere. InputError where some have not ended."""
        jobs = self.read()
        if not jobs:
            return
        from randsmooth.cluster.slurm_queue import alive

        if left := alive(jobs.values()):
            raise InputError(
                f"{len(left)} steps of {self.folder} are queued or running in Slurm: let them end, or stop them by "
                f"`scancel {' '.join(sorted(left))}`"
            )
        self.write({})
