"""An empty environment with what is to be tried in it, where programs run as if there were no repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

KEPT = ("PATH", "LANG", "TERM", "TMPDIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
MINUTES = 60.0
NO_MORE: Mapping[str, str] = {}


class Failed(Exception):
    """A command ended otherwise than it should."""


class Environment:
    """A virtual environment, and an empty folder in which its programs run, with an empty home."""

    def __init__(self, folder: Path, python: str) -> None:
        self.bin, self.place, self.home = (
            folder / "venv" / "bin",
            folder / "place",
            folder / "home",
        )
        self.place.mkdir()
        self.home.mkdir()
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True)

    def install(self, *what: str, constraints: Path | None = None) -> None:
        """Install from the index with pip, whose own settings (an index, a cache) hold; nothing of the repository."""
        given = ["--constraint", str(constraints)] if constraints else []
        options = [
            "--quiet",
            "--disable-pip-version-check",
            "--no-compile",
            "--prefer-binary",
        ]
        command = [
            str(self.bin / "python"),
            "-m",
            "pip",
            "install",
            *options,
            *given,
            *what,
        ]
        outer = {
            key: value
            for key, value in os.environ.items()
            if key not in ("PYTHONPATH", "PIP_CONSTRAINT")
        }
        if subprocess.run(command, env=outer, check=False).returncode:
            raise Failed(f"pip install {' '.join(what)}")

    def run(
        self,
        program: str,
        *words: str,
        code: int = 0,
        minutes: float = 5.0,
        variables: Mapping[str, str] = NO_MORE,
    ) -> str:
        """What `program WORDS` prints on both streams. Raises Failed unless it ends with `code` and no traceback."""
        kept = {key: os.environ[key] for key in KEPT if key in os.environ}
        own = {
            "HOME": str(self.home),
            "PATH": f"{self.bin}{os.pathsep}{kept['PATH']}",
            "COLUMNS": "120",
        }
        command = [str(self.bin / program), *words]
        done = subprocess.run(
            command,
            cwd=self.place,
            env=kept | own | dict(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=minutes * MINUTES,
            check=False,
        )
        if done.returncode != code or "Traceback" in done.stdout:
            raise Failed(
                f"{program} {' '.join(words)}: exit code {done.returncode}, not {code}\n{done.stdout[-3000:]}"
            )
        return done.stdout

    def size(self) -> int:
        """Bytes on disk."""
        return sum(
            path.lstat().st_size
            for path in self.bin.parent.rglob("*")
            if path.is_file()
        )


@contextmanager
def environment(python: str) -> Iterator[Environment]:
    """An empty environment of the interpreter `python`, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="try-packages-"))
    try:
        yield Environment(folder, python)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def called(python: str) -> str:
    """The version of an interpreter, such as 3.12.1; empty where it cannot be run."""
    ask: Sequence[str] = [
        python,
        "-c",
        "import platform; print(platform.python_version())",
    ]
    try:
        return subprocess.run(
            ask, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
