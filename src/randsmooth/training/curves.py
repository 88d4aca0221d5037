"""The curves of a training run, written for TensorBoard if it is installed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol


class Writer(Protocol):
    """Writes the curves of a training run: TensorBoard's SummaryWriter, or `NoCurves` if that is not installed."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None) -> None: ...

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None) -> None: ...


class NoCurves:
    """Writes nothing: without the extra `tensorboard` a run has only its history.csv."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None) -> None:
        pass

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None) -> None:
        pass


@contextmanager
def curves(folder: Path, first_step: int) -> Iterator[Writer]:
    """A writer of curves into `folder`; curves that an interrupted run wrote from `first_step` on are dropped.

    It writes in a thread. If that fails, the next call of the writer raises the error, or the end of the context.

    Raises:
        OSError: the curves could not be written; `filename` says where.
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
    """Keep threads from printing an OSError, as it is raised in the main thread, too."""
    before = threading.excepthook
    threading.excepthook = lambda failed: None if isinstance(failed.exc_value, OSError) else before(failed)
    try:
        yield
    finally:
        threading.excepthook = before
