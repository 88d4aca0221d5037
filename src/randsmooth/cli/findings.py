"""What `randsmooth doctor` looks at. Each look may fail by itself: what a machine lacks or breaks is what is asked."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from randsmooth import __version__
from randsmooth.caches import cache_folder
from randsmooth.cli.names import REGISTRIES
from randsmooth.documents import shown
from randsmooth.extras import EXTRAS
from randsmooth.origin import install_command, kind_of_origin
from randsmooth.registry import Registry

# The variables that the report names. None of them holds a secret by its meaning.
VARIABLES = (
    *("RANDSMOOTH_DATA", "RANDSMOOTH_CACHE", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES"),
    *("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "HF_HOME", "HF_HUB_OFFLINE"),
)
USER_INFO = re.compile(r"//[^@\s]+@")  # a name and a password in a URL; keys of S3 may hold slashes
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*>=\s*([\d.]+)")
LOOKS_FOR = 0.5  # seconds that are spent on the size of a cache
GIB, MIB = 2**30, 2**20

Facts = dict[str, Any]


def examine(*, quick: bool) -> Facts:
    """All findings, and under "broken" a sentence for each thing that does not work."""
    broken: list[str] = []
    found: Facts = {"randsmooth": f"{__version__} ({kind_of_origin()}), in {tidy(Path(__file__).parents[1])}"}
    found["python"] = f"{platform.python_version()} ({platform.python_implementation()}), {tidy(sys.executable)}"
    found["system"] = f"{platform.system()} {platform.release()}, {platform.machine()}"
    looks: dict[str, Callable[[], Any]] = {
        "processor": _processor,
        "memory": _memory,
        "environment": _environment,
        "devices": _devices,
        "packages": lambda: _packages(broken),
        "missing": _missing,
        "backends": lambda: _backends(broken, quick=quick),
        "plugins": _plugins,
        "data sets": _data_sets,
        "caches": lambda: _caches(broken),
    }
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

    from randsmooth.certification.backends.processor import processor, with_torch

    how = with_torch(torch.device("cpu"))
    return f"{processor()}, {cores}, {torch.get_num_threads()} threads in torch, {how}"


def _memory() -> str:
    try:
        pages = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (ValueError, AttributeError):  # of another system
        return "not known"
    return f"{pages[0] * pages[1] / GIB:.1f} GiB; {shutil.disk_usage(Path.cwd()).free / GIB:.0f} GiB free on this disk"


def _environment() -> Facts:
    return {name: tidy(os.environ[name]) for name in VARIABLES if os.environ.get(name)}


def _devices() -> Facts:
    if not _installed("torch"):
        return {}
    import torch

    found: Facts = {"cpu": "used by default" if not torch.cuda.is_available() else "available"}
    for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        facts = torch.cuda.get_device_properties(index)
        size = f"{facts.total_memory / GIB:.0f} GiB"
        found[f"cuda:{index}"] = f"{facts.name}, {size}, compute capability {facts.major}.{facts.minor}"
    built = torch.version.cuda
    found["CUDA in torch"] = built or "none: this is a build for CPUs"
    return found


def _packages(broken: list[str]) -> Facts:
    """Versions of what is installed of our dependencies; those that are too old are broken."""
    found = {}
    for name, (least, _) in _requirements().items():
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        if least and _numbers(found[name]) < _numbers(least):
            broken.append(f"{name} {found[name]} is too old: randsmooth needs {name} >= {least}")
    return found


def _requirements() -> dict[str, tuple[str, str]]:
    """Distribution -> the least version, and the extra that it belongs to; "" for none."""
    found: dict[str, tuple[str, str]] = {}
    for line in metadata.requires("randsmooth") or []:
        requirement, _, marker = line.partition(";")
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
        parts = REQUIREMENT.match(requirement.strip())
        name = parts[1] if parts else requirement.strip()
        if not name.startswith("randsmooth") and (extra is None or extra[1] in EXTRAS.values()):
            found.setdefault(name, (parts[2] if parts else "", extra[1] if extra else ""))
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:3])


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
            kind = BACKENDS[name]
            if not kind.installed():
                found[name] = f"needs {', '.join(kind.packages)}"
            elif quick:
                found[name] = "installed"
            else:
                from randsmooth.cli.speeds import speed

                found[name] = speed(name)
        except Exception as error:  # a backend that is installed and fails
            found[name] = f"fails ({_said(error)})"
            broken.append(f"backend {name}: {_said(error)}")
    return found


def _plugins() -> Facts:
    """What other packages registered here, by the group."""
    from pkgutil import resolve_name

    found: Facts = {}
    for setting, place in REGISTRIES.items():
        registry: Registry[object] = resolve_name(place)
        others = [f"{name} {registry.credit(name)}" for name in registry if registry.source(name) != "randsmooth"]
        if others:
            found[setting] = ", ".join(others)
    return found


def _data_sets() -> Facts:
    """Data set -> where `data.load` would find it, without opening it."""
    from randsmooth.data import DATASETS

    home = os.environ.get("RANDSMOOTH_DATA")
    found: Facts = {}
    for name in DATASETS:
        spec = DATASETS[name]
        folder = Path(home) / name if home else None
        if spec.read is not None:
            found[name] = "made here, or comes with a package"
        elif folder is not None and folder.is_dir():
            found[name] = tidy(folder)
        elif spec.hub and (_hub_cache() / f"datasets--{spec.hub.replace('/', '--')}").is_dir():
            found[name] = f"{spec.hub}, in the cache of the hub"
        else:
            way = f"set RANDSMOOTH_DATA to a folder that holds {name}/"
            found[name] = f"not here: {way}{', or it is fetched from the hub' if spec.hub else ''}"
    return found


def _hub_cache() -> Path:
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")


def _caches(broken: list[str]) -> Facts:
    """Folder -> what it holds; one that cannot be written is broken."""
    root = cache_folder("")
    found = {"randsmooth": f"{tidy(root)}{'' if root.is_dir() else ' (not there yet)'}"}
    if root.exists() and not root.is_dir():
        broken.append(f"the cache {tidy(root)} is no folder: set RANDSMOOTH_CACHE to one")
    if root.is_dir():
        for folder in sorted(path for path in root.iterdir() if path.is_dir()):
            waits = folder.name == "unsent" and any(_files(folder))
            found[f"  {folder.name}"] = _size(folder) + (", to be sent: run its command again" if waits else "")
        try:
            tempfile.TemporaryFile(dir=root).close()
        except OSError as error:
            broken.append(f"the cache {tidy(root)} cannot be written ({_said(error)}): set RANDSMOOTH_CACHE to another")
    if _hub_cache().is_dir():
        found["hugging face"] = f"{tidy(_hub_cache())}, {_size(_hub_cache())}"
    return found


def _size(folder: Path) -> str:
    """Files and bytes below a folder, as far as they can be counted in a moment."""
    start, files, size = time.perf_counter(), 0, 0
    for entry in _files(folder):
        files, size = files + 1, size + entry
        if time.perf_counter() - start > LOOKS_FOR:
            return f"more than {files:,} files, {size / MIB:,.0f} MiB"
    return f"{files:,} files, {size / MIB:,.1f} MiB"


def _files(folder: Path) -> Iterator[int]:
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                yield (Path(where) / name).lstat().st_size
            except OSError:  # removed meanwhile
                continue
