"""`randsmooth reproduce`: its list, its errors, and a formula drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.run import Run
from randsmooth.papers import SCALES, find_object


def test_the_list_names_every_object_and_its_needs(cli: Run) -> None:
    code, out, _ = cli("reproduce", "--list")
    lines = out.splitlines()
    assert code == 0 and len(lines) >= 45
    assert any(line.startswith("acr/table2") and "certificates of 21 models" in line for line in lines)
    assert any(line.startswith("acr/figure2") and "needs nothing" in line for line in lines)


def test_bad_input(cli: Run) -> None:
    cases: list[tuple[tuple[str, ...], str]] = [
        ((), "--list prints them all"),
        (("acr/tabel2",), "did you mean 'acr/table2'"),
        (("acr/table2", "--scale", "huge"), "--scale"),
        (("acr/table2", "--from", "nowhere"), "nowhere is no folder"),
    ]
    for words, named in cases:
        code, _, err = cli("reproduce", *words)
        assert code == 2
        assert named in err


@pytest.mark.slow
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


@pytest.mark.slow
def test_logs_are_drawn_without_torch(tmp_path: Path) -> None:
    program = (
        "import sys; from randsmooth.papers.reproduction import reproduce; "
        f"reproduce('acr/figure4', out={str(tmp_path)!r}); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.slow
def test_what_is_missing_is_made_side_by_side_and_one_failure_does_not_stop_the_rest(cli: Run) -> None:
    words = ("reproduce", "acr/c1", "--scale", "tiny", "--run", "--workers", 2)
    names = sorted(SCALES["tiny"].model_folder_name(row) for row in find_object("acr/c1").rows())
    in_the_way = Path("reproduced/tiny") / names[0]
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("a file where a folder should be")
    code, out, _ = cli(*words)
    assert code == 1 and "missing: 1 of 3 models" in out
    assert f"{names[0]}: {in_the_way} is a file; --out names a folder" in out
    made = sorted(Path("reproduced/tiny").glob("*/model.safetensors"))
    assert [path.parent.name for path in made] == names[1:]
    before = [path.stat().st_mtime_ns for path in made]
    in_the_way.unlink()
    code, out, _ = cli(*words)
    assert code == 0 and "missing" not in out and names[1] not in out.partition("acr/c1:")[0]
    assert [path.stat().st_mtime_ns for path in made] == before  # they were not trained again
    assert len([*Path("reproduced/tiny").glob("*.parquet")]) == 3


def test_fewer_workers_than_one_are_refused(cli: Run) -> None:
    code, _, err = cli("reproduce", "acr/c1", "--scale", "tiny", "--run", "--workers", 0)
    assert code == 2 and "workers=0" in err
