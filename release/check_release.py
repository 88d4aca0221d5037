"""Checks that this folder can be published as the version that it says. It uploads nothing and makes no tag.

    python release/check_release.py --repository https://github.com/OWNER/NAME --author "NAMES"
    ... --tests   # also lint and tests, which take minutes
    ... --keep    # leaves wheel, sdist, CITATION.cff and recipe.yaml in dist/ if all is well

The sources name no repository and no person: both are written into a copy, of which the packages are built.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from addresses import fill, stage
from build_packages import BUILDERS, ROOT, build, faults, tracked
from environment import Failed, environment
from uses import USES

VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
HEADING = re.compile(r"^## (\S+) \(([^)]+)\)$", re.MULTILINE)
ELSEWHERE = (
    "make test-slow",
    "make packages",
    "make docs",
    "make bench",
)  # on this commit, for hours together


def version() -> str:
    """The version of the sources."""
    found = re.search(
        r'^__version__ = "([^"]+)"$', _read("src/randsmooth/__init__.py"), re.MULTILINE
    )
    assert found is not None
    return found[1]


def check_version() -> str:
    if not VERSION.fullmatch(version()):
        raise Failed(
            f"{version()} in src/randsmooth/__init__.py is no version of a release, such as 0.2.0 or 0.2.0rc1"
        )
    return version()


def check_changelog() -> str:
    """The date of the newest version in the changelog, which must be this one."""
    newest = HEADING.search(_read("CHANGELOG.md"))
    if newest is None or newest[1] != version():
        raise Failed(
            f"CHANGELOG.md begins with {newest and newest[1]}, not with {version()}"
        )
    try:
        date = datetime.date.fromisoformat(newest[2])
    except ValueError:
        raise Failed(
            f"CHANGELOG.md says {version()} ({newest[2]}), which is no date such as 2026-05-31"
        ) from None
    if date > datetime.date.today():
        raise Failed(f"CHANGELOG.md dates {version()} in the future: {date}")
    return str(date)


def check_citation() -> str:
    """CITATION.cff, the conda recipe and `randsmooth cite` say this version and its date."""
    lines = dict(re.findall(r"^([a-z-]+): (.+)$", _read("CITATION.cff"), re.MULTILINE))
    if lines["version"] != version():
        raise Failed(f"CITATION.cff says version {lines['version']}, not {version()}")
    if f'version: "{version()}"' not in _read("release/conda/recipe.yaml"):
        raise Failed(f"release/conda/recipe.yaml is not of version {version()}")
    date = check_changelog()
    if lines.get("date-released", "").strip("\"'") != date:
        raise Failed(
            f"CITATION.cff says date-released: {lines.get('date-released')}, CHANGELOG.md {date}"
        )
    if f"year = {{{date[:4]}}},\n  version = {{{version()}}}" not in _read(
        "src/randsmooth/papers/references.bib"
    ):
        raise Failed(
            f"src/randsmooth/papers/references.bib is not of version {version()} and year {date[:4]}"
        )
    return f"version {version()}, {date}"


def check_repository(repository: str, author: str) -> str:
    """The repository and the author that were given; where this is a clone, it is one of that repository."""
    if not (repository and author):
        raise Failed(
            "say where it is published, and who does: make release REPOSITORY=https://... AUTHOR=..."
        )
    origin = _git("remote", "get-url", "origin").removesuffix(".git").replace(":", "/")
    if origin and not origin.endswith(repository.partition("://")[2]):
        raise Failed(
            f"the repository is to be {repository}; this is a clone of {origin}"
        )
    return f"{repository}, {author}"


def check_tree() -> str:
    if changed := _git("status", "--porcelain"):
        raise Failed(
            f"not committed: {', '.join(line[3:] for line in changed.splitlines()[:5])}, ..."
        )
    if _git("tag", "--list", f"v{version()}"):
        raise Failed(f"the tag v{version()} is there already")
    return _git("rev-parse", "--short", "HEAD")


def check_tests() -> str:
    for target in ("lint", "test"):
        if subprocess.run(["make", target], cwd=ROOT, check=False).returncode:
            raise Failed(f"make {target}")
    return "lint and test"


def check_packages(repository: str, author: str, keep: bool) -> str:
    """Build, look into, check and use the packages; the tools for that come into an empty environment."""
    with tempfile.TemporaryDirectory() as folder, environment(sys.executable) as tools:
        sources = stage(tracked(), ROOT, Path(folder, "sources"))
        fill(sources, repository, author)
        tools.install(*BUILDERS, "twine", "cffconvert", "setuptools<81")
        wheel, sdist = build(
            Path(folder), python=str(tools.bin / "python"), sources=sources
        )
        if wrong := faults(wheel, sdist, repository):
            raise Failed("; ".join(wrong))
        tools.run("twine", "check", "--strict", str(wheel), str(sdist))
        tools.run("cffconvert", "--validate", "--infile", str(sources / "CITATION.cff"))
        with environment(sys.executable) as empty:
            empty.install(str(wheel))
            USES[0].run(empty)
        if keep:
            (ROOT / "dist").mkdir(exist_ok=True)
            for path in (
                wheel,
                sdist,
                sources / "CITATION.cff",
                sources / "release/conda/recipe.yaml",
            ):
                shutil.copy2(path, ROOT / "dist")
        return f"{wheel.name}, {sdist.name}: twine check, cffconvert, and the wheel used in an empty environment"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repository",
        default="",
        help="where it is published: https://github.com/OWNER/NAME",
    )
    parser.add_argument(
        "--author", default="", help="who publishes it, as in a citation"
    )
    parser.add_argument(
        "--tests", action="store_true", help="run make lint and make test"
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="leave the packages, and the files that name the repository, in dist/",
    )
    options = parser.parse_args()
    checks: dict[str, Callable[[], str]] = {
        "version": check_version,
        "changelog": check_changelog,
        "citation": check_citation,
        "repository": lambda: check_repository(options.repository, options.author),
        "clean tree": check_tree,
        **({"tests": check_tests} if options.tests else {}),
    }
    failed = sum(not _passes(name, check) for name, check in checks.items())
    failed += not _passes(
        "packages",
        lambda: check_packages(
            options.repository, options.author, options.keep and not failed
        ),
    )
    for command in (*(() if options.tests else ("make lint", "make test")), *ELSEWHERE):
        print(f"not run {command}")
    if failed:
        print(f"{failed} of {len(checks) + 1} checks failed: {version()} is not ready")
    elif options.keep:
        print(
            f"by hand: git tag --sign v{version()} && git push origin v{version()} && twine upload dist/*{version()}*"
        )
    return int(failed > 0)


def _passes(name: str, check: Callable[[], str]) -> bool:
    try:
        print(f"ok      {name}: {check()}", flush=True)
    except (Failed, subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"FAILED  {name}: {error}", flush=True)
        return False
    return True


def _read(name: str) -> str:
    return (ROOT / name).read_text()


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
