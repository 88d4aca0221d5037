"""A page opened in a headless Chromium, with a probe that looks at it as a reader would."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from randsmooth.report.web import policy

QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1200,2000 --enable-logging=stderr --dump-dom"
)


PROBES = Path(__file__).parent / "probes"


def opened(path: Path, probe: str, *options: str, silent: bool = True) -> Any:
    """What `probe`, a script or the name of one of PROBES, left in `document.body.dataset.probe`, as JSON.

    No message may have reached the console, if `silent`. The probe runs once the page has loaded; its hash is added to
    the page's policy, which stays as it is otherwise.
    """
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed")
    script = PROBES / f"{probe}.js"
    path.write_text(probed(path.read_text(), script.read_text() if probe.isidentifier() else probe))
    command = [chromium, *QUIET.split(), *options, f"--user-data-dir={path.parent / 'profile'}", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    left = re.search(r'data-probe="([^"]*)"', done.stdout)
    assert left is not None, done.stderr[-2000:]
    assert not silent or "CONSOLE" not in done.stderr, done.stderr[-2000:]
    return json.loads(html.unescape(left.group(1)))


def probed(page: str, probe: str) -> str:
    """`page` with `probe` at its end, allowed to run."""
    script = f'addEventListener("load", () => {{{probe}\n}});'
    digest = policy([script]).rpartition(" ")[2]
    allowed = page.replace("script-src ", f"script-src {html.escape(digest)} ", 1)
    assert allowed != page
    return f"{allowed}<script>{script}</script>"
