"""The processes that another one started, as /proc tells."""

from __future__ import annotations

from pathlib import Path


def ranks_of(pid: int) -> list[int]:
    """The processes that process `pid` started as ranks of a training run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if parent_of(folder) == pid and b"randsmooth.training.rank" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except (OSError, IndexError):  # it ended meanwhile
            continue
    return found


def parent_of(folder: Path) -> int:
    """The process that started the one of `folder`, such as /proc/77."""
    return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
