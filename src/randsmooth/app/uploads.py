"""The files that visitors send: a folder of their own, which is emptied by a clock of its own."""

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

KEPT = 600.0  # seconds that an uploaded file is kept
LOOK_EVERY = 60.0  # seconds between two looks at how old the files are
PLACE = "GRADIO_TEMP_DIR"  # environment variable: where Gradio keeps files


@cache
def folder_of_uploads() -> Path:
    """The folder in which Gradio keeps its files from now on: a new one of this process, removed when it ends.

    Gradio looks up its place at every call, so that all apps of a process have one.
    """
    above = os.environ.get(PLACE)
    if above:
        Path(above).mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="randsmooth-uploads-", dir=above)).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[PLACE] = str(folder)
    return folder


def emptying(folder: Path, forget: Callable[[set[str]], Any]) -> Callable[[Any], Any]:
    """What a server enters while it runs: it deletes old files, and at the end all in the `folder`.

    Args:
        folder: of the files.
        forget: what is told which files are no longer there.
    """

    async def look() -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            forget(await asyncio.to_thread(delete_old, folder, KEPT))

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
    """Delete what nobody has written to for so many seconds; the files that are gone. What cannot be deleted stays.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = Path(folder, "a", "digit.png")
        ...     made.parent.mkdir()
        ...     made.touch()
        ...     kept, gone = delete_old(Path(folder), 60.0), delete_old(Path(folder), -1.0)
        ...     len(kept), len(gone), made.parent.exists()
        (0, 1, False)
    """
    gone, oldest = set[str](), time.time() - seconds
    for place, folders, files in os.walk(folder, topdown=False):
        for name in files:
            file = Path(place, name)
            with suppress(OSError):  # it went meanwhile, or is not ours
                if file.lstat().st_ctime <= oldest:
                    file.unlink()
                    gone.add(str(file))
        for name in folders:
            inner = Path(place, name)
            with suppress(OSError):  # it is not empty
                if inner.lstat().st_ctime <= oldest:
                    inner.rmdir()
    return gone
