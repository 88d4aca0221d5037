"""The page in a real browser, where one is installed."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from randsmooth.certificates import Certificates
from randsmooth.report import page

Make = Callable[..., Certificates]

QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --virtual-time-budget=10000 --enable-logging=stderr --dump-dom"
)
# Hide the first table's curves, choose the last radius, and leave what then shows in the page.
PROBE = """<script>
addEventListener("load", () => {
  document.querySelector(".legend button").click();
  const pick = document.getElementById("pick");
  pick.value = pick.options.length - 1;
  pick.dispatchEvent(new Event("change"));
  const hidden = document.getElementById("radius").data.filter((trace) => trace.visible === false).length;
  const drawn = document.querySelectorAll(".plot .scatterlayer .trace").length;
  const at = document.getElementById("at").textContent;
  document.body.dataset.probe = [hidden, drawn, at].join(" ");
});
</script>"""


@pytest.mark.slow
def test_plots_toggles_and_radius_work(make: Make, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed")
    tables = [make("gaussian"), make("<b>b</b>", seed=1), make("</script><script>alert(1)</script>", seed=2)]
    path = tmp_path / "report.html"
    path.write_text(page(tables, radii=[0, 0.25, 0.5]) + PROBE)
    command = [chromium, *QUIET.split(), f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    probe = re.search(r'data-probe="([^"]*)"', done.stdout)
    assert probe is not None, done.stderr[-2000:]
    hidden, drawn, radius = probe.group(1).split()
    assert (hidden, drawn, radius) == ("3", "12", "0.5")  # 2 plots x 2 tables shown x 3 traces
    assert "CONSOLE" not in done.stderr
