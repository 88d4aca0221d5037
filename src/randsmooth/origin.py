"""Where the randsmooth that is running came from, and so how its extras are installed."""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

NAME = "randsmooth"


def install_command(extra: str) -> str:
    """The command that installs an extra of the randsmooth that is running, from where that came.

    A clone is named by its folder, and a Git repository or a wheel by its address, as pip noted them when it installed
    them. What came from a package index, or from nowhere that pip knows, is named as on the index.

    Example:
        >>> install_command("report").startswith("pip install ")
        True
    """
    clone = _clone()
    if clone is not None:
        return f"pip install -e {shlex.quote(f'{clone}[{extra}]')}"
    origin = _origin()
    url = str(origin.get("url", ""))
    if "dir_info" in origin and url.startswith("file:"):
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f"pip install {editable}{shlex.quote(f'{unquote(urlsplit(url).path)}[{extra}]')}"
    url = _repository(origin) or url
    return f"pip install '{NAME}[{extra}]{f' @ {url}' if url else ''}'"


def kind_of_origin() -> str:
    """Where the randsmooth that is running came from, in a word or two that name no place.

    Example:
        >>> kind_of_origin() in ("clone", "folder", "version control", "file or address", "package index")
        True
    """
    origin = _origin()
    if _clone() is not None:
        return "clone"
    if "dir_info" in origin:
        return "folder"
    if "vcs_info" in origin:
        return "version control"
    return "file or address" if origin else "package index"


def requirement(extra: str) -> str:
    """An extra of the randsmooth that is running, as another machine's requirements.txt may name it.

    Example:
        >>> requirement("serve").startswith("randsmooth[serve]")
        True
    """
    from randsmooth import __version__

    address = "" if _clone() is not None else _repository(_origin())
    return f"{NAME}[{extra}]" + (f" @ {address}" if address else f"=={__version__}")


def _repository(origin: dict[str, Any]) -> str:
    """The address of a Git repository that pip installed from; empty where it was something else."""
    if "vcs_info" not in origin:
        return ""
    info = origin["vcs_info"]
    revision = info.get("requested_revision") or info.get("commit_id", "")
    return f"{info.get('vcs', 'git')}+{origin.get('url', '')}" + (f"@{revision}" if revision else "")


def _clone() -> Path | None:
    """The clone that this module lies in, where it runs from its sources."""
    root = Path(__file__).resolve().parents[2]
    return (
        root if Path(__file__).resolve().parts[-3:-1] == ("src", NAME) and (root / "pyproject.toml").is_file() else None
    )


def _origin() -> dict[str, Any]:
    """What pip noted about where it took the package from (PEP 610); nothing for one of an index."""
    try:
        noted = json.loads(metadata.distribution(NAME).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}
