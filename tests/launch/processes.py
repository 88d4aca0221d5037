"""Which processes of this machine run, as Linux tells it; and whether what several made is what one makes."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from certification.runs import same
from randsmooth import Certificates


def running(words: str, folder: Path) -> list[int]:
    """Those in this folder whose command line has these words, but for srun, which only starts them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (
                (entry / "cmdline")
                .read_bytes()
                .replace(b"\0", b" ")
                .decode(errors="replace")
            )
            if (
                words in command
                and "srun" not in command.split()[0]
                and (entry / "cwd").readlink() == folder
            ):
                found.append(int(entry.name))
    return found


def ranks_of(pid: int) -> list[int]:
    """The processes that process `pid` started as ranks of a training run, in the order of their ranks."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent, *rest = (
                (folder / "stat").read_text().rpartition(")")[2].split()
            )
            command, variables = (
                (folder / name).read_bytes() for name in ("cmdline", "environ")
            )
        except (OSError, ValueError):  # it ended meanwhile
            continue
        if (
            int(parent) == pid
            and state != "Z"
            and (b"spawn_main" in command or b"\0LOCAL_RANK=" in variables)
        ):
            found.append(
                (int(rest[17]), int(folder.name))
            )  # by the time of their start
    return [rank for _, rank in sorted(found)]


def equal(one: Certificates, other: Certificates) -> bool:
    """Whether two tables agree in all but their seconds and machines."""
    first, second = (
        replace(table, header=table.header.replace(machines=()))
        for table in (one, other)
    )
    return same(first, second)
