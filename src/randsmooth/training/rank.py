"""One rank of a run, as a process: `python -m randsmooth.training.rank`, started by the first rank (launch.py)."""

from __future__ import annotations

import json
import os
import pickle
import socket
import sys
import threading
from typing import BinaryIO


def main() -> None:
    """Do the work that comes through standard input, and report through standard output how it ended."""
    report = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no report
    order = sys.stdin.buffer
    try:
        environment, work = pickle.loads(order.read(int.from_bytes(order.read(8), "little")))  # of our own process
        threading.Thread(target=_end_with_the_first, args=(environment.rank,), daemon=True).start()
        _tell(report, b"ready\n")
        work(environment)
    except Exception as error:
        _tell(report, json.dumps(f"{type(error).__name__}: {' '.join(str(error).split())}").encode() + b"\n")
        sys.stderr.flush()
        os._exit(1)  # at once: the first rank, whose connection is broken, waits to learn the reason


def _end_with_the_first(rank: int) -> None:
    """End this process when the first rank is gone: nothing would be left to train for."""
    os.read(0, 1)  # comes back when the other end of standard input is closed
    from randsmooth.errors import setting
    from randsmooth.escape import say

    how = f"rank 0 on {socket.gethostname()} is gone, and rank {rank} ends with it"
    say(f"randsmooth: {how}; to go on after the last checkpoint: {setting(resume=True)}", file=sys.stderr)
    os._exit(1)


def _tell(report: BinaryIO, line: bytes) -> None:
    report.write(line)
    report.flush()


if __name__ == "__main__":
    main()
