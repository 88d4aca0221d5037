"""Sphinx: give the pages that name interactive figures their scripts; plotly.js lies in the site once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

SCRIPTS = ("plotly.min.js", "figures-data.js", "figures.js")  # in this order; the last is a file of docs/_static
STYLE = "figures.css"
MARK = "data-figure="


def write_scripts(app: Sphinx) -> None:
    """Put plotly.js and the figures' data among the static files. A script, since a page on disk may fetch nothing."""
    from plotly.offline import get_plotlyjs

    sys.path.insert(0, str(Path(app.srcdir) / "_figures"))
    from acr_figures import drawn

    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SCRIPTS[0]).write_text(get_plotlyjs())
    (folder / SCRIPTS[1]).write_text(f"window.randsmoothFigures = {json.dumps(drawn(), separators=(',', ':'))};\n")


def add_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Load them on the pages that have figures."""
    if doctree is not None and any(MARK in node.astext() for node in doctree.findall(nodes.raw)):
        app.add_css_file(STYLE)
        for script in SCRIPTS:
            app.add_js_file(script, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_scripts)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
