"""`randsmooth reproduce`: its list, its errors, and a formula drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.run import Run


def test_the_list_names_every_object_and_its_needs(cli: Run) -> None:
    code, out, _ = cli("reproduce", "--list")
    lines = out.splitlines()
    assert code == 0 and len(lines) >= 45
    assert any(line.startswith("acr/table2") and "certificates of 21 models" in line for line in lines)
    assert any(line.startswith("acr/figure2") and "needs nothing" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), "--list prints them all"),
        (("acr/tabel2",), "did you mean 'acr/table2'"),
        (("acr/table2", "--scale", "huge"), "--scale"),
        (("acr/table2", "--from", "nowhere"), "nowhere is no folder"),
    ],
)
def test_bad_input(cli: Run, words: tuple[str, ...], named: str) -> None:
    code, _, err = cli("reproduce", *words)
    assert code == 2
    assert named in err


def test_a_formula_is_drawn_at_once(cli: Run) -> None:
    code, out, _ = cli("reproduce", "acr/figure2", "--out", "here")
    assert code == 0 and "missing" not in out
    assert {path.name for path in Path("here").iterdir()} == {f"acr-figure2.{s}" for s in ("png", "pdf", "html", "csv")}


def test_nothing_at_hand_gives_the_commands(cli: Run) -> None:
    code, out, _ = cli("reproduce", "cat-rs/table7", "--scale", "cpu")
    assert code == 0
    assert "missing: 4 of 4 models" in out
    assert "randsmooth train cifar10 --preset cat-rs/cat-rs/m=1 --sigma 0.5 --epochs 8 --take 20000" in out
    assert not Path("reproduced").exists()


def test_logs_are_drawn_without_torch(tmp_path: Path) -> None:
    program = (
        "import sys; from randsmooth.papers.reproduction import reproduce; "
        f"reproduce('acr/figure4', out={str(tmp_path)!r}); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
