"""`randsmooth doctor`. Each look may fail by itself: what a machine lacks or breaks is what is asked."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from randsmooth import __version__
from randsmooth.atomic import cache_folder
from randsmooth.cli.messages import FAILURE
from randsmooth.cli.settings import Unsaved, option
from randsmooth.documents import shown
from randsmooth.escape import printable, say, to_json
from randsmooth.extras import EXTRAS, install_command, installed_from

# The variables that the report names. None of them holds a secret by its meaning.
VARIABLES = (
    *("RANDSMOOTH_DATA", "RANDSMOOTH_CACHE", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES"),
    *("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "HF_HOME", "HF_HUB_OFFLINE"),
)
USER_INFO = re.compile(r"//[^@\s]+@")  # a name and a password in a URL; keys of S3 may hold slashes
REQUIREMENT = re.compile(r"(?!randsmooth)([\w.-]+)[^;>]*(?:>=\s*([\d.]+))?")
SHAPE, SIGMA = (1, 28, 28), 0.5  # of the noisy images that are timed
GIB, MIB = 2**30, 2**20
WIDTH = 15  # of the names at the beginning of lines

Facts = dict[str, str]


class Doctor(Unsaved):
    """Settings of `randsmooth doctor`."""

    quick: bool = option("Measure nothing, and import no more than it takes to name the devices.", False)
    json_: bool = option("Print JSON.", False, json_schema_extra={"flag": "json"})


def doctor(settings: Doctor) -> None:
    """Say what randsmooth finds on this machine: versions, devices, backends and their speed, data sets, caches.

    The backends are timed on a LeNet for some seconds; --quick leaves that out. What is not installed is listed with
    the command that installs it. The report holds no secrets and no more of the environment than the variables that it
    names, and writes your home folder as ~: paste it into bug reports.

    The exit code is 1 if something is broken: a package that is installed and cannot be imported or is too old, a
    backend that fails, or a cache that cannot be written.

    Example: randsmooth doctor > doctor.txt
    """
    found = examine(quick=settings.quick)
    if settings.json_:
        say(to_json(found))
    else:
        say("\n".join(map(printable, _lines(found))))
    if found["broken"]:
        raise typer.Exit(FAILURE)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    """The report, a line each: sections last, what is broken at the end."""
    *others, broken = found.items()
    for name, said in others:
        if isinstance(said, dict):
            yield from ("", f"{name}{'' if said else ': none'}")
            yield from (f"  {key:{WIDTH}} {text}" for key, text in said.items())
        else:
            yield f"{name:{WIDTH}} {said}"
    yield ""
    yield from [f"BROKEN: {fault}" for fault in broken[1]] or ["nothing is broken"]


def examine(*, quick: bool) -> dict[str, Any]:
    """All findings, and under "broken" a sentence for each thing that does not work."""
    broken: list[str] = []
    looks: dict[str, Callable[[], str | Facts]] = {
        "randsmooth": lambda: f"{__version__} ({installed_from()[0]}), in {tidy(Path(__file__).parents[1])}",
        "python": lambda: f"{platform.python_version()} ({platform.python_implementation()}), {tidy(sys.executable)}",
        "system": lambda: f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processor": _processor,
        "disk": lambda: f"{shutil.disk_usage(Path.cwd()).free / GIB:.0f} GiB free",
        "environment": lambda: {name: tidy(os.environ[name]) for name in VARIABLES if os.environ.get(name)},
        "devices": _devices,
        "packages": lambda: _packages(broken),
        "missing": _missing,
        "backends": lambda: _backends(broken, quick=quick),
        "data sets": _data_sets,
        "caches": lambda: _caches(broken),
    }
    found: dict[str, Any] = {}
    for name, look in looks.items():
        try:
            found[name] = look()
        except Exception as error:  # a broken package may raise anything, and the others are still to be looked at
            broken.append(f"{name}: {_said(error)}")
            found[name] = {}
    return found | {"broken": broken}


def tidy(text: object) -> str:
    """`text` with the home folder as ~, and no passwords in URLs.

    Example:
        >>> tidy(Path.home() / "runs"), tidy("s3://key:word@bucket/a")
        ('~/runs', 's3://...@bucket/a')
    """
    said = USER_INFO.sub("//...@", str(text))
    for home in {str(Path.home()), str(Path.home().resolve())} - {"/"}:
        said = said.replace(f"'{home}/", "~/'")  # a shell does not expand ~ within quotes
        said = re.sub(rf"{re.escape(home)}(?=/|\s|'|\)|$)", "~", said)
    return said


def _said(error: Exception) -> str:
    return tidy(f"{type(error).__name__}: {shown(error)}")


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of a finder that refuses it
        return False


def _processor() -> str:
    cores = f"{os.cpu_count()} cores"
    if not _installed("torch"):
        return f"{platform.processor() or platform.machine()}, {cores}"
    import torch

    from randsmooth.certification.backends import processor, torch_instructions

    how = torch_instructions(torch.device("cpu"))
    return f"{processor()}, {cores}, {torch.get_num_threads()} threads in torch, {how}"


def _devices() -> Facts:
    if not _installed("torch"):
        return {}
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    found = {"cpu": "available" if count else "used by default"}
    for index in range(count):
        facts = torch.cuda.get_device_properties(index)
        size = f"{facts.total_memory / GIB:.0f} GiB"
        found[f"cuda:{index}"] = f"{facts.name}, {size}, compute capability {facts.major}.{facts.minor}"
    return found | {"CUDA in torch": torch.version.cuda or "none: this is a build for CPUs"}


def _packages(broken: list[str]) -> Facts:
    """Versions of what is installed of our dependencies; those that are too old are broken."""
    found: Facts = {}
    for line in metadata.requires("randsmooth") or []:
        parts = REQUIREMENT.match(line)
        if not parts or parts[1] in found or re.search("extra == .(dev|docs|bench)", line):
            continue
        name, least = parts.groups()
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        if least and _numbers(found[name]) < _numbers(least):
            broken.append(f"{name} {found[name]} is too old: randsmooth needs {name} >= {least}")
    return found


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:3]]


def _missing() -> Facts:
    """Extra -> what of it is not installed, and the command that installs it."""
    absent: dict[str, list[str]] = {}
    for package, extra in EXTRAS.items():
        if not _installed(package):
            absent.setdefault(extra, []).append(package)
    return {extra: f"{', '.join(names)}: {tidy(install_command(extra))}" for extra, names in absent.items()}


def _backends(broken: list[str], *, quick: bool) -> Facts:
    """Backend -> whether it is installed, and how fast it counts."""
    if not _installed("torch"):
        return {}
    from randsmooth.certification.backends import BACKENDS

    found: Facts = {}
    for name in BACKENDS:
        try:
            if not BACKENDS[name].installed():
                found[name] = f"needs {', '.join(BACKENDS[name].packages)}"
            else:
                found[name] = "installed" if quick else _speed(name)
        except Exception as error:  # a backend that is installed and fails
            found[name] = f"fails ({_said(error)})"
            broken.append(f"backend {name}: {_said(error)}")
    return found


def _speed(name: str) -> str:
    """Noisy images that a backend which `auto` tries, or that of ONNX files, draws and answers a second."""
    import torch

    from randsmooth import certification, models
    from randsmooth.certificates import ARITHMETICS, Precision
    from randsmooth.certification.backends import Way, candidates, fastest, weighed
    from randsmooth.certification.engine import Engine

    lenet = models.Classifier(arch="lenet", classes=[str(i) for i in range(10)], shape=list(SHAPE)).eval()
    model: models.BaseClassifier = lenet
    device = models.pick_device("auto")
    precisions: tuple[Precision, ...] = weighed(device)
    with tempfile.TemporaryDirectory() as folder:
        if name == "onnx":
            file, device, precisions = Path(folder) / "lenet.onnx", torch.device("cpu"), ("32",)
            certification.export_model(lenet, onnx=file)
            model = certification.load_model(file)
        elif name not in candidates(model, device):
            return f"installed; not timed on a LeNet on {device}"
        rates = []
        for precision in precisions:
            engine = Engine(model, sigma=SIGMA, backend=name, precision=precision, device=device)
            engine.prepare(SHAPE)
            way = Way(name, precision)
            rates.append(f"{fastest({way: engine.samples_a_second})[1][way]:,.0f} in {ARITHMETICS[precision]}")
    return f"LeNet images a second on {device}: {', '.join(rates)}"


def _data_sets() -> Facts:
    """Data set -> where `data.load` would find it, without opening it."""
    from randsmooth.data import DATASETS, is_at_hand

    home = os.environ.get("RANDSMOOTH_DATA")
    found: Facts = {}
    for name, spec in DATASETS.items():
        if home and (Path(home) / name).is_dir():
            found[name] = tidy(Path(home) / name)
        elif is_at_hand(name):
            found[name] = "comes with a package"
        else:
            hub = ", or it is fetched from the hub" if spec.hub else ""
            found[name] = f"not here: set RANDSMOOTH_DATA to a folder that holds {name}/{hub}"
    return found


def _caches(broken: list[str]) -> Facts:
    """Folder -> what it holds; one that cannot be written is broken."""
    root = cache_folder("")
    if not root.exists():
        return {"randsmooth": f"{tidy(root)} (not there yet)"}
    try:
        tempfile.TemporaryFile(dir=root).close()
    except OSError as error:
        broken.append(f"the cache {tidy(root)} cannot be written ({_said(error)}): set RANDSMOOTH_CACHE to another")
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return {"randsmooth": tidy(root), **{f"  {path.name}": _size(path) for path in folders}}


def _size(folder: Path) -> str:
    sizes = [path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    waits = ", to be sent: run its command again" if folder.name == "unsent" and sizes else ""
    return f"{len(sizes):,} files, {sum(sizes) / MIB:,.1f} MiB{waits}"
