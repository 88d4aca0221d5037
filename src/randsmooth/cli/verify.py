"""`randsmooth verify`."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import typer

from randsmooth.cli.kinds import KINDS, MODEL, below, is_model, kind_of
from randsmooth.cli.verb import Settings, argument, option
from randsmooth.errors import ForeignFile, InputError, Note, unknown
from randsmooth.escape import printable, say, to_json

FORMATS = ("text", "json")
STATES = ("verified", "read", "refused", "unknown")  # by its digests; without; not as it should be; not one of ours
REFUSED = 1  # exit code
UNSIGNED = re.compile(r"ha(s|ve) no digest")  # in what a check says
ABOUT_DIGESTS = re.compile("digest|checksum")  # in notes, whose content a check says too


class Verify(Settings):
    """Settings of `randsmooth verify`."""

    files: list[Path] = argument("Files, model folders, or folders to be searched for both.")
    format: str = option("text or json.", "text")


class Found(NamedTuple):
    """What came of a file, its `state` being one of STATES."""

    file: str
    kind: str | None
    state: str
    told: str


def verify(settings: Verify) -> None:
    """Say what files are, and whether they are as they were written, by the digests that they carry.

    Certificate tables, journals, model folders, checkpoints, teachers' answers and kept boundaries carry digests. Of
    what has none (logs, YAML, ONNX files, and what was written before there were digests) it is said what could be
    checked. Digests are against accidents, not against a forger.

    The exit code is 1 if a file was refused, or one that was named, and not found in a folder, is of no kind that is
    checked.

    Example: randsmooth verify runs/gaussian runs/gaussian.parquet
    """
    if settings.format not in FORMATS:
        raise unknown("format", settings.format, FORMATS)
    found = [examined(path) for path in _named(settings.files)]
    if settings.format == "json":
        say(to_json([one._asdict() for one in found]))
    else:
        say("\n".join(_lines(found)))
    named = {str(path) for path in settings.files}
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
        kind = kind_of(path)
        if kind is None or (path.is_dir() and not is_model(path)):
            return Found(str(path), None, "unknown", "of no kind that is checked here")
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always", Note)
            told = KINDS[kind].check(path)
    except ForeignFile as error:
        return Found(str(path), None, "unknown", str(error))
    except (InputError, OSError) as error:
        return Found(str(path), kind, "refused", str(error))
    signed = KINDS[kind].signed and not UNSIGNED.search(told)
    notes = [note for note in (str(one.message) for one in noted) if not ABOUT_DIGESTS.search(note)]
    return Found(str(path), kind, "verified" if signed else "read", "; ".join([told, *notes]))


def _named(files: list[Path]) -> list[Path]:
    """Each file once; for a folder what is known in it, and for a model's file its folder."""
    paths: list[Path] = []
    for path in files:
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
    told = ", ".join(f"{counted[state]} {state}" for state in STATES if counted[state])
    return [*lines, f"{len(found)} files: {told}"]


def _line(one: Found) -> str:
    """The file and what is told of it; most errors begin with its name."""
    return one.told if re.match(re.escape(one.file) + r"\W", one.told) else f"{one.file}: {one.told}"
