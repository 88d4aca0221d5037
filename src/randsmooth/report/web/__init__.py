"""HTML pages that work offline.

What they print is escaped, and nothing runs in them but our own scripts.
"""

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

# A browser may draw, and show the pictures that the page itself holds. It may ask for
# nothing over a network.
ALLOWED = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)

# Letters of scripts that are written from right to left.
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
    """Return the page that the template makes of `content`.

    Every text of it is escaped and printable. Should one get through all the same, the
    page's policy lets no script run but those whose hash it names, and fetches nothing.

    Args:
        package: the package whose folder holds the template.
        scripts, styles: JavaScript and CSS to put into the page, as text (see `asset`).
        plots: put plotly.js before the scripts.
    """
    inlined_scripts = list(scripts)
    if plots:
        inlined_scripts.insert(0, _plotly())
    inlined = {
        "scripts": [Markup(script) for script in inlined_scripts],
        "styles": Markup("\n".join(styles)),
        "policy": policy(inlined_scripts),
    }
    return str(_filled(template, content | inlined, package, __package__))


def fragment(package: str, template: str, **content: Any) -> Markup:
    """Return a piece of a page: a template filled and escaped as in a whole page.

    Args:
        package: the package whose folder holds the template.
    """
    return _filled(template, content, package)


def panel_markup(module: Any, package: str, **content: Any) -> Markup:
    """Return the HTML of a panel: its template, filled and escaped as in a whole page.

    Args:
        module: the module of the panel, in any package. Its template lies beside it
            and has the same name, ending in .html.j2.
        package: the package whose templates that template may import.

    Raises:
        Problem: there is no such template.
    """
    template = Path(module.__file__).with_suffix(".html.j2")
    if not template.exists():
        raise NotFound(
            f"panel {module.__name__} lacks its template, {template}: "
            "is it in the package's data?"
        )
    return _filled(template.name, content, template.parent, package)


def panel_script(module: Any) -> str:
    """Return the text of the JavaScript file beside a module, with its name.

    It is empty if there is none.
    """
    script = Path(module.__file__).with_suffix(".js")
    if not script.exists():
        return ""
    return script.read_text()


def data_uri(image: Any, kind: str, **options: Any) -> str:
    """Return a picture of Pillow's as a URI that a page shows without a download.

    Args:
        options: the options of `image.save`.
    """
    file = io.BytesIO()
    image.save(file, format=kind, **options)
    content = base64.b64encode(file.getvalue()).decode()
    return f"data:image/{kind};base64,{content}"


def asset(package: str, name: str) -> str:
    """Return the text of a file in the folder of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def policy(scripts: Sequence[str]) -> str:
    """Return the Content-Security-Policy of a page with these inline `scripts`."""
    sources = ["script-src"]
    for text in scripts:
        digest = hashlib.sha256(text.encode()).digest()
        sources.append(f"'sha256-{base64.b64encode(digest).decode()}'")
    return f"{ALLOWED}; {' '.join(sources)}"


def _filled(template: str, content: dict[str, Any], *places: str | Path) -> Markup:
    """Fill a template, and escape what it prints.

    Args:
        places: the folders and packages in which it and what it imports lie.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([_loader(place) for place in places]),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Of `tojson`, which ends no element.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return Markup(environment.get_template(template).render(content))


def _loader(place: str | Path) -> jinja2.BaseLoader:
    if isinstance(place, str):
        return jinja2.PackageLoader(place, ".")
    return jinja2.FileSystemLoader(place)


def _shown(value: Any) -> Any:
    """Return the value that the template prints, before it is escaped.

    Markup is the templates' own. A mark that cannot be seen ends what is written from
    right to left: a figure behind a Hebrew name stays behind it.
    """
    if type(value) is not str:
        return value
    return RIGHT_TO_LEFT.sub("\\g<0>\u200e", printable(value))


def _plotly() -> str:
    with needs("a page with plots"):
        from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
