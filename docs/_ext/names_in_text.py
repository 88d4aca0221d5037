"""`rs.certify` in the text of a page leads to its entry in the reference."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from public_names import PLACES, ROOMS, ROOT, place_of
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


def of_a_module(app: Sphinx, env: Any, link: addnodes.pending_xref, text: nodes.Node) -> nodes.Node | None:
    """A type in a signature is named by the module that defines it: it leads to its public name, or nowhere."""
    parts = str(link.get("reftarget", "")).split(".")
    is_module = len(parts) > 2 and parts[0] == "randsmooth" and ROOT.joinpath(*parts[1:-1]).with_suffix(".py").exists()
    if link.get("refdomain") != "py" or not (is_module or "." not in ".".join(parts)):
        return None
    place = PLACES.get(f"{parts[1]}.{parts[-1]}") if is_module else None
    if place is None:
        return text  # a type that is not public
    domain = env.domains.python_domain
    resolved = domain.resolve_xref(env, link["refdoc"], app.builder, "obj", place, link, text)
    return resolved if isinstance(resolved, nodes.Node) else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(LinkNames)
    app.connect("missing-reference", of_a_module)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
