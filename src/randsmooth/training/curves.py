"""The curves of a training run, for TensorBoard where it is installed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol


class Writer(Protocol):
    """What a training run writes its curves with: TensorBoard's SummaryWriter, or nothing where that is missing."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None) -> None: ...

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None) -> None: ...


class NoCurves:
    """Writes nothing: without the extra `tensorboard` a run has its history.csv alone."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None) -> None:
        pass

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None) -> None:
        pass


@contextmanager
def curves(folder: Path, first_step: int) -> Iterator[Writer]:
    """A writer of curves into `folder`, where what an earlier run wrote from `first_step` on counts no more.

    It writes in a thread. What that cannot write is raised here, where the next is to be written or at the end.

    Raises:
        OSError: the curves could not be written, and names where.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ModuleNotFoundError:
        yield NoCurves()
        return
    with _unprinted():
        try:
            with SummaryWriter(folder, purge_step=first_step) as writer:
                yield writer
        except OSError as error:
            error.filename = error.filename or str(folder)
            raise


@contextmanager
def _unprinted() -> Iterator[None]:
    """Let no thread print an OSError, which is raised in the main one, too."""
    before = threading.excepthook
    threading.excepthook = lambda failed: None if isinstance(failed.exc_value, OSError) else before(failed)
    try:
        yield
    finally:
        threading.excepthook = before
