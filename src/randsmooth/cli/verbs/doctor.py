"""`randsmooth doctor`. Each look may fail by itself: what a machine lacks or breaks is what is asked."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import typer

from randsmooth import __version__
from randsmooth.atomic import cache_folder
from randsmooth.certification import backends
from randsmooth.cli.options import Answered
from randsmooth.cli.output import FAILURE
from randsmooth.cli.settings import Unsaved
from randsmooth.data import DATASETS, is_at_hand
from randsmooth.documents import shown
from randsmooth.errors import BadValue
from randsmooth.extras import EXTRAS, install_command, installed, installed_from
from randsmooth.urls import without_credentials

Facts = dict[str, str]


class Doctor(Unsaved, Answered):
    """Settings of `randsmooth doctor`."""


def doctor(settings: Doctor) -> None:
    """Say what randsmooth finds on this machine: versions, devices, backends, data sets.

    What is not installed is listed with the command that installs it. How fast a model
    answers here is what `plan` measures. The report holds nothing of the environment and
    no secrets, and writes your home folder as ~: paste it into bug reports.

    The exit code is 1 if something is broken: a package that is installed and cannot be imported, a backend that fails,
    or a cache that cannot be written.

    Example: randsmooth doctor > doctor.txt
    """
    found = examine()
    settings.answer(_lines(found), lambda: found)
    if found["broken"]:
        raise typer.Exit(FAILURE)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    """The report, a line each, what is broken at the end."""
    for name, said in found.items():
        if isinstance(said, dict):
            yield from (
                "",
                f"{name}:",
                *(f"  {key:15} {text}" for key, text in said.items()),
            )
        elif name != "broken":
            yield f"{name:15} {said}"
    yield from (
        "",
        *([f"BROKEN: {fault}" for fault in found["broken"]] or ["nothing is broken"]),
    )


def examine() -> dict[str, Any]:
    """All findings, and under "broken" a sentence for each thing that does not work."""
    broken: list[str] = []

    def looked(what: str, look: Callable[[], Any]) -> Any:
        try:
            return look()
        except Exception as error:  # a broken package may raise anything, and the others are still to be looked at
            said = tidy(f"{type(error).__name__}: {shown(error)}")
            broken.append(f"{what}: {said}")
            return f"fails ({said})"

    known = backends.BACKENDS if installed("torch") else ()
    looks: dict[str, Callable[[], str | Facts]] = {
        "randsmooth": lambda: (
            f"{__version__} from a {installed_from()[0]}, in {tidy(Path(__file__).parents[2])}"
        ),
        "python": lambda: (
            f"{platform.python_version()}, {tidy(sys.executable)}, on {platform.platform()}"
        ),
        "cache": _cache,
        "devices": _devices,
        "packages": _packages,
        "missing": lambda: {
            name: tidy(install_command(its))
            for name, its in EXTRAS.items()
            if not installed(name)
        },
        "backends": lambda: {
            name: looked(f"backend {name}", partial(_backend, name)) for name in known
        },
        "data sets": _data_sets,
    }
    return {name: looked(name, look) for name, look in looks.items()} | {
        "broken": broken
    }


def tidy(text: object) -> str:
    """`text` with the home folder as ~, and no passwords in URLs.

    Example:
        >>> tidy(Path.home() / "runs"), tidy("s3://key:word@bucket/a")
        ('~/runs', 's3://***@bucket/a')
    """
    return without_credentials(str(text)).replace(str(Path.home()), "~")


def _cache() -> str:
    """Where it is. Raises Problem where it cannot be written."""
    root = cache_folder("")
    try:
        root.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=root).close()
    except OSError as error:
        raise BadValue(
            f"{root} cannot be written ({error.strerror}): set RANDSMOOTH_CACHE to another"
        ) from error
    return tidy(root)


def _devices() -> Facts:
    if not installed("torch"):
        return {}
    import torch

    threads, instructions = (
        torch.get_num_threads(),
        backends.torch_instructions(torch.device("cpu")),
    )
    found = {
        "cpu": f"{backends.processor()}, {os.cpu_count()} cores, {threads} threads in torch, {instructions}"
    }
    for index in range(torch.cuda.device_count()):
        facts = torch.cuda.get_device_properties(index)
        found[f"cuda:{index}"] = (
            f"{facts.name}, {facts.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}"
        )
    return found


def _packages() -> Facts:
    """Versions of what is installed of our dependencies."""
    found = Facts()
    for line in metadata.requires("randsmooth") or []:
        name = re.split(r"[^\w.-]", line)[0]
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _backend(name: str) -> str:
    """Say whether a backend is installed, or what it needs."""
    backend = backends.BACKENDS[name]
    if not backend.installed():
        return f"needs {', '.join(backend.packages)}"
    return "installed"


def _data_sets() -> Facts:
    """Data set -> where `data.load` would find it, without opening it."""
    home = Path(os.environ.get("RANDSMOOTH_DATA", "data"))
    away = "not here: set RANDSMOOTH_DATA to a folder that holds it"
    hub = ", or it is fetched from the hub" + " once the extra hub is installed" * (
        not installed("datasets")
    )
    found = Facts()
    for name, spec in DATASETS.items():
        there = tidy(home / name) if (home / name).is_dir() else "comes with a package"
        found[name] = there if is_at_hand(name) else away + hub * bool(spec.hub)
    return found
