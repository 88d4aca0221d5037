"""What makes tables, figures and schemas for the pages, and checks the site; it lies beside them and is no package."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import cli, model  # noqa: F401 fixtures of these tests, too

DOCS = Path(__file__).parents[2] / "docs"

Module = Callable[[str], Any]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Module:
    """Imports a module of docs/_ext, docs/_figures or docs/_checks."""
    for folder in ("_ext", "_figures", "_checks"):
        monkeypatch.syspath_prepend(DOCS / folder)
    return importlib.import_module
