"""The processes that another one started, as /proc tells."""

from __future__ import annotations

from pathlib import Path


def ranks_of(pid: int) -> list[int]:
    """The processes that process `pid` started as ranks of a training run, in the order of their ranks."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                variables = dict(each.partition(b"=")[::2] for each in (folder / "environ").read_bytes().split(b"\0"))
                found[int(variables[b"RANK"])] = int(folder.name)
        except (OSError, IndexError, KeyError):  # it ended meanwhile, or is no rank
            continue
    return [found[rank] for rank in sorted(found)]
