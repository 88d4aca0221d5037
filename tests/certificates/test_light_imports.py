"""What listing rules, judging logs and the guide to bounds do not load."""

from pathlib import Path

from fresh import python
from pages import blocks
from randsmooth.certificates import from_radii, write_tsv
from randsmooth.noise import Gaussian

GUIDE = Path(__file__).parents[2] / "docs" / "bounds.md"


def test_the_guide_runs_without_torch(tmp_path: Path) -> None:
    code = [block.text for block in blocks(GUIDE) if block.language == "python"]
    assert len(code) >= 6
    printed = python(
        "".join(code),
        without=("torch", "lightning_fabric", "pandas", "datasets"),
        folder=tmp_path,
    )
    assert (
        "samples per image on average" in printed
        and (tmp_path / "mine.parquet").is_file()
    )


def test_rules_are_listed_without_scipy() -> None:
    """Which is what `randsmooth certify --help` does."""
    code = """
import sys
from randsmooth.rules import CONFIDENCE_BOUNDS, RULES
assert "grid[=STEP]" in [rule.usage for rule in RULES.values()] and all(rule.summary for rule in RULES.values())
assert not {"scipy", "pandas", "pyarrow", "torch"} & sys.modules.keys()
"""
    python(code)


def test_logs_are_read_and_judged_without_arrow_and_half_of_scipy(
    tmp_path: Path,
) -> None:
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
    python(code)
