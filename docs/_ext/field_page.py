"""Puts the page of the field's results, made from what is kept beside its sources, into the built site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_page(app: Any, failed: Exception | None) -> None:
    if failed is None and app.builder.format == "html":
        sys.path.insert(0, str(ROOT))
        from docs.field import page

        folder = Path(app.outdir, "field")
        folder.mkdir(exist_ok=True)
        (folder / "table.html").write_text(page.whole_page(*page.read_kept(), site=True))
