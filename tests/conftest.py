"""Where the published logs are, and how many threads the tests train with."""

import os
from pathlib import Path

import pytest

# Runs in different processes are compared to the last bit, so none may choose threads by what is free.
os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count() or 1))


@pytest.fixture
def logs() -> Path:
    """Folder of the published logs; the test is skipped without."""
    data = os.environ.get("RANDSMOOTH_DATA")
    folder = Path(data or ".") / ".." / "published-logs"
    if not data or not folder.is_dir():
        pytest.skip("no published logs: RANDSMOOTH_DATA must name the data folder beside published-logs")
    return folder
