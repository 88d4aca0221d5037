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

from randsmooth import __version__, certification, models
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

SHAPE = (1, 28, 28)  # of the noisy images that are timed

Facts = dict[str, str]


class Doctor(Unsaved, Answered):
    """Settings of `randsmooth doctor`.

    Attributes:
        quick: Measure nothing, and import no more than it takes to name the devices.
    """

    quick: bool = False


def doctor(settings: Doctor) -> None:
    """Say what randsmooth finds on this machine: versions, devices, backends and their speed, data sets.

    The backends are timed on a LeNet for some seconds; --quick leaves that out. What is not installed is listed with
    the command that installs it. The report holds nothing of the environment and no secrets, and writes your home
    folder as ~: paste it into bug reports.

    The exit code is 1 if something is broken: a package that is installed and cannot be imported, a backend that fails,
    or a cache that cannot be written.

    Example: randsmooth doctor > doctor.txt
    """
    found = examine(quick=settings.quick)
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


def examine(*, quick: bool) -> dict[str, Any]:
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
            name: looked(f"backend {name}", partial(_backend, name, quick))
            for name in known
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


def _backend(name: str, quick: bool) -> str:
    """Whether a backend is installed, and how many noisy images it draws and answers a second."""
    backend = backends.BACKENDS[name]
    if not backend.installed():
        return f"needs {', '.join(backend.packages)}"
    if quick:
        return "installed"
    device = models.pick_device("cpu" if name == "onnx" else "auto")
    model: models.BaseClassifier = models.Classifier(
        arch="lenet", classes=[*"0123456789"], shape=[*SHAPE]
    ).eval()
    with tempfile.TemporaryDirectory() as folder:
        if name == "onnx":
            certification.export_model(model, onnx=Path(folder) / "lenet.onnx")
            model = certification.load_model(Path(folder) / "lenet.onnx")
        elif name not in {
            way.backend for way in backends.ways(model, device, "auto", "32")
        }:
            return f"installed; not timed on a LeNet on {device}"
        engine = certification.Engine(model, sigma=0.5, backend=name, device=device)
        engine.prepare(SHAPE)
        engine.samples_a_second()  # the first time sets things up
        return f"{engine.samples_a_second():,.0f} LeNet images a second on {device}"


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
