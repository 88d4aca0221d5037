"""What listing rules, judging logs and the guide to bounds do not load."""

import re
import subprocess
import sys
from pathlib import Path

from randsmooth.certificates import from_radii, write_tsv
from randsmooth.noise import Gaussian

GUIDE = Path(__file__).parents[2] / "docs" / "bounds.md"
WITHOUT = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "lightning_fabric", "pandas", "datasets"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusing())
"""


def test_the_guide_runs_without_torch(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    command = [sys.executable, "-c", WITHOUT + "".join(blocks)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0 and "samples per image on average" in done.stdout, done.stderr
    assert (tmp_path / "mine.parquet").is_file()


def test_rules_are_listed_without_numpy() -> None:
    """Which is what `randsmooth certify --help` does."""
    code = """
import sys
from randsmooth.rules import CONFIDENCE_BOUNDS, RULES
assert "grid[=STEP]" in [rule.usage for rule in RULES.values()] and all(rule.help for rule in RULES.values())
assert not {"numpy", "scipy", "pandas", "pyarrow", "torch"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_logs_are_read_and_judged_without_arrow_and_half_of_scipy(tmp_path: Path) -> None:
    most = Gaussian(0.5).largest_radius(100_000, alpha=0.001)
    write_tsv(from_radii([0.2, most, most]), tmp_path / "macer.tsv")
    code = f"""
import sys
from randsmooth import metrics
from randsmooth.certificates import infer, read
table = infer(read({str(tmp_path / "macer.tsv")!r}), "cifar10-sigma0.5/macer.tsv")
assert metrics.summarise(table, [0.0, 0.5]).p_a and table.header.n == 100_000
assert not {{"scipy.stats", "scipy.sparse", "scipy.optimize", "pandas", "pyarrow", "torch"}} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
