"""A page opened in a headless Chromium, with a probe that looks at it as a reader would."""

import json
from pathlib import Path
from typing import Any

from chromium import chromium

PROBES = Path(__file__).parent / "probes"


def opened(path: Path, probe: str, *, silent: bool = True) -> Any:
    """What the probe of that name left in `document.body.dataset.probe`, as JSON, once the page had loaded.

    No error may have reached the console, if `silent`.
    """
    with chromium() as page:
        page.look(1200, 2000)
        page.go(path.as_uri())
        page.run(f"(() => {{{(PROBES / f'{probe}.js').read_text()}\n}})()")
        told = json.loads(page.run("document.body.dataset.probe"))
        assert not silent or page.errors() == []
    return told
