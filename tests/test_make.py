"""Every target of the Makefile: that it says what to run, and that this runs, at its smallest size.

Tried for real is what no other test runs and needs neither the network nor minutes. Of the others the commands are
printed, and what they name is there; `make lint` and `make test` are what CI runs.
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
STAMPS = [
    f"--old-file=.venv/.{stamp}-installed" for stamp in ("demo", "dev", "docs")
]  # nothing is installed


def make(
    target: str, *words: str, cwd: Path = ROOT, **variables: str
) -> subprocess.CompletedProcess[str]:
    command = [
        "make",
        target,
        *words,
        *STAMPS,
        f"BIN={Path(sys.executable).parent}",
        f"PYTHON={sys.executable}",
    ]
    settings = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    return subprocess.run(
        command, cwd=cwd, env=settings, capture_output=True, text=True, check=False
    )


def test_every_target_says_what_it_would_run() -> None:
    assert set(TARGETS) == set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    for target in TARGETS:
        said = make(target, "--dry-run")
        assert said.returncode == 0 and said.stdout.strip(), f"{target}: {said.stderr}"
        for script in re.findall(r"(?<![\w/\"])[\w]+/[\w/]+\.py", said.stdout):
            assert (ROOT / script).is_file(), f"{target}: {script}"


@pytest.mark.slow
def test_field(tmp_path: Path) -> None:
    """In a copy of the files, since it writes among them."""
    held = shutil.ignore_patterns(
        ".git", ".venv", "runs", "results", ".*_cache", "__pycache__", "*.egg-info"
    )
    copy = Path(shutil.copytree(ROOT, tmp_path / "copy", ignore=held))
    log = (
        tmp_path
        / "locuslab+smoothing/data/certify/mnist/lenet/noise_0.25/test/sigma_0.25"
    )
    log.parent.mkdir(parents=True)
    rows = [f"{i}\t{i % 10}\t{i % 10}\t{0.01 * i:.3}\t1\t0:00:01" for i in range(20)]
    log.write_text("\n".join(["idx\tlabel\tpredict\tradius\tcorrect\ttime", *rows, ""]))
    done = make("field", f"CLONES={log.parents[6]}", cwd=copy)
    assert done.returncode == 0 and "1 logs judged" in done.stdout, (
        done.stdout + done.stderr
    )
    assert (
        make("field-page", cwd=copy).returncode == 0
        and (copy / "runs/field.html").stat().st_size > 10_000
    )
