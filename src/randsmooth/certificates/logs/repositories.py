"""The repositories that released certification logs: whose method each is about, and what its paths leave out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

MOST_BYTES = 2**16  # of a repository's configuration
URL = re.compile(r"^\s*url\s*=\s*\S*?[/:]([\w.-]+)/([\w.-]+?)(?:\.git)?/?\s*$", re.MULTILINE)
BRANCH = re.compile(r"-(main|master)$")  # what an archive of a branch adds to the name
TOPS = ("data", "data_cohen", "test", "logs")  # folders at the top of a repository, below which its logs lie


@dataclass(frozen=True)
class Repository:
    """A repository of certification logs.

    Attributes:
        name: OWNER/NAME on GitHub.
        method: the one that it is about, which a log is of whose path names none.
        shared: folder -> what all logs below it share and their paths do not say.
    """

    name: str
    method: str
    shared: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)

    def facts(self, parts: Sequence[str]) -> dict[str, str | float]:
        """What a log shares with all others in its folders, `parts` of its path below the repository."""
        return {key: value for part in parts for key, value in self.shared.get(part, {}).items()}


REPOSITORIES = (
    Repository("locuslab/smoothing", "gaussian"),
    Repository("Hadisalman/smoothing-adversarial", "smoothadv"),
    Repository("jh-jeong/smoothing-consistency", "consistency"),
    # The ablations of its paper are on MNIST; so are the labels in these logs.
    Repository("jh-jeong/smoothmix", "smoothmix", {"ablation": {"dataset": "mnist"}}),
    # Its code certifies corrupted images at 0.25 alone; the largest radii in these logs are those of 0.25.
    Repository("alinlab/smoothing-catrs", "cat-rs", {"cifar10c": {"sigma": 0.25}, "mnistc": {"sigma": 0.25}}),
    Repository("eth-sri/acr-weakness", "amplify"),
)
BY_FOLDER = {one.name.replace("/", "+").lower(): one for one in REPOSITORIES}
BY_NAME = {one.name.partition("/")[2].lower(): one for one in REPOSITORIES}


def split_at_repository(parts: Sequence[str]) -> tuple[Repository | None, list[str]]:
    """The repository that a path lies in, by the name of its folder, and the parts below that folder.

    The folder is called OWNER+NAME, or NAME as a clone is; a NAME must have one of the folders below it that these
    repositories have, as `smoothmix` is also the name of a method. Without a repository, all parts are given back.

    Example:
        >>> found, below = split_at_repository(["logs", "smoothmix", "data", "certify", "mnist", "log"])
        >>> found.name, below
        ('jh-jeong/smoothmix', ['data', 'certify', 'mnist', 'log'])
    """
    for place, part in enumerate(parts):
        name, below = BRANCH.sub("", part.lower()), list(parts[place + 1 :])
        if name in BY_FOLDER:
            return BY_FOLDER[name], below
        if name in BY_NAME and below and below[0] in TOPS:
            return BY_NAME[name], below
    return None, list(parts)


def in_repository(path: Path) -> Path:
    """`path` as it lies in the repository that was cloned there, `OWNER+NAME/data/...`, by the address it came from.

    The folder of a clone may have any name, and a user may stand in it. Outside of a clone of one of REPOSITORIES,
    `path` itself.

    Example:
        >>> Path("clone/.git").mkdir(parents=True)
        >>> _ = Path("clone/.git/config").write_text("url = https://github.com/locuslab/smoothing.git")
        >>> print(in_repository(Path("clone/data/certify/cifar10/resnet110/noise_0.25/test/sigma_0.25")))
        locuslab+smoothing/data/certify/cifar10/resnet110/noise_0.25/test/sigma_0.25
    """
    place = path.resolve()
    found = _clone(place.parent)
    return path if found is None else Path(found[1], place.relative_to(found[0]))


@lru_cache(maxsize=4096)  # thousands of logs lie in a few hundred folders
def _clone(folder: Path) -> tuple[Path, str] | None:
    """The top of the clone that `folder` lies in, and the repository as OWNER+NAME; None where it is none of ours."""
    config = folder / ".git" / "config"
    if config.is_file():
        name = _origin(config)
        return (folder, name) if name.lower() in BY_FOLDER else None
    return None if folder.parent == folder else _clone(folder.parent)


def _origin(config: Path) -> str:
    """OWNER+NAME of the address in a clone's configuration; empty without one."""
    try:
        with config.open("rb") as file:
            found = URL.search(file.read(MOST_BYTES).decode(errors="replace"))
    except OSError:
        return ""
    return f"{found[1]}+{found[2]}" if found else ""
