"""The files and lines that CONTRIBUTING.md states for an entry of each kind are those of tests/plugin_package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from openness.plugin import POINTS, SOURCE

CONTRIBUTING = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
ROW = re.compile(
    r"^\| (?P<kind>[a-z ]+) \| `randsmooth\.(?P<group>[a-z]+)` \| (?P<files>\d) \| (?P<lines>\d+) \|", re.M
)
TABLE = {row["group"]: (int(row["files"]), int(row["lines"])) for row in ROW.finditer(CONTRIBUTING)}


def files_of(group: str) -> list[Path]:
    """The module that the entry point names, and what lies beside it under its name."""
    (value,) = POINTS[group].values()
    module = value.partition(":")[0].replace(".", "/")
    return sorted((SOURCE / module).parent.glob(f"{Path(module).name}.*"))


def test_every_kind_has_a_row() -> None:
    assert {f"randsmooth.{group}" for group in TABLE} == {*POINTS}


@pytest.mark.parametrize("group", POINTS)
def test_the_row_counts_the_entry(group: str) -> None:
    files = files_of(group)
    lines = sum(len(file.read_text().splitlines()) for file in files)
    assert TABLE[group.removeprefix("randsmooth.")] == (len(files), lines)
