"""The directive `{generated}`: a table from the code or from results, made when the site is built."""

from __future__ import annotations

from docutils import nodes
from page_tables import made
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Generated(SphinxDirective):
    """`{generated} NAME ARGUMENT`; its body is for those who read the page without building it."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(made(self.arguments[0]), allow_section_headings=False)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("generated", Generated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
