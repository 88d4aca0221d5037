"""The processes that another one started, as /proc tells."""

from __future__ import annotations

from pathlib import Path


def ranks_of(pid: int) -> list[int]:
    """The processes that process `pid` started as ranks of a training run, in the order of their ranks."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent, *rest = (folder / "stat").read_text().rpartition(")")[2].split()
            command, variables = ((folder / name).read_bytes() for name in ("cmdline", "environ"))
        except (OSError, ValueError):  # it ended meanwhile
            continue
        if int(parent) == pid and state != "Z" and (b"spawn_main" in command or b"\0LOCAL_RANK=" in variables):
            found.append((int(rest[17]), int(folder.name)))  # by the time of their start
    return [rank for _, rank in sorted(found)]
