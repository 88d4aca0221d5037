"""HTML pages that work offline.

All text in them is escaped, and nothing runs in them but our own scripts.
"""

import base64
import hashlib
import io
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from randsmooth.errors import NotFound
from randsmooth.escape import printable
from randsmooth.extras import needs

# The policy of a page, but for its scripts: a browser may use the styles and the pictures
# in the page itself, and ask for nothing over a network.
ALLOWED = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)

# The ranges of letters that are written from right to left, such as Hebrew and Arabic.
_LETTER = (
    "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
)
# Words of such letters, with the spaces between them.
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

    Every text in the page is escaped and printable. Should markup from a file get through
    all the same, the policy of the page lets only scripts run whose hash it names, and
    nothing be fetched.

    Args:
        package: the package whose folder holds the template.
        template: the name of the template's file.
        scripts, styles: JavaScript and CSS to put into the page, as text (see `asset`).
        plots: whether to put plotly.js before the scripts.
        content: the variables of the template.
    """
    inlined_scripts = list(scripts)
    if plots:
        inlined_scripts.insert(0, _plotly())
    inlined = {
        "scripts": [Markup(script) for script in inlined_scripts],
        "styles": Markup("\n".join(styles)),
        "policy": policy(inlined_scripts),
    }
    # A template may import those that lie beside this module.
    return str(_filled(template, content | inlined, package, __package__))


def fragment(package: str, template: str, **content: Any) -> Markup:
    """Return a piece of a page: a template filled and escaped as in a whole page.

    Args:
        package: the package whose folder holds the template.
        template: the name of the template's file.
        content: the variables of the template.
    """
    return _filled(template, content, package)


def panel_markup(module: Any, package: str, **content: Any) -> Markup:
    """Return the HTML of a panel: its template, filled and escaped as in a whole page.

    Args:
        module: the module of the panel, in any package. Its template lies beside it
            and has the same name, ending in .html.j2.
        package: the package whose templates the panel's template may import.
        content: the variables of the template.

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
    """Return the text of MODULE.js beside MODULE.py; empty if there is no such file."""
    script = Path(module.__file__).with_suffix(".js")
    if not script.exists():
        return ""
    return script.read_text()


def data_uri(image: Any, kind: str, **options: Any) -> str:
    """Return a picture as a URI that a page shows without a download.

    Args:
        image: an image of Pillow. The type is not named, since Pillow is optional.
        kind: the format, such as "png".
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
    """Return the Content-Security-Policy of a page with these inline `scripts`.

    A browser then runs no other scripts.
    """
    sources = ["script-src"]
    for text in scripts:
        digest = hashlib.sha256(text.encode()).digest()
        sources.append(f"'sha256-{base64.b64encode(digest).decode()}'")
    return f"{ALLOWED}; {' '.join(sources)}"


def _filled(template: str, content: dict[str, Any], *places: str | Path) -> Markup:
    """Return a template filled with `content`, whose texts are escaped.

    Args:
        template: the name of the template's file.
        content: the variables of the template.
        places: the folders, and the names of packages, in which the template and those
            that it imports are looked for.
    """
    compiled = _environment(*places).get_template(template)
    return Markup(compiled.render(content))


@cache
def _environment(*places: str | Path) -> jinja2.Environment:
    """Return what reads, and keeps, the templates that lie in these places.

    A template is compiled once, however many pages it is filled for.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([_loader(place) for place in places]),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The filter `tojson` escapes < and >, so that no text in it can end the script. Here
    # it is told to leave out spaces.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment


def _loader(place: str | Path) -> jinja2.BaseLoader:
    """Return the loader of templates from a package, by its name, or from a folder."""
    if isinstance(place, str):
        return jinja2.PackageLoader(place, ".")
    return jinja2.FileSystemLoader(place)


def _shown(value: Any) -> Any:
    """Return a value of a template as it is printed, before it is escaped.

    Letters that are not printable are replaced. An invisible mark ends words that are
    written from right to left, so that a figure behind a Hebrew name stays behind it.
    """
    # Numbers need neither. Markup, a subclass of str, was made by a template of ours.
    if type(value) is not str:
        return value
    return RIGHT_TO_LEFT.sub("\\g<0>\u200e", printable(value))


def _plotly() -> str:
    """Return the text of plotly.js."""
    # plotly comes with an extra: where it is missing, the error names the extra.
    with needs("a page with plots"):
        from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
