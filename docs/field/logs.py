"""The released logs: which there are, and which of them lie in the folders at hand."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from randsmooth import certificates
from randsmooth.certificates import (
    Certificates,
    PredictionLog,
    in_repository,
    infer,
    log_at_alpha,
    path_facts,
    possible_budgets,
)
from randsmooth.certificates.logs.budgets import ROUNDED
from randsmooth.certificates.logs.inferred import COMMON_ALPHA
from randsmooth.certificates.logs.repositories import split_at_repository
from randsmooth.data.registry import HOME
from randsmooth.errors import Problem
from randsmooth.noise import Gaussian

LIST = "PATHS.txt"  # OWNER+NAME/path of every log that six repositories released, one a line
# Where DATASET-sigmaSIGMA/METHOD.tsv was taken from.
FILED = "{owner}/data/certify/{dataset}/{method}/noise_{sigma}.tsv"
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
    """A file found: where it was released, the path that says what it is of, and its table or why there is none."""

    place: Place
    path: Path
    table: Certificates | None = None
    fault: str = ""


def default_folders() -> list[Path]:
    """The folder of published logs beside the one of data sets.

    Raises:
        Problem: the variable is not set, or there is no such folder.
    """
    beside = Path(os.environ.get(HOME, "")).resolve().parent / "published-logs"
    if not os.environ.get(HOME) or not beside.is_dir():
        raise Problem(
            f"no folder of logs was given, nor lies one beside ${HOME}: make field CLONES=..."
        )
    return [beside]


def listed(folders: Sequence[Path]) -> list[Place]:
    """The logs in the first list below the folders; none without a list."""
    found = next(
        (path for folder in folders for path in sorted(folder.rglob(LIST))), None
    )
    return (
        []
        if found is None
        else [Place.of(line) for line in found.read_text().splitlines() if line.strip()]
    )


def walk(folders: Sequence[Path], known: Iterable[Place]) -> list[Log]:
    """Every file below the folders that may hold certificates, each place once, by repository and path.

    Logs of predictions certify nothing and are left out.
    """
    released = set(known)
    logs: dict[Place, Log] = {}
    for folder in folders:
        for path in certificates.find_certificates(folder):
            place, said = _place(path, folder, released)
            if path.name != LIST and place not in logs:
                logs |= {log.place: log for log in _read(path, place, said)}
    return completed(sorted(logs.values(), key=lambda log: log.place))


def _place(path: Path, folder: Path, released: set[Place]) -> tuple[Place, Path]:
    """Where a log was released, and the path that says what it is of."""
    taken = _taken_from(path)
    if taken in released:
        return taken, taken.filed
    said = in_repository(path)
    repository, below = split_at_repository(said.parts)
    if not repository.name:
        return Place("", path.relative_to(folder).as_posix()), said
    return Place(repository.name, "/".join(below)), said


def _read(path: Path, place: Place, said: Path) -> list[Log]:
    try:
        return [Log(place, said, certificates.read(path))]
    except PredictionLog:
        return []
    except (Problem, OSError) as reason:  # without the folder of this machine
        return [
            Log(
                place,
                said,
                fault=str(reason).replace(str(path), "").removeprefix(": ").strip(),
            )
        ]


def completed(logs: Sequence[Log]) -> list[Log]:
    """The logs with what their paths and radii tell (see `certificates.infer`).

    A weak model has no radius that is the most of n and alpha. Where a log's own radii do not tell these, they are
    those that all other logs of its repository, data set and sigma tell alike, if no radius lies beyond them.
    """
    told: dict[tuple[Any, ...], set[tuple[int, float]]] = defaultdict(set)
    for log in logs:
        told[_group(log)].update(_budgets(log))
    return [_completed(log, told[_group(log)]) for log in logs]


def _group(log: Log) -> tuple[Any, ...]:
    facts = path_facts(log.path)
    return log.place.repository, facts.dataset, facts.sigma


def _budgets(log: Log) -> list[tuple[int, float]]:
    """The n and alpha that a log's largest radii tell, if they tell one alone."""
    sigma = path_facts(log.path).sigma
    if log.table is None or not log.table.is_log or sigma is None:
        return []
    found = possible_budgets(log.table.radius, sigma)
    return found if len(found) == 1 else []


def _completed(log: Log, told: set[tuple[int, float]]) -> Log:
    if log.table is None:
        return log
    try:
        table = infer(log.table, log.path)
        if len(told) == 1 and table.is_log and table.header.n is None:
            ((n, alpha),) = told
            most = Gaussian(table.header.sigma or 0.0).largest_radius(n, alpha)
            if np.all(table.radius <= most * (1.0 + ROUNDED)):
                table = log_at_alpha(
                    infer(log.table, log.path, n=n, alpha=alpha), COMMON_ALPHA
                )
    except Problem as reason:
        return replace(log, table=None, fault=str(reason))
    return replace(log, table=table)


def _taken_from(path: Path) -> Place:
    """Where a log that was filed as DATASET-sigmaSIGMA/METHOD.tsv was released, provided that it was."""
    dataset, _, sigma = path.parent.name.partition("-sigma")
    return Place.of(
        FILED.format(owner=FILER, dataset=dataset, method=path.stem, sigma=sigma)
    )
