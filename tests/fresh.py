"""Programs and command lines in an interpreter of their own, where some packages are missing."""

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

# Refuses to import the packages named in the first argument.
WITHOUT = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

refused = set(sys.argv.pop(1).split(","))
for name in refused:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Refusing())
"""
# Runs the command lines in the second argument, and tells how each ended, what it printed on stdout and then on stderr,
# and which of the packages in the first one it was the first to load.
COMMANDS = """
import io, json
from contextlib import redirect_stderr, redirect_stdout
from randsmooth.cli.main import main

watched, seen, ended = set(json.loads(sys.argv[1])), set(), []
for words in json.loads(sys.argv[2]):
    sys.argv = ["randsmooth", *words]
    with redirect_stdout(io.StringIO()) as stdout, redirect_stderr(io.StringIO()) as stderr:
        try:
            code = main() or 0
        except SystemExit as end:
            code = end.code or 0
    loaded = watched & {name.partition(".")[0] for name in sys.modules} - seen
    ended.append((code, stdout.getvalue() + stderr.getvalue(), sorted(loaded)))
    seen |= loaded
print(json.dumps(ended))
"""


class Ended(NamedTuple):
    code: int
    said: str
    loaded: list[str]


def python(
    source: str,
    *arguments: object,
    without: Iterable[str] = (),
    folder: Path | None = None,
) -> str:
    """What a program prints, run with `arguments` in `folder`, where packages are missing."""
    command = [
        sys.executable,
        "-c",
        WITHOUT + source,
        ",".join(without),
        *map(str, arguments),
    ]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(
    lines: Sequence[Sequence[str]],
    folder: Path,
    *,
    without: Iterable[str] = (),
    watched: Iterable[str] = (),
) -> list[Ended]:
    """How `randsmooth WORDS` ended for each of `lines`, one after the other in one process."""
    told = python(
        COMMANDS,
        json.dumps([*watched]),
        json.dumps(lines),
        without=without,
        folder=folder,
    )
    return [Ended(*each) for each in json.loads(told)]
