"""The folder of the files that visitors send, from which old files are deleted."""

import asyncio
import atexit
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

# Seconds after which a file is deleted.
SECONDS_KEPT = 600.0
# Seconds between two looks at the age of the files.
SECONDS_BETWEEN_LOOKS = 60.0
# The environment variable that names the folder in which Gradio keeps files.
PLACE = "GRADIO_TEMP_DIR"


@cache
def folder_of_uploads() -> Path:
    """Make the folder in which Gradio keeps its files from now on, and return it.

    It belongs to this process, and is removed when the process ends. Gradio reads the
    environment variable at every call, so that all apps of a process share one folder.
    """
    # A user may have named a folder: it is made in there.
    above = os.environ.get(PLACE)
    if above:
        Path(above).mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="randsmooth-uploads-", dir=above)).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[PLACE] = str(folder)
    return folder


def emptying(folder: Path, forget: Callable[[set[str]], Any]) -> Callable[[Any], Any]:
    """Return the lifespan of a server: a context that it enters while it runs.

    Meanwhile old files are deleted, and at the end all files.

    Args:
        folder: the folder of the files.
        forget: a function that is called with the paths of the deleted files.
    """

    async def look() -> None:
        """Delete old files, again and again."""
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            # In a thread, so that visitors need not wait for the disk.
            forget(await asyncio.to_thread(delete_old, folder, SECONDS_KEPT))

    @asynccontextmanager
    async def running(app: Any) -> AsyncIterator[None]:
        """Look after the files while the server runs."""
        looking = asyncio.create_task(look())
        try:
            yield
        finally:
            looking.cancel()
            forget(delete_old(folder, seconds=0.0))

    return running


def delete_old(folder: Path, seconds: float) -> set[str]:
    """Delete files and folders that nobody has changed for so many seconds.

    One that cannot be deleted stays.

    Returns:
        The paths of the deleted files.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = Path(folder, "a", "digit.png")
        ...     made.parent.mkdir()
        ...     made.touch()
        ...     too_new = delete_old(Path(folder), 60.0)
        ...     gone = delete_old(Path(folder), -1.0)
        ...     len(too_new), len(gone), made.parent.exists()
        (0, 1, False)
    """
    deleted: set[str] = set()
    latest_change = time.time() - seconds
    # From the innermost folders on, so that emptied ones can be deleted.
    for above, folders, files in os.walk(folder, topdown=False):
        for name in files:
            file = Path(above, name)
            # Suppressed: it is gone meanwhile, or may not be deleted.
            with suppress(OSError):
                if file.lstat().st_ctime <= latest_change:
                    file.unlink()
                    deleted.add(str(file))
        for name in folders:
            inner = Path(above, name)
            # Suppressed: it is not empty.
            with suppress(OSError):
                if inner.lstat().st_ctime <= latest_change:
                    inner.rmdir()
    return deleted
