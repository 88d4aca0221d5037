"""The tables of measured figures in the guides are those of results/bench."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "docs" / "_figures" / "measured_tables.py"


def check(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / SCRIPT.relative_to(ROOT)), "--check"]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_guides_show_what_was_measured() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


def test_a_figure_that_was_not_measured_is_found(tmp_path: Path) -> None:
    (tmp_path / "results").symlink_to(ROOT / "results")
    (tmp_path / "docs" / "_figures").mkdir(parents=True)
    for script in (SCRIPT, SCRIPT.with_name("marked_tables.py")):
        (tmp_path / "docs" / "_figures" / script.name).write_text(script.read_text())
    page = (ROOT / "docs" / "which-rule.md").read_text()
    assert "77 times" in page
    (tmp_path / "docs" / "page.md").write_text(page.replace("77 times", "78 times"))
    done = check(tmp_path)
    assert done.returncode != 0
    assert "docs/page.md" in done.stderr
