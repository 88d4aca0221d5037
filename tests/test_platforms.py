"""What only POSIX systems have is needed by nothing at import, nor to read, evaluate and compare certificates."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# Refuses the modules that Windows lacks, then imports all of randsmooth or runs a command line.
WITHOUT = """
import sys, warnings

LACKING = {"fcntl", "resource", "pwd", "grp", "termios", "pty"}

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name in LACKING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in LACKING:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Refusing())
warnings.simplefilter("ignore")  # filelock says that it has no locks of the system here
"""
IMPORTS = """
import importlib, pkgutil
import randsmooth
from randsmooth.extras import EXTRAS

for module in pkgutil.walk_packages(randsmooth.__path__, "randsmooth."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # of an extra that is not installed
            assert (error.name or "").partition(".")[0] in EXTRAS, error
"""
RUNS = "sys.argv = ['randsmooth', *sys.argv[1:]]; from randsmooth.cli.main import main; main()"
LOG = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.742\t1\t0:00:03\n1\t8\t-1\t0.0\t0\t0:00:03\n"


def run(program: str, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + program, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_everything_is_imported_without_what_windows_lacks() -> None:
    done = run(IMPORTS)
    assert done.returncode == 0, done.stderr


def test_logs_are_evaluated_and_ranked_without_it(tmp_path: Path) -> None:
    for name in ("gaussian", "ours"):
        (tmp_path / f"{name}.tsv").write_text(LOG)
    judged = ("--sigma", 0.5, "--n", 1000, "--alpha", 0.001)
    files = [tmp_path / "gaussian.tsv", tmp_path / "ours.tsv"]
    for words in (
        ("evaluate", *files, *judged),
        ("compare", *files, *judged, "--out", tmp_path / "page.html"),
        ("leaderboard", tmp_path, *judged, "--out", tmp_path / "board.html"),
        ("verify", *files),
    ):
        done = run(RUNS, *words)
        assert done.returncode == 0, (words, done.stderr)
    assert (tmp_path / "page.html").exists() and (tmp_path / "board.html").exists()
