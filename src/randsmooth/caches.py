"""Where randsmooth keeps what it can make or fetch again, and what waits on this machine to be sent elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_dir

FOLDER = "RANDSMOOTH_CACHE"  # environment variable: the folder, instead of the user's cache folder


def cache_folder(name: str) -> Path:
    """The folder for things of one kind; it may not be there yet.

    Example:
        >>> cache_folder("boundaries").name
        'boundaries'
    """
    return Path(os.environ.get(FOLDER) or user_cache_dir("randsmooth")) / name
