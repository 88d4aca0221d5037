"""Python processes that this one starts.

What lies in the current folder is not taken for a module of Python's.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

# Python's environment variable that leaves the current folder out of what is imported.
SAFE_PATH = "PYTHONSAFEPATH"


@contextmanager
def without_current_folder() -> Iterator[None]:
    """Let Python processes that begin in this block not import from the current folder.

    Workers are begun by `python -m` or `python -c`, which would run a json.py there in place
    of Python's own. What names code in that folder, file.py:NAME or package.module:NAME,
    adds it by itself.

    Example:
        >>> with without_current_folder():
        ...     os.environ["PYTHONSAFEPATH"]
        '1'
    """
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before
