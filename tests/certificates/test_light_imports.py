"""What listing rules and judging logs do not load."""

import subprocess
import sys
from pathlib import Path

from randsmooth.certificates import from_radii, write_tsv
from randsmooth.noise import Gaussian


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
