"""The released logs: which there are, and which of them lie in the folders at hand."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from randsmooth import certificates
from randsmooth.certificates import FolderFile, infer
from randsmooth.certificates.repositories import split_at_repository
from randsmooth.data.loading import HOME
from randsmooth.errors import InputError

LIST = "PATHS.txt"  # OWNER+NAME/path of every log that six repositories released, one a line
FILED = (
    "{owner}/data/certify/{dataset}/{method}/noise_{sigma}.tsv"  # where DATASET-sigmaSIGMA/METHOD.tsv was taken from
)
FILER = "eth-sri+acr-weakness"


@dataclass(frozen=True, order=True)
class Place:
    """Where a log was released: OWNER/NAME on GitHub, and the path below. Without a repository, where it lies here."""

    repository: str
    path: str

    @classmethod
    def of(cls, line: str) -> Place:
        """The place that a line such as `OWNER+NAME/data/log.tsv` gives."""
        owner, _, path = line.strip().partition("/")
        return cls(owner.replace("+", "/", 1), path)

    @property
    def filed(self) -> Path:
        """As a path that says all of it: `OWNER+NAME/data/log.tsv`."""
        return Path(self.repository.replace("/", "+"), self.path)


@dataclass(frozen=True)
class Log:
    """A file found, and where it was released."""

    place: Place
    file: FolderFile


def default_folders() -> list[Path]:
    """The folder of published logs beside the one of data sets.

    Raises:
        InputError: the variable is not set, or there is no such folder.
    """
    beside = Path(os.environ.get(HOME, "")).resolve().parent / "published-logs"
    if not os.environ.get(HOME) or not beside.is_dir():
        raise InputError(
            f"no folder of logs was given, and there is none beside ${HOME}; give clones: make field CLONES=..."
        )
    return [beside]


def listed(folders: Sequence[Path]) -> list[Place]:
    """The logs in the first list below the folders; none without a list."""
    found = next((path for folder in folders for path in sorted(folder.rglob(LIST))), None)
    return [] if found is None else [Place.of(line) for line in found.read_text().splitlines() if line.strip()]


def walk(folders: Sequence[Path], known: Iterable[Place]) -> list[Log]:
    """Every file below the folders that may hold certificates, each place once, by repository and path."""
    released = set(known)
    logs: dict[Place, Log] = {}
    for folder in folders:
        for path in certificates.find_certificates(folder):
            if path.name != LIST:
                log = _read(path, folder, released)
                logs.setdefault(log.place, log)
    return sorted(logs.values(), key=lambda log: log.place)


def _read(path: Path, folder: Path, released: set[Place]) -> Log:
    file = certificates.read_file_of(path)
    taken = _taken_from(path)
    if taken in released:
        tables = tuple(infer(certificates.read(path), taken.filed) for _ in file.tables[:1])
        return Log(taken, FolderFile(path, taken.filed, tables, file.fault, file.predictions, file.foreign))
    repository, below = split_at_repository(file.place.parts)
    if repository is None:
        return Log(Place("", path.relative_to(folder).as_posix()), file)
    return Log(Place(repository.name, "/".join(below)), file)


def _taken_from(path: Path) -> Place:
    """Where a log that was filed as DATASET-sigmaSIGMA/METHOD.tsv was released, provided that it was."""
    dataset, _, sigma = path.parent.name.partition("-sigma")
    return Place.of(FILED.format(owner=FILER, dataset=dataset, method=path.stem, sigma=sigma))
