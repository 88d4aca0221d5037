"""The command that installs an extra names the place that randsmooth came from."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import randsmooth

ROOT = Path(randsmooth.__file__).parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"

# Prints the command in an interpreter that imports a copy of the package from its first argument alone.
ASK = """
import sys
sys.path.insert(0, sys.argv[1])
from randsmooth.origin import install_command
print(install_command("hub"))
"""


@pytest.mark.parametrize(
    ("noted", "command"),
    [
        (None, "pip install 'randsmooth[hub]'"),
        ({"url": "file:///home/me/a%20clone", "dir_info": {}}, "pip install '/home/me/a clone[hub]'"),
        ({"url": "file:///src/rs", "dir_info": {"editable": True}}, "pip install -e '/src/rs[hub]'"),
        (
            {"url": "https://example.org/rs.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"pip install 'randsmooth[hub] @ git+https://example.org/rs.git@{COMMIT}'",
        ),
        (
            {"url": "https://example.org/rs.git", "vcs_info": {"vcs": "git", "requested_revision": "v1"}},
            "pip install 'randsmooth[hub] @ git+https://example.org/rs.git@v1'",
        ),
        (
            {"url": "file:///tmp/randsmooth-0.1-py3-none-any.whl", "archive_info": {}},
            "pip install 'randsmooth[hub] @ file:///tmp/randsmooth-0.1-py3-none-any.whl'",
        ),
    ],
)
def test_an_installed_package_is_named_by_what_pip_noted(
    noted: dict[str, Any] | None, command: str, tmp_path: Path
) -> None:
    (tmp_path / "randsmooth").symlink_to(copied(tmp_path), target_is_directory=True)
    info = tmp_path / "randsmooth-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: randsmooth\nVersion: 0.1.0\n")
    if noted is not None:
        (info / "direct_url.json").write_text(json.dumps(noted))
    assert asked(tmp_path) == command


def test_a_clone_is_named_by_its_folder() -> None:
    assert asked(ROOT / "src") == f"pip install -e {shlex.quote(f'{ROOT}[hub]')}"


def test_without_metadata_it_is_named_as_on_the_index(tmp_path: Path) -> None:
    (tmp_path / "randsmooth").symlink_to(copied(tmp_path), target_is_directory=True)
    assert asked(tmp_path, "-S") == "pip install 'randsmooth[hub]'"


def copied(folder: Path) -> Path:
    """The two modules that are needed, in a folder that is no clone."""
    package = folder / "site" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "origin.py").write_text((ROOT / "src" / "randsmooth" / "origin.py").read_text())
    return package


def asked(site: Path, *flags: str) -> str:
    done = subprocess.run(
        [sys.executable, "-I", *flags, "-c", ASK, str(site)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()
