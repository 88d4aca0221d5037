"""The versions that a result depends on."""

from __future__ import annotations

import platform
from importlib.metadata import version

PACKAGES = ("randsmooth", "torch", "numpy", "scipy")


def versions(*more: str) -> dict[str, str]:
    """The version of Python, of randsmooth, of the packages that its numbers pass through, and of those in `more`."""
    return {"python": platform.python_version(), **{name: version(name) for name in (*PACKAGES, *more)}}
