"""`randsmooth verify`."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import typer

from randsmooth.cli.settings import Settings, argument, option
from randsmooth.errors import ForeignFile, InputError, NoDigest, Note, unknown
from randsmooth.escape import printable, say, to_json
from randsmooth.urls import Place, fetched, is_url, with_urls

FORMATS = ("text", "json")
STATES = ("verified", "read", "refused", "unknown")  # by its digests; without; not as it should be; not one of ours
REFUSED = 1  # exit code


class Verify(Settings):
    """Settings of `randsmooth verify`."""

    files: list[Place] = argument("Files, model folders, or folders in which both are looked for; or URLs of these.")
    format: str = option("text or json.", "text")


class Found(NamedTuple):
    """A file, its kind, its state (one of STATES), and in a sentence what was found."""

    file: str
    kind: str | None
    state: str
    finding: str


def verify(settings: Verify) -> None:
    """Say what files are, and whether their digests show that they are as they were written.

    Certificate tables, journals, model folders, checkpoints, teachers' answers and stored boundaries carry digests.
    Logs, YAML, ONNX files and files of versions before there were digests carry none; for these it says what else
    could be checked. Digests find accidental changes, not forgeries.

    The exit code is 1 if a file is refused, or if a file that you name (rather than one found in a folder) is of no
    kind that is checked.

    Example: randsmooth verify runs/gaussian runs/gaussian.parquet
    """
    if settings.format not in FORMATS:
        raise unknown("format", settings.format, FORMATS)
    found = [_of_urls(examined(path)) for path in _named(settings.files)]
    if settings.format == "json":
        say(to_json([one._asdict() for one in found]))
    else:
        say("\n".join(_lines(found)))
    named = {str(place).rstrip("/") if is_url(place) else str(place) for place in settings.files}
    if any(one.state == "refused" or (one.state == "unknown" and one.file in named) for one in found):
        raise typer.Exit(REFUSED)


def examined(path: Path) -> Found:
    """What `path` is, and what of it could be checked."""
    kind = None
    try:
        if not path.exists():
            raise InputError(f"no file at {path}")
        if not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} is a pipe or a device; expected a file or a folder")
        from randsmooth.cli.file_kinds import is_model, kind_of

        kind = kind_of(path)
        if kind is None or (path.is_dir() and not is_model(path)):
            return Found(str(path), None, "unknown", "of no kind that is checked here")
        return _checked(path, kind)
    except ForeignFile as error:
        return Found(str(path), None, "unknown", str(error))
    except (InputError, OSError) as error:
        return Found(str(path), kind, "refused", str(error))


def _of_urls(found: Found) -> Found:
    return found._replace(file=with_urls(found.file), finding=with_urls(found.finding))


def _checked(path: Path, kind: str) -> Found:
    """A file of a known kind: `verified` where it has all its digests, else `read`."""
    from randsmooth.cli.file_kinds import KINDS

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Note)
        finding = KINDS[kind].check(path)
    unsigned = any(issubclass(warning.category, NoDigest) for warning in caught)  # which the check says, too
    notes = [str(warning.message) for warning in caught if not issubclass(warning.category, NoDigest)]
    state = "verified" if KINDS[kind].signed and not unsigned else "read"
    return Found(str(path), kind, state, "; ".join([finding, *notes]))


def _named(files: list[Place]) -> list[Path]:
    """Each file once; for a folder the files in it that are of a known kind, and for a file of a model its folder."""
    paths: list[Path] = []
    for path in map(fetched, files):
        if not path.exists():  # nothing needs to be loaded to say so
            paths.append(path)
            continue
        from randsmooth.cli.file_kinds import MODEL, below

        if path.is_dir():
            paths += below(path) or [path]
        else:
            paths.append(path.parent if path.name in MODEL and path.is_file() else path)
    return list(dict.fromkeys(paths))


def _lines(found: list[Found]) -> list[str]:
    lines = [f"{one.state:8}  {printable(_line(one))}" for one in found]
    if len(found) < 2:
        return lines
    counted = Counter(one.state for one in found)
    states = ", ".join(f"{counted[state]} {state}" for state in STATES if counted[state])
    return [*lines, f"{len(found)} files: {states}"]


def _line(one: Found) -> str:
    """The file and what was found; most errors begin with its name already."""
    return one.finding if re.match(re.escape(one.file) + r"\W", one.finding) else f"{one.file}: {one.finding}"
