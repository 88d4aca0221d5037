"""Packages that only a part of randsmooth needs: which extra installs each, how, and the error when one is missing."""

import json
import os
import platform
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lazy_loader

from randsmooth.errors import Problem

# Packages that report to their makers, and the variable that each reads when it is imported.
# Processes that are started from here inherit them. Hugging Face's is asked by transformers,
# datasets, diffusers and Gradio, too.
REPORTS_NOTHING = {
    "ORT_DISABLE_TELEMETRY": "1",
    "NNCF_CI": "1",
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}
os.environ.update(REPORTS_NOTHING)

# OpenVINO and NNCF would report each conversion, from a process that may hang: as if what
# reports were not there.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]

# Extra of randsmooth -> the packages, as they are imported, that it installs; pyproject.toml
# lists them.
PACKAGES = {
    "torch": (
        "torch",
        "lightning_fabric",
        "safetensors",
        "sklearn",
        "joblib",
        "cloudpickle",
        "PIL",
        "huggingface_hub",
        "mpmath",
    ),
    "report": ("pandas", "matplotlib", "plotly"),
    "hub": ("datasets", "transformers"),
    "s3": ("fsspec", "s3fs"),
    "onnx": ("onnxruntime", "onnx", "onnxscript"),
    "cpu": ("openvino",),
    "int8": ("nncf",),
    "diffusion": ("diffusers",),
    "timm": ("timm",),
    "serve": ("gradio",),
    "tensorboard": ("tensorboard",),
    "lightning": ("lightning",),
    "cluster": ("ray",),
    "dask": ("distributed",),
    "slurm": ("submitit",),
}
EXTRAS = {
    package: extra for extra, packages in PACKAGES.items() for package in packages
}

# Packages that numbers pass through.
VERSIONED = ("randsmooth", "torch", "numpy", "scipy")


class MissingPackage(Problem, ImportError):
    """A `package` that an extra of randsmooth installs is missing. The message says which, and the way without."""

    def __init__(self, what: str, package: str, instead: str = "") -> None:
        self.package, self.instead = package, instead
        install = install_command(EXTRAS[package])
        way = f"{install}; {instead}" if instead else install
        super().__init__(
            f"{what} needs the package {package}, which is not installed: {way}"
        )


@contextmanager
def needs(what: str, instead: str = "") -> Iterator[None]:
    """Say that what is imported in this block is needed for `what`, where it belongs to an extra and is missing.

    Args:
        what: cannot be done without it.
        instead: what can be done without it, as a clause for the end of the message.

    Raises:
        MissingPackage: a package of an extra is not installed.

    Example:
        >>> with needs("a page with plots"):
        ...     import json
    """
    try:
        yield
    except MissingPackage as error:
        raise MissingPackage(what, error.package, instead or error.instead) from error
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise MissingPackage(what, package, instead) from error


def installed(package: str) -> bool:
    """Whether a package can be imported, without importing it.

    Example:
        >>> installed("json")
        True
    """
    with suppress(ModuleNotFoundError):  # of a finder that refuses it
        return find_spec(package) is not None
    return False


def attach_room(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a room, which imports each of its public names on first use.

    The names are those of the `__init__.pyi` beside `file`. One that needs a package of a missing extra raises
    MissingPackage.
    """
    load, names, public = lazy_loader.attach_stub(package, file)

    def __getattr__(name: str) -> Any:
        with needs(f"{package}.{name}"):
            return load(name)

    return __getattr__, names, public


def versions(*more: str) -> dict[str, str]:
    """The version of Python, of randsmooth, of the packages that its numbers pass through, and of those in `more`.

    And of all installed packages that bring entries, such as a method or a noise.
    """
    bring = (
        d
        for d in metadata.distributions()
        if any(e.group.startswith("randsmooth.") for e in d.entry_points)
    )
    named = {name: metadata.version(name) for name in (*VERSIONED, *more)} | {
        dist.name: dist.version for dist in bring
    }
    return {"python": platform.python_version(), **named}


def installed_from() -> tuple[str, str]:
    """Where the randsmooth that is running came from, in a word or two, and the address of that as pip would take it.

    Example:
        >>> installed_from()[0] in ("clone", "file or URL", "package index")
        True
    """
    source = Path(__file__).resolve().parents[1]
    if source.name == "src" and (source.parent / "pyproject.toml").is_file():
        return "clone", str(source.parent)
    # What pip noted (PEP 610); nothing for what came from an index.
    noted = json.loads(
        metadata.distribution("randsmooth").read_text("direct_url.json") or "{}"
    )
    url = noted.get("url", "")
    if version := noted.get("vcs_info"):
        url = f"{version['vcs']}+{url}@{version['commit_id']}"
    return ("file or URL", url) if url else ("package index", "")


def install_command(extra: str) -> str:
    """The command that installs an extra of the randsmooth that is running, from where that came.

    Example:
        >>> install_command("report").startswith("pip install ")
        True
    """
    kind, address = installed_from()
    if kind == "clone":
        return f"pip install -e {shlex.quote(f'{address}[{extra}]')}"
    source = f" @ {address}" if address else ""
    return f"pip install 'randsmooth[{extra}]{source}'"


def requirement(extra: str) -> str:
    """An extra of the randsmooth that is running, as another machine's requirements.txt may name it.

    Example:
        >>> requirement("serve").startswith("randsmooth[serve]")
        True
    """
    from randsmooth import __version__

    _, address = installed_from()
    version = f"=={__version__}"
    # Of a repository, which another machine reaches too.
    if "+" in address.partition("://")[0]:
        version = f" @ {address}"
    return f"randsmooth[{extra}]{version}"
