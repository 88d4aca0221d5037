"""The guide to bounds and rules, and the example of an own sampler, run where torch cannot be imported."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "bounds.md"
EXAMPLE = Path(__file__).parents[2] / "examples" / "from_counts.py"

WITHOUT = """
import runpy, sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "lightning_fabric", "pandas", "datasets"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusing())
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def ran(script: Path, folder: Path) -> str:
    command = [sys.executable, "-c", WITHOUT, str(script)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_guide_runs_without_torch(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    script = tmp_path / "guide.py"
    script.write_text("".join(blocks))
    assert "samples per image on average" in ran(script, tmp_path)
    assert (tmp_path / "mine.parquet").is_file()


@pytest.mark.slow
def test_the_example_runs_without_torch(tmp_path: Path) -> None:
    assert "torch was not loaded" in ran(EXAMPLE, tmp_path)
