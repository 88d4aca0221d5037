"""Every table that a page takes from the code or from results is made, and says all that there is."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from randsmooth.methods import METHODS
from randsmooth.training.presets import PRESETS

DOCS = Path(__file__).parents[2] / "docs"
ASKED = re.compile(r"^```\{generated\} (.+)\n", re.MULTILINE)
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if ASKED.search(path.read_text())]
OURS = [name for name in METHODS if METHODS.source(name) == "randsmooth"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_table_that_a_page_asks_for_is_made(page: Path, extension: Callable[[str], Any]) -> None:
    made = extension("page_tables").made
    for asked in ASKED.findall(page.read_text()):
        text = made(asked)
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        widths = {len(re.split(r"(?<!\\)\|", row)) for row in rows if not row.startswith("| ---")}
        assert "randsmooth" in text if asked.startswith("training-run") else (len(rows) > 2 and widths), asked


@pytest.mark.parametrize("method", OURS)
def test_a_page_of_a_method_tells_each_setting_and_each_preset(method: str, extension: Callable[[str], Any]) -> None:
    tables = extension("method_tables")
    page = (DOCS / "methods" / f"{method}.md").read_text()
    told = tables.settings(method)
    assert all(f"`{field.name}`" in told for field in dataclasses.fields(METHODS[method]))
    listed = tables.main_presets(method) + tables.ablations(method)
    for preset in PRESETS:
        if preset.method == method:
            assert (f"`{preset.name}`" if preset.main else f"`/{preset.variation}`") in listed
    asked = ASKED.findall(page)
    assert {f"settings {method}", f"presets {method}", f"training-run {method}"} <= {*asked}
    assert (f"ablations {method}" in asked) == bool(tables.ablations(method))


def test_the_passes_of_a_step_are_those_of_its_formula(extension: Callable[[str], Any]) -> None:
    """m noisy copies, and so many for each step of an attack; of a clean image one more."""
    passes = extension("method_tables").forward_passes
    assert passes("gaussian", m=3) == 3
    assert passes("stability", m=3) == 3 + 1
    assert passes("smoothadv", m=4, T=10) == 4 * 10 + 4
    assert passes("amplify", m=4, T=6) == 4 * 6 + 4


def test_every_row_that_differs_from_a_paper_has_its_reason_on_the_page(extension: Callable[[str], Any]) -> None:
    tables = extension("paper_tables")
    numbers = [int(found) for found in re.findall(r"\((\d+)\) \|$", tables.others(), re.MULTILINE)]
    part = (DOCS / "papers.md").read_text().partition("## The cells that do not agree")[2].partition("\n## ")[0]
    assert numbers == [int(number) for number in re.findall(r"^(\d+)\. ", part, re.MULTILINE)] == [*range(1, 11)]
    with pytest.raises(ValueError, match="for acr/table2, macer at sigma"):
        tables._reason({"object": "acr/table2", "method": "macer", "sigma": "0.5"})
