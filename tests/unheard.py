"""A program whose every step beyond this machine is noticed, in Python and by the system, and every file it leaves."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

# Notes each name that is looked up and each address that is reached for, in this process and in those that it starts.
LISTENS = """
import os, sys

def heard(event, given):
    if event == "socket.getaddrinfo":
        place = given[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(given[1], tuple):
        place = given[1][0]
    else:
        return
    place = place.decode() if isinstance(place, bytes) else place
    if place not in (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0"):
        with open(os.environ["HEARD"], "a") as file:
            file.write(f"{event} {place}\\n")

sys.addaudithook(heard)
"""
# Runs the program in the first argument in a network that holds this machine alone, whatever library asks for more.
# What the system could not send there, and datagrams (a look-up of a name is one), are counted.
ALONE = """
import fcntl, runpy, socket, struct, sys

with socket.socket() as lo:
    name, up = b"lo", 1
    fcntl.ioctl(lo, 0x8914, struct.pack("16sh14x", name, up))  # SIOCSIFFLAGS
_, program, log = sys.argv
sys.argv = [program]
try:
    runpy.run_path(program, run_name="__main__")
finally:
    lines = [line.split() for line in open("/proc/net/snmp")]
    told = {a[0] + b: int(c) for a, d in zip(lines[::2], lines[1::2]) for b, c in zip(a[1:], d[1:])}
    told |= {a: int(b) for a, b in (line.split() for line in open("/proc/net/snmp6"))}
    with open(log, "a") as file:
        for of in ("Ip:OutNoRoutes", "Udp:OutDatagrams", "Ip6OutNoRoutes", "Udp6OutDatagrams"):
            file.write(f"{of} {told[of]}\\n" if told[of] else "")
"""
ISOLATED = ("unshare", "--map-root-user", "--net")


class Heard(NamedTuple):
    """What a program did beside its work.

    Attributes:
        printed: all of it.
        reached: a line for each attempt to reach another machine.
        left: files in its home folder.
    """

    printed: str
    reached: list[str]
    left: list[str]


@cache
def is_isolated() -> bool:
    """Whether a user of this system may make a network of his own."""
    if sys.platform != "linux" or not shutil.which(ISOLATED[0]):
        return False
    return (
        subprocess.run([*ISOLATED, "true"], capture_output=True, check=False).returncode
        == 0
    )


def heard(program: str, folder: Path) -> Heard:
    """What a Python program did in `folder`, whose home folder is empty before."""
    home, listens, log = folder / "home", folder / "listens", folder / "heard.txt"
    for made in (home, listens):
        made.mkdir()
    (listens / "sitecustomize.py").write_text(LISTENS)
    (listens / "alone.py").write_text(ALONE)
    (listens / "program.py").write_text(program)
    path = os.pathsep.join(
        [
            str(listens),
            str(Path(__file__).parent),
            *filter(None, [os.environ.get("PYTHONPATH")]),
        ]
    )
    own = {
        "HOME": str(home),
        "PYTHONPATH": path,
        "HEARD": str(log),
        "OMP_NUM_THREADS": "1",
    }
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("XDG_")
    }
    alone = (
        [*ISOLATED, sys.executable, str(listens / "alone.py")]
        if is_isolated()
        else [sys.executable]
    )
    words = [*alone, str(listens / "program.py"), str(log)]
    how = {
        "cwd": folder,
        "env": kept | own,
        "capture_output": True,
        "text": True,
        "timeout": 900,
    }
    done = subprocess.run(words, check=False, **how)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    reached = log.read_text().splitlines() if log.exists() else []
    left = sorted(
        path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()
    )
    return Heard(done.stdout, reached, left)
