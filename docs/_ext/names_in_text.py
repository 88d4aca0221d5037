"""`rs.certify` in the text of a page leads to its entry in the reference."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from public_names import ROOMS, place_of
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

FIRST = {"rs", "randsmooth", *ROOMS}  # how a name begins that is meant as one of ours


class LinkNames(SphinxPostTransform):
    """Put a reference around code that names something public."""

    default_priority = 5  # before references are resolved

    def run(self, **kwargs: Any) -> None:
        for code in [*self.document.findall(nodes.literal)]:
            text = code.astext()
            first, dot, _ = text.partition(".")
            place = place_of(text) if dot and first in FIRST else None
            if place is not None and not isinstance(code.parent, nodes.reference | addnodes.pending_xref | nodes.title):
                link = addnodes.pending_xref(
                    "", refdomain="py", reftype="obj", reftarget=place, refexplicit=True, refdoc=self.env.docname
                )
                code.replace_self(link)
                link += code


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
