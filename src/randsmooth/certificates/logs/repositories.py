"""The released repositories of certification logs, and where in one a path lies."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

FOLDER = resources.files("randsmooth.certificates.logs")
KNOWN: dict[str, Any] = tomllib.loads(
    FOLDER.joinpath("known.toml").read_text(encoding="utf-8")
)
CLASSES: dict[str, int] = KNOWN["classes"]


@dataclass(frozen=True)
class Repository:
    """A repository of certification logs.

    Attributes:
        name: OWNER/NAME on GitHub.
        method: the method of its paper. A log is of this method if its path names none.
        shared: folder -> the facts that all logs below it share, by name, and that
            their paths do not say.
    """

    name: str
    method: str
    shared: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)


REPOSITORIES = tuple(Repository(**facts) for facts in KNOWN["repositories"])

# Stands for the repository of a path that lies in none.
NOWHERE = Repository(name="", method="")


def split_at_repository(parts: Sequence[str]) -> tuple[Repository, list[str]]:
    """Return the repository that a path lies in, and the parts below its folder.

    Where the path lies in none, these are NOWHERE and all parts.

    The folder of a repository is called OWNER+NAME, or NAME, as a clone is, or
    NAME-main, as an archive is. Since `smoothmix` is also the name of a method, a
    folder NAME counts only if the next part is a top folder of these repositories.

    Example:
        >>> path = Path("logs/smoothmix/data/certify/mnist/log")
        >>> repository, below = split_at_repository(path.parts)
        >>> repository.name, below
        ('jh-jeong/smoothmix', ['data', 'certify', 'mnist', 'log'])
    """
    for position, part in enumerate(parts):
        below = list(parts[position + 1 :])
        folder = re.sub("-(main|master)$", "", part.lower())
        top_follows = bool(below) and below[0] in KNOWN["tops"]
        for repository in REPOSITORIES:
            owner, _, name = repository.name.lower().partition("/")
            is_clone = folder == name and top_follows
            if is_clone or folder == f"{owner}+{name}":
                return repository, below
    return NOWHERE, list(parts)


def in_repository(path: Path) -> Path:
    """Return `path` as it lies in its repository, as OWNER+NAME/data/...

    It is the path itself where it lies in none.

    Example:
        >>> print(in_repository(Path("smoothing/data/certify/cifar10/sigma_0.25")))
        locuslab+smoothing/data/certify/cifar10/sigma_0.25
    """
    # The folder of the clone may be the current one, or above it.
    repository, below = split_at_repository(path.absolute().parts)
    if repository is NOWHERE:
        return path
    return Path(repository.name.replace("/", "+"), *below)
