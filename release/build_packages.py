"""Builds the wheel and the sdist of this folder, and looks into both."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
BUILDERS = (
    "hatchling>=1.25",
    "hatch-fancy-pypi-readme>=24.1",
)  # as pyproject.toml asks for them
LINK = re.compile(
    r"\]\((?!https?://|#|mailto:)([^)\s]+)|(?:src|href)=\"(?!https?://|#)([^\"]+)"
)
# What a sdist must hold besides the package: who has only this can build, test and read.
IN_SDIST = (
    *(
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ),
    *(
        "Makefile",
        "constraints.txt",
        "Dockerfile",
        "docs/glossary.md",
        "docs/images/p_a_curves.png",
    ),
    *(
        "examples/certify_your_model.py",
        "benchmarks/harness.py",
        "tests/test_imports.py",
        "release/try_packages.py",
    ),
)


def build(
    folder: Path, *, python: str = sys.executable, sources: Path = ROOT
) -> tuple[Path, Path]:
    """The wheel and the sdist of `sources`, built into `folder` by the hatchling of `python`."""
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONPATH"
    }
    for target in ("wheel", "sdist"):
        command = [
            python,
            "-m",
            "hatchling",
            "build",
            "--target",
            target,
            "--directory",
            str(folder),
        ]
        subprocess.run(
            command, cwd=sources, env=environment, check=True, stdout=subprocess.DEVNULL
        )
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def metadata_of(wheel: Path) -> Message:
    """What an index is told of the package: its headers and, as the body, the README."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (
            name for name in archive.namelist() if name.endswith(".dist-info/METADATA")
        )
        return message_from_bytes(archive.read(name))


def faults(wheel: Path, sdist: Path, repository: str = "") -> list[str]:
    """What is wrong with the two, in words; nothing where all is well. They name this repository, or none."""
    return [*_faults_of_wheel(wheel, repository), *_faults_of_sdist(sdist)]


def relative_links(readme: str) -> list[str]:
    """Links and pictures that lead nowhere outside of the repository."""
    return [found[1] or found[2] for found in LINK.finditer(readme)]


def tracked(below: str = ".") -> set[str]:
    """The files of the repository below a folder, by git; by the disk where there is no repository, as in a sdist."""
    listed = subprocess.run(
        ["git", "ls-files", below],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0 and listed.stdout:
        return set(listed.stdout.splitlines())
    paths = (
        path
        for path in (ROOT / below).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    )
    return {path.relative_to(ROOT).as_posix() for path in paths}


def _faults_of_wheel(wheel: Path, repository: str) -> list[str]:
    facts = metadata_of(wheel)
    readme = facts.get_payload()
    found = [
        f"the README of the wheel links to {link}"
        for link in relative_links(str(readme))
    ]
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    ours = {
        PurePosixPath(name).relative_to("src").as_posix() for name in tracked("src")
    }
    found += [f"the wheel lacks {name}" for name in sorted(ours - held)]
    extra = {name for name in held - ours if ".dist-info/" not in name}
    found += [
        f"the wheel holds {name}, which is not in the repository"
        for name in sorted(extra)
    ]
    urls = [line.partition(", ")[2] for line in facts.get_all("Project-URL") or []]
    found += [
        f"the wheel names {url}, which is not below {repository or 'anything'}"
        for url in urls
        if not repository or not url.startswith(repository)
    ]
    return found + (
        ["the wheel names no project URLs"] if repository and not urls else []
    )


def _faults_of_sdist(sdist: Path) -> list[str]:
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    return [
        f"the sdist lacks {name}"
        for name in (*IN_SDIST, *sorted(tracked("src")))
        if name not in held
    ]
