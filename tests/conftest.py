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
        pytest.skip(
            "no published logs: RANDSMOOTH_DATA must name the data folder beside published-logs"
        )
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `cuda` are skipped where there is no GPU; `make bench-gpu` runs all of them where there is."""
    needing = [item for item in items if item.get_closest_marker("cuda")]
    if not needing:
        return
    import torch

    if not torch.cuda.is_available():
        for item in needing:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
