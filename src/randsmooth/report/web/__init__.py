"""HTML pages that work offline: what they print is escaped, and nothing runs in them but our own scripts."""

import base64
import hashlib
import io
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from randsmooth.errors import NotFound
from randsmooth.escape import printable
from randsmooth.extras import needs

# A browser may draw, and show the pictures that the page itself holds. It may ask for nothing over a network.
ALLOWED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

_LETTER = (
    "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
)
RIGHT_TO_LEFT = re.compile(f"[{_LETTER}](?:[{_LETTER} …]*[{_LETTER}])?")


def page(
    package: str,
    template: str,
    *,
    scripts: Sequence[str],
    styles: Sequence[str] = (),
    plots: bool = False,
    **content: Any,
) -> str:
    """The page that the template makes of `content`.

    Every text of it is escaped and printable. Should one get through all the same, the page's policy lets no script
    run but those whose hash it names, and fetches nothing.

    Args:
        package: whose folder holds the template.
        scripts, styles: JavaScript and CSS to put into the page, as text (see `asset`).
        plots: put plotly.js before the scripts.
    """
    every = [*([_plotly()] if plots else []), *scripts]
    inlined = {
        "scripts": list(map(Markup, every)),
        "styles": Markup("\n".join(styles)),
        "policy": policy(every),
    }
    return str(_filled(template, content | inlined, package, __package__))


def fragment(package: str, template: str, **content: Any) -> Markup:
    """A piece of a page: the template, from the folder of `package`, filled and escaped as in a whole page."""
    return _filled(template, content, package)


def panel_markup(module: Any, package: str, **content: Any) -> Markup:
    """The HTML of a panel: its template, filled with `content` and escaped as in a whole page.

    Args:
        module: of any package; its template has the same name, ending in .html.j2, and lies in the same folder.
        package: whose templates that template may import.

    Raises:
        Problem: there is no such template.
    """
    template = Path(module.__file__).with_suffix(".html.j2")
    if not template.exists():
        raise NotFound(
            f"panel {module.__name__} lacks its template, {template}: is it in the package's data?"
        )
    return _filled(template.name, content, template.parent, package)


def panel_script(module: Any) -> str:
    """The text of the JavaScript file with the name and in the folder of the module; empty if there is none."""
    script = Path(module.__file__).with_suffix(".js")
    return script.read_text() if script.exists() else ""


def data_uri(image: Any, kind: str, **options: Any) -> str:
    """A picture of Pillow's as what a page can show without fetching it; `options` are those of `image.save`."""
    file = io.BytesIO()
    image.save(file, format=kind, **options)
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"


def asset(package: str, name: str) -> str:
    """The text of a file in the folder of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def policy(scripts: Sequence[str]) -> str:
    """The Content-Security-Policy of a page with these inline `scripts`."""
    digests = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in scripts
    )
    return "; ".join(
        [
            ALLOWED,
            " ".join(["script-src", *(f"'sha256-{digest}'" for digest in digests)]),
        ]
    )


def _filled(template: str, content: dict[str, Any], *places: str | Path) -> Markup:
    """The template, filled and escaped; it and what it imports lie in the folders and packages `places`."""
    loaders = [
        jinja2.PackageLoader(p, ".")
        if isinstance(p, str)
        else jinja2.FileSystemLoader(p)
        for p in places
    ]
    options: dict[str, Any] = {
        "autoescape": True,
        "finalize": _shown,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders), undefined=jinja2.StrictUndefined, **options
    )
    environment.policies["json.dumps_kwargs"] = {
        "separators": (",", ":")
    }  # of `tojson`, which ends no element
    return Markup(environment.get_template(template).render(content))


def _shown(value: Any) -> Any:
    """What the template prints, before it is escaped; markup is the templates' own.

    A mark that cannot be seen ends what is written from right to left: a figure behind a Hebrew name stays behind it.
    """
    return (
        RIGHT_TO_LEFT.sub("\\g<0>\u200e", printable(value))
        if type(value) is str
        else value
    )


def _plotly() -> str:
    with needs("a page with plots"):
        from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
