"""Installs the built wheel and sdist into empty environments and uses them there, without the repository.

    python release/try_packages.py                                          # this Python: core, [torch], [all]
    python release/try_packages.py --python 3.12 --python 3.13 --extras core
    python release/try_packages.py --extras core --lowest                   # every direct dependency at its lower bound
    python release/try_packages.py --constraint torch-cpu.txt               # such as a line torch==2.13.0

Needs a package index, and some GB for [all]. The packages are built in an empty environment, too.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

from build_packages import BUILDERS, ROOT, build, faults
from environment import Environment, Failed, called, environment
from uses import USES

EXTRAS = ("core", "torch", "all")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIREMENTS = (
    *PROJECT["dependencies"],
    *(line for extra in PROJECT["optional-dependencies"].values() for line in extra),
)
BOUND = re.compile(r"^([\w.-]+)(?:\[[^]]*\])?>=([\w.]+)")


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        with environment(sys.executable) as tools:
            tools.install(*BUILDERS)
            wheel, sdist = build(Path(folder), python=str(tools.bin / "python"))
        wrong = faults(wheel, sdist)
        for fault in wrong:
            print(f"FAILED  {fault}")
        sizes = ", ".join(
            f"{path.name} {path.stat().st_size / 1e6:.2f} MB" for path in (wheel, sdist)
        )
        print(f"built   {sizes}", flush=True)
        constraints = _constraints(Path(folder), options)
        tried = [*_trials(wheel, sdist, constraints, options)]
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(
            json.dumps({"machine": platform.platform(), "tried": tried}, indent=1)
            + "\n"
        )
    failed = sum(not one["passed"] for one in tried) + len(wrong)
    print(f"{len(tried)} environments, {failed} failures")
    return int(failed > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python",
        action="append",
        help="interpreter, or version such as 3.12; repeatable",
    )
    parser.add_argument(
        "--extras",
        default=",".join(EXTRAS),
        help="core, names of extras, or several at once such as torch+report; separated by commas",
    )
    parser.add_argument(
        "--lowest",
        action="store_true",
        help="direct dependencies at the lower bounds of the wheel",
    )
    parser.add_argument("--constraint", type=Path, help="constraints for pip besides")
    parser.add_argument(
        "--sdist",
        action="store_true",
        help="also install the sdist, into an environment of its own",
    )
    parser.add_argument("--out", type=Path, help="JSON of what was tried")
    return parser.parse_args()


def _trials(
    wheel: Path, sdist: Path, constraints: Path | None, options: argparse.Namespace
) -> Iterator[dict[str, object]]:
    """One environment after the other: they are large."""
    for python in options.python or [sys.executable]:
        for extra in options.extras.split(","):
            yield _tried(python, wheel, extra, constraints, lowest=options.lowest)
        if options.sdist:
            yield _tried(python, sdist, "core", constraints, lowest=options.lowest)


def _tried(
    python: str, package: Path, extra: str, constraints: Path | None, *, lowest: bool
) -> dict[str, object]:
    interpreter = _interpreter(python)
    version = called(interpreter) or python
    name = f"Python {version}, {package.suffix.removeprefix('.')}, {extra}{', lowest versions' if lowest else ''}"
    start, failure, size, versions = time.monotonic(), "", 0, {}
    try:
        with environment(interpreter) as empty:
            empty.install(
                f"{package}[{extra.replace('+', ',')}]"
                if extra != "core"
                else str(package),
                constraints=constraints,
            )
            size, versions = empty.size(), _versions(empty)
            for use in USES:
                if use.needs <= _brought(extra) and not use.lacks & _brought(extra):
                    use.run(empty)
    except (Failed, OSError, ValueError, subprocess.SubprocessError) as error:
        failure = str(error)
    print(
        f"{'FAILED' if failure else 'passed':7} {name} ({size / 1e6:.0f} MB, {time.monotonic() - start:.0f} s)"
    )
    print(
        "".join(f"        {line}\n" for line in failure.splitlines()),
        end="",
        flush=True,
    )
    return {
        "what": name,
        "passed": not failure,
        "failure": failure,
        "megabytes": round(size / 1e6),
        "versions": versions,
    }


def _brought(extra: str) -> frozenset[str]:
    """Of the extras that uses ask for, those that come with these."""
    return (
        frozenset({"torch", "report"})
        if extra == "all"
        else frozenset(extra.split("+"))
    )


def _versions(empty: Environment) -> dict[str, str]:
    """The versions that were installed of what the package itself asks for."""
    listed = json.loads(
        empty.run(
            "python",
            "-m",
            "pip",
            "list",
            "--format",
            "json",
            "--disable-pip-version-check",
        )
    )
    asked = {bound[1] for line in REQUIREMENTS if (bound := BOUND.match(line))}
    return {
        one["name"]: one["version"]
        for one in listed
        if one["name"].lower().replace("_", "-") in asked
    }


def _interpreter(python: str) -> str:
    """The interpreter called so: a path, a version that is on the PATH, or one of pyenv."""
    if not re.fullmatch(r"3\.\d+", python):
        return python
    installed = shutil.which(f"python{python}") or ""
    ours = sorted((Path.home() / ".pyenv" / "versions").glob(f"{python}.*/bin/python"))
    return (
        installed if called(installed) or not ours else str(ours[-1])
    )  # pyenv's own on the PATH may lead nowhere


def _constraints(folder: Path, options: argparse.Namespace) -> Path | None:
    """A file for pip: the given constraints and, where asked for, every direct dependency at its lower bound."""
    lines = options.constraint.read_text().splitlines() if options.constraint else []
    if options.lowest:
        given = {line.partition("==")[0].strip() for line in lines}
        lowest = {
            bound[1]: bound[2] for line in REQUIREMENTS if (bound := BOUND.match(line))
        }
        lines += [
            f"{name}=={least}"
            for name, least in lowest.items()
            if name not in given | {"randsmooth"}
        ]
    if not lines:
        return None
    path = folder / "constraints.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
