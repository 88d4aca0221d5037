"""What a browser draws: formulas as MathML, interactive figures, and the page of the field's results."""

import json
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

ROOT = Path(__file__).parents[2]
SCRIPTS = (
    "plotly.min.js",
    "figures-data.js",
    "figures.js",
)  # in this order; the last is a file of docs/_static


def inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{tex2mathml(node.astext())}</span>')
    raise nodes.SkipNode


def displayed(self: HTML5Translator, node: nodes.math_block) -> None:
    number = (
        f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    )
    anchor = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    self.body.append(
        f'<div class="math"{anchor}>{number}{tex2mathml(node.astext(), as_block=True)}</div>'
    )
    raise nodes.SkipNode


def write_figures(app: Sphinx) -> None:
    """Put plotly.js and the figures' data among the static files. A script, since a page on disk may fetch nothing."""
    from plotly.offline import get_plotlyjs

    sys.path.insert(0, str(ROOT / "docs" / "_figures"))
    from acr import drawn

    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SCRIPTS[0]).write_text(get_plotlyjs())
    (folder / SCRIPTS[1]).write_text(
        f"window.randsmoothFigures = {json.dumps(drawn(), separators=(',', ':'))};\n"
    )


def add_scripts(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Load them on the pages that have figures."""
    if doctree is not None and any(
        "data-figure=" in node.astext() for node in doctree.findall(nodes.raw)
    ):
        app.add_css_file("figures.css")
        for script in SCRIPTS:
            app.add_js_file(script, loading_method="defer")


def write_field(app: Sphinx, failed: Exception | None) -> None:
    if failed is None and app.builder.format == "html":
        sys.path.insert(0, str(ROOT))
        from docs.field import page

        folder = Path(app.outdir, "field")
        folder.mkdir(exist_ok=True)
        (folder / "table.html").write_text(
            page.whole_page(*page.read_kept(), site=True)
        )


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    app.connect("builder-inited", write_figures)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
