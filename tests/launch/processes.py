"""Which processes of this machine run, as Linux tells it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def running(words: str, folder: Path) -> list[int]:
    """Those in this folder whose command line has these words. One that has ended, and is not asked after, has none."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if words in command and (entry / "cwd").readlink() == folder:
                found.append(int(entry.name))
    return found
