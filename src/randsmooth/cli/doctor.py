"""`randsmooth doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from randsmooth.cli.messages import FAILURE
from randsmooth.cli.settings import Settings, option
from randsmooth.escape import printable, say, to_json

WIDTH = 15  # of the names at the beginning of lines


class Doctor(Settings):
    """Settings of `randsmooth doctor`."""

    quick: bool = option("Measure nothing, and import no more than it takes to name the devices.", False)
    json_: bool = option("Print JSON.", False, json_schema_extra={"flag": "json"})

    @classmethod
    def in_files(cls) -> bool:
        """False: a report is no run to be repeated from a file."""
        return False


def doctor(settings: Doctor) -> None:
    """Say what randsmooth finds on this machine: versions, devices, backends and their speed, data sets, caches.

    The backends are timed on a LeNet for some seconds; --quick leaves that out. What is not installed is listed with
    the command that installs it. The report holds no secrets and no more of the environment than the variables that it
    names, and writes your home folder as ~: paste it into bug reports.

    The exit code is 1 if something is broken: a package that is installed and cannot be imported or is too old, a
    backend that fails, or a cache that cannot be written.

    Example: randsmooth doctor > doctor.txt
    """
    from randsmooth.cli.findings import examine

    found = examine(quick=settings.quick)
    if settings.json_:
        say(to_json(found))
    else:
        say("\n".join(map(printable, _lines(found))))
    if found["broken"]:
        raise typer.Exit(FAILURE)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    """The report, a line each."""
    for name in ("randsmooth", "python", "system", "processor", "memory", "environment"):
        yield _line(name, found[name])
    for section in ("devices", "packages", "missing", "backends", "plugins", "data sets", "caches"):
        yield ""
        yield f"{section}{': none' if not found[section] else ''}"
        yield from (f"  {_line(name, said)}" for name, said in found[section].items())
    yield ""
    yield from [f"BROKEN: {fault}" for fault in found["broken"]] or ["nothing is broken"]


def _line(name: str, said: Any) -> str:
    text = ", ".join(f"{key}={value}" for key, value in said.items()) if isinstance(said, dict) else str(said)
    return f"{name:{WIDTH}} {text or 'none'}"
