"""A page opened in a headless Chromium, with a probe that looks at it as a reader would."""

import json
from pathlib import Path
from typing import Any

from chromium import chromium

PROBES = Path(__file__).parent / "probes"


def opened(
    path: Path, probe: str, *, size: tuple[int, int] = (1200, 2000), silent: bool = True
) -> Any:
    """What `probe`, a script or the name of one of PROBES, leaves in `document.body.dataset.probe`, as JSON.

    It runs once the page has loaded. No error may reach the console, if `silent`.
    """
    script = (PROBES / f"{probe}.js").read_text() if probe.isidentifier() else probe
    with chromium() as page:
        page.look(*size)
        page.go(path.as_uri())
        # The panels of a comparison are folded; a chart is laid out when it is seen.
        page.run("document.getElementById('unfold')?.click()")
        page.run(f"(() => {{{script}\n}})()")
        told = json.loads(page.until("document.body.dataset.probe"))
        assert not silent or page.errors() == []
    return told
