"""Old addresses keep working: a page that moved or was merged leaves a page behind that leads to its new place.

Links of other sites may name an anchor. `MOVED` says where those anchors lead that lie on another page than the rest.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from commands import anchor_of, options_of, page_of
from sphinx.application import Sphinx

from randsmooth.cli.verbs import VERBS

# Old page -> anchor on it -> page and anchor that hold it now; "" is the page itself, and every other anchor.
MOVED: dict[str, dict[str, str]] = {
    "models": {"": "own-model#all-kinds-of-models"},
    "combining": {
        "": "own-model#what-a-models-images-need",
        "ensembles": "own-model#ensembles",
        "a-model-that-somebody-else-runs": "other-models#a-model-that-somebody-else-runs",
    },
    "denoised": {"": "other-models#a-classifier-that-never-saw-noise"},
    "sound": {"": "guarantee#sound-to-the-last-bit"},
    "p_a": {"": "which-rule#which-bound"},
    "abstains": {"": "troubles#why-does-it-abstain"},
    "command-line": {"": "commands/index"},
}

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>This page has moved</title>
<link rel="canonical" href="{address}">
<meta http-equiv="refresh" content="1; url={address}">
<script>
const places = {places};
const anchor = location.hash.slice(1);
location.replace(anchor in places ? places[anchor] : {rest});
</script>
</head>
<body><p>This page has moved: <a href="{address}">go there</a>.</p></body>
</html>
"""


def places_of(page: str) -> dict[str, str]:
    """Return where the anchors of an old page are now."""
    places = dict(MOVED[page])
    if page == "command-line":
        for verb in VERBS:
            anchor = anchor_of(verb)
            places[anchor] = f"{page_of(verb)}#{anchor}"
            for option in options_of(verb):
                entry = f"cmdoption-{anchor}-{option.lstrip('-')}"
                places[entry] = f"{page_of(verb)}#{entry}"
    return places


def address_of(place: str) -> str:
    """Return the address of a page and anchor, such as own-model#ensembles."""
    page, _, anchor = place.partition("#")
    return f"{page}.html#{anchor}" if anchor else f"{page}.html"


def pages() -> Iterator[tuple[str, str]]:
    """Return the file name and the HTML of every page that is left behind."""
    for page in MOVED:
        addresses = {
            anchor: address_of(place) for anchor, place in places_of(page).items()
        }
        yield (
            f"{page}.html",
            PAGE.format(
                address=addresses[""],
                places=json.dumps(addresses),
                rest=json.dumps(addresses[""]),
            ),
        )


def write_pages(app: Sphinx, failed: Exception | None) -> None:
    """Write them beside the pages that the build made."""
    if failed is None and app.builder.format == "html":
        for name, text in pages():
            Path(app.outdir, name).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
