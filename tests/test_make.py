"""Every target of the Makefile: that it says what to run, and that this runs, at its smallest size.

Tried for real are those that need neither the network nor minutes. Of the others the commands are printed, and what
they name is asked for its help; `make lint` and `make test` are what CI runs.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.search(r"\.PHONY: (.*)", MAKEFILE)[1].split()  # type: ignore[index]
STAMPS = [f"--old-file=.venv/.{stamp}-installed" for stamp in ("demo", "dev", "docs")]  # nothing is installed


def make(target: str, *words: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    command = ["make", target, *words, *STAMPS, f"BIN={Path(sys.executable).parent}", f"PYTHON={sys.executable}"]
    settings = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    return subprocess.run(command, cwd=cwd, env=settings, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files of the repository, for targets that write among them."""
    held = shutil.ignore_patterns(".git", ".venv", "runs", "results", ".*_cache", "__pycache__", "*.egg-info")
    return Path(shutil.copytree(ROOT, tmp_path / "copy", ignore=held))


def test_every_target_says_what_it_would_run() -> None:
    assert set(TARGETS) == set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    for target in TARGETS:
        said = make(target, "--dry-run")
        assert said.returncode == 0 and said.stdout.strip(), f"{target}: {said.stderr}"
        for script in re.findall(r"(?<![\w/\"])[\w]+/[\w/]+\.py", said.stdout):
            assert (ROOT / script).is_file(), f"{target}: {script}"


@pytest.mark.slow
def test_field(copy: Path) -> None:
    log = copy.parent / "locuslab+smoothing/data/certify/mnist/lenet/noise_0.25/test/sigma_0.25"
    log.parent.mkdir(parents=True)
    rows = [f"{i}\t{i % 10}\t{i % 10}\t{0.01 * i:.3}\t1\t0:00:01" for i in range(20)]
    log.write_text("\n".join(["idx\tlabel\tpredict\tradius\tcorrect\ttime", *rows, ""]))
    done = make("field", f"CLONES={log.parents[6]}", cwd=copy)
    assert done.returncode == 0 and "1 logs judged" in done.stdout, done.stdout + done.stderr
    assert make("field-page", cwd=copy).returncode == 0 and (copy / "runs/field.html").stat().st_size > 10_000


def test_format_and_clean(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "odd.py").write_text("x = ( 1 )\n")
    done = make("format", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "odd.py").read_text() == "x = 1\n", done.stderr
    (tmp_path / "runs").mkdir()
    assert make("clean", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "runs").exists() and (tmp_path / "odd.py").exists()
