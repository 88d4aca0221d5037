"""What the import of submitit leaves alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import contextlib, logging, os

class Handler(logging.Handler):
    closed = False
    def close(self):
        self.closed = True

handler = Handler()
from randsmooth.cluster.slurm_queue import LEVEL, check_slurm
with contextlib.suppress(Exception):
    check_slurm()
import sys
assert "submitit" in sys.modules and LEVEL not in os.environ
assert not handler.closed
"""


def test_handlers_of_the_process_stay_open() -> None:
    pytest.importorskip("submitit")
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=100)
