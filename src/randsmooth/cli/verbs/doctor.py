"""`randsmooth doctor`: what there is on a machine, and what is broken.

Each look may fail without ending the others: the user asks what is broken.
"""

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

from randsmooth import __version__
from randsmooth.atomic import cache_folder
from randsmooth.certification import backends
from randsmooth.cli.options import Answered
from randsmooth.cli.output import FAILURE
from randsmooth.cli.settings import Unsaved
from randsmooth.data import DATASETS, DatasetSpec, is_at_hand
from randsmooth.data.registry import folder_of
from randsmooth.documents import shown
from randsmooth.errors import BadValue
from randsmooth.extras import EXTRAS, install_command, installed, installed_from
from randsmooth.urls import without_credentials

Facts = dict[str, str]


class Doctor(Unsaved, Answered):
    """Settings of `randsmooth doctor`."""


def run(settings: Doctor) -> None:
    """Say what randsmooth finds on this machine: versions, devices, backends, data
    sets.

    It lists missing packages with the commands that install them. To measure the speed
    of a model here, use `plan`. The report holds no environment variables and no
    secrets, and writes your home folder as ~. You can paste it into bug reports.

    The exit code is 1 if something is broken: an installed package that cannot be
        imported, a failing backend, or a cache that cannot be written.

    Example: randsmooth doctor > doctor.txt
    """
    report = examine()
    settings.answer(_lines(report), lambda: report)
    if report["broken"]:
        raise SystemExit(FAILURE)


def _lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the report, with what is broken at the end."""
    for name, facts in report.items():
        # A look returns one text, or a text for each of several things.
        if isinstance(facts, dict):
            yield ""
            yield f"{name}:"
            for key, text in facts.items():
                yield f"  {key:15} {text}"
        elif name != "broken":
            yield f"{name:15} {facts}"
    yield ""
    for fault in report["broken"]:
        yield f"BROKEN: {fault}"
    if not report["broken"]:
        yield "nothing is broken"


class Examination:
    """Looks at one thing after the other, and keeps what is broken."""

    def __init__(self) -> None:
        self.broken: list[str] = []

    def look(self, thing: str, looked_at: Callable[[], Any]) -> Any:
        """Return the result of a look; where it fails, words that say so.

        Args:
            thing: the name of what is looked at.
            looked_at: the function that looks.
        """
        try:
            return looked_at()
        except Exception as error:
            # A broken package may raise anything, and the others are still to be
            # looked at.
            failure = tidy(f"{type(error).__name__}: {shown(error)}")
            self.broken.append(f"{thing}: {failure}")
            return f"fails ({failure})"


def examine() -> dict[str, Any]:
    """Return thing -> the findings on it, and "broken" -> a sentence for each failure."""
    examination = Examination()

    # A function in here, as each backend is a look of its own in the same examination.
    def look_at_backends() -> Facts:
        """Return backend -> the findings on it; none without torch."""
        known = backends.BACKENDS if installed("torch") else ()
        return {
            name: examination.look(f"backend {name}", partial(_backend, name))
            for name in known
        }

    looks: dict[str, Callable[[], str | Facts]] = {
        "randsmooth": _randsmooth,
        "python": _python,
        "cache": _cache,
        "devices": _devices,
        "packages": _packages,
        "missing": _missing,
        "backends": look_at_backends,
        "data sets": _data_sets,
    }
    report = {name: examination.look(name, look) for name, look in looks.items()}
    return report | {"broken": examination.broken}


def tidy(text: object) -> str:
    """Return `text` with the home folder as ~, and no passwords in URLs.

    Example:
        >>> tidy(Path.home() / "runs"), tidy("s3://key:word@bucket/a")
        ('~/runs', 's3://***@bucket/a')
    """
    return without_credentials(str(text)).replace(str(Path.home()), "~")


def _randsmooth() -> str:
    """Return the version of randsmooth, and where it is installed."""
    folder = tidy(Path(__file__).parents[2])
    return f"{__version__} from a {installed_from()[0]}, in {folder}"


def _python() -> str:
    """Return the version of Python, and the system below it."""
    program = tidy(sys.executable)
    return f"{platform.python_version()}, {program}, on {platform.platform()}"


def _cache() -> str:
    """Return where the cache is. Problem where it cannot be written."""
    # The folder without a name below it is the root of all caches.
    root = cache_folder("")
    try:
        root.mkdir(parents=True, exist_ok=True)
        # It writes a file, and removes it at once.
        tempfile.TemporaryFile(dir=root).close()
    except OSError as error:
        raise BadValue(
            f"{root} cannot be written ({error.strerror}): set RANDSMOOTH_CACHE to "
            "another"
        ) from error
    return tidy(root)


def _devices() -> Facts:
    """Return device -> what it is, of the devices that torch can run on."""
    if not installed("torch"):
        return {}
    # Here, so that a broken torch fails in this look alone.
    import torch

    instructions = backends.torch_instructions(torch.device("cpu"))
    devices = {
        "cpu": f"{backends.processor()}, {os.cpu_count()} cores, "
        f"{torch.get_num_threads()} threads in torch, {instructions}"
    }
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        memory = properties.total_memory / 2**30
        devices[f"cuda:{index}"] = (
            f"{properties.name}, {memory:.0f} GiB, CUDA {torch.version.cuda}"
        )
    return devices


def _packages() -> Facts:
    """Return dependency -> its version, of those that are installed."""
    versions = Facts()
    for requirement in metadata.requires("randsmooth") or []:
        # Such as "numpy>=2.0" or "plotly; extra == 'report'".
        name = re.split(r"[^\w.-]", requirement)[0]
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _missing() -> Facts:
    """Return package -> the command that installs it, of those that are missing."""
    return {
        package: tidy(install_command(extra))
        for package, extra in EXTRAS.items()
        if not installed(package)
    }


def _backend(name: str) -> str:
    """Return "installed" for a backend, or what it needs."""
    # The registry imports the backend here: a broken one raises.
    backend = backends.BACKENDS[name]
    if not backend.installed():
        return f"needs {', '.join(backend.packages)}"
    return "installed"


def _data_sets() -> Facts:
    """Return data set -> where `data.load` would find it; none is opened."""
    return {name: _place_of(name, spec) for name, spec in DATASETS.items()}


def _place_of(name: str, spec: DatasetSpec) -> str:
    """Return where a data set is, or how it comes here."""
    if is_at_hand(name):
        # A data set without a folder is made by an installed package, as digits is.
        folder = folder_of(name)
        return tidy(folder) if folder.is_dir() else "comes with a package"
    where = "not here: set RANDSMOOTH_DATA to a folder that holds it"
    if spec.hub:
        where += ", or it is fetched from the hub"
        if not installed("datasets"):
            where += " once the extra hub is installed"
    return where
