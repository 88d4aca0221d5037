"""The files that visitors send: in a folder that is emptied by a clock."""

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

SECONDS_KEPT = 600.0
# Between two looks at how old the files are.
SECONDS_BETWEEN_LOOKS = 60.0
# The environment variable that says where Gradio keeps files.
PLACE = "GRADIO_TEMP_DIR"


@cache
def folder_of_uploads() -> Path:
    """Return the folder in which Gradio keeps its files from now on.

    It is a new one of this process, removed when it ends. Gradio looks up its place at
    every call, so that all apps of a process have one.
    """
    above = os.environ.get(PLACE)
    if above:
        Path(above).mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="randsmooth-uploads-", dir=above)).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[PLACE] = str(folder)
    return folder


def emptying(folder: Path, forget: Callable[[set[str]], Any]) -> Callable[[Any], Any]:
    """Return what a server enters while it runs.

    It deletes old files, and at the end all in the `folder`.

    Args:
        folder: of the files.
        forget: what is told which files are no longer there.
    """

    async def look() -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            forget(await asyncio.to_thread(delete_old, folder, SECONDS_KEPT))

    @asynccontextmanager
    async def running(app: Any) -> AsyncIterator[None]:
        looking = asyncio.create_task(look())
        try:
            yield
        finally:
            looking.cancel()
            forget(delete_old(folder, 0.0))

    return running


def delete_old(folder: Path, seconds: float) -> set[str]:
    """Delete what nobody has written to for so many seconds.

    What cannot be deleted stays.

    Returns:
        The files that are gone.

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
    gone: set[str] = set()
    oldest = time.time() - seconds
    # From the innermost folders on, so that emptied ones can go.
    for place, folders, files in os.walk(folder, topdown=False):
        for name in files:
            file = Path(place, name)
            # It went meanwhile, or is not ours.
            with suppress(OSError):
                if file.lstat().st_ctime <= oldest:
                    file.unlink()
                    gone.add(str(file))
        for name in folders:
            inner = Path(place, name)
            # It is not empty.
            with suppress(OSError):
                if inner.lstat().st_ctime <= oldest:
                    inner.rmdir()
    return gone
