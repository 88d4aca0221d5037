"""Where the published logs are."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def logs() -> Path:
    """Folder of the published logs; the test is skipped without."""
    data = os.environ.get("RANDSMOOTH_DATA")
    folder = Path(data or ".") / ".." / "published-logs"
    if not data or not folder.is_dir():
        pytest.skip("no published logs: RANDSMOOTH_DATA must name the data folder beside published-logs")
    return folder
