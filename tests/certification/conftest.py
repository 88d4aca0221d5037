"""Runs in these tests sync, and so report, every image: they are stopped at chosen ones."""

import pytest


@pytest.fixture(autouse=True)
def each_image_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("randsmooth.certificates.journal.PAUSE_AFTER_SYNC", 0)
