"""What makes tables and schemas for the pages, which lies beside them and is no package."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import cli, model  # noqa: F401 fixtures of these tests, too

EXTENSIONS = Path(__file__).parents[2] / "docs" / "_ext"

Module = Callable[[str], Any]


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> Module:
    """Imports a module of docs/_ext."""
    monkeypatch.syspath_prepend(EXTENSIONS)
    return importlib.import_module
