"""HTML pages that work offline: what they print is escaped, and nothing runs in them but our own scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from randsmooth.escape import printable
from randsmooth.extras import needs

# A browser may draw, and show the pictures that the page itself holds. It may ask for nothing over a network.
ALLOWED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

_LETTER = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
RIGHT_TO_LEFT = re.compile(f"[{_LETTER}](?:[{_LETTER} …]*[{_LETTER}])?")


def render(room: str, template: str, script: str, *, plots: bool = False, **content: Any) -> str:
    """The page that the template makes of `content`.

    Every text of it is escaped and printable. Should one get through all the same, the page's policy lets no script
    run but those whose hash it names, and fetches nothing.

    Args:
        room: the part of `randsmooth.report` whose folder holds the next two.
        template, script: names of files.
        plots: the page draws with plotly.js, which is put into it.
    """
    scripts = [
        *([_plotly()] if plots else []),
        resources.files(f"randsmooth.report.{room}").joinpath(script).read_text(),
    ]
    inlined = {"scripts": [Markup(text) for text in scripts], "policy": policy(scripts)}
    return _environment(room).get_template(template).render(content | inlined)


def policy(scripts: Sequence[str]) -> str:
    """The Content-Security-Policy of a page with these inline `scripts`."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    return "; ".join([ALLOWED, " ".join(["script-src", *(f"'sha256-{digest}'" for digest in digests)])])


def _environment(room: str) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(f"randsmooth.report.{of}", ".") for of in (room, "web")]),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """What the template prints, before it is escaped; markup is the templates' own.

    A mark that cannot be seen ends what is written from right to left: a figure behind a Hebrew name stays behind it.
    """
    return RIGHT_TO_LEFT.sub("\\g<0>\u200e", printable(value)) if type(value) is str else value


def _plotly() -> str:
    with needs("a page with plots"):
        from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
