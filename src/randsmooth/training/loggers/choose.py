"""Loggers by name, opened for the time of a run."""

from __future__ import annotations

import json
import pkgutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from lightning_fabric.loggers.logger import Logger

from randsmooth.atomic import write_atomically
from randsmooth.errors import InputError, unknown
from randsmooth.extras import MissingPackage, needs
from randsmooth.training.folder import EVENTS, TRACKED
from randsmooth.training.loggers.group import LoggerGroup, is_of_the_disk
from randsmooth.training.loggers.logged_run import LoggedRun

# Each is opened with a `LoggedRun`. Those whose `version` is not empty go on with it when the run is resumed.
LOGGERS = {
    "tensorboard": "tensorboard_logger:RunEvents",
    "csv": "csv_logger:RunMetrics",
    "mlflow": "mlflow_logger:MLflowRun",
    "wandb": "wandb_logger:WandbRun",
}


def check_loggers(loggers: str | Logger | Sequence[str | Logger] | None) -> list[str | Logger] | None:
    """`loggers` as a list; None for the usual ones.

    Raises:
        InputError: an unknown name, a name twice, or something that is no logger.
        MissingPackage: the package of one is not installed.

    Example:
        >>> check_loggers("csv")
        ['csv']
        >>> check_loggers("cvs")
        Traceback (most recent call last):
        randsmooth.errors.InputError: unknown logger 'cvs': did you mean 'csv'? Expected one of: ...
    """
    if loggers is None:
        return None
    listed = list(loggers) if isinstance(loggers, Sequence) and not isinstance(loggers, str) else [loggers]
    names = [logger for logger in listed if not isinstance(logger, Logger)]
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"logger is a {type(name).__name__}; expected one of {', '.join(LOGGERS)}, or a Logger of Lightning"
            )
        if name not in LOGGERS:
            raise unknown("logger", name, LOGGERS)
        if names.count(name) > 1:
            raise InputError(f"logger {name!r} is given twice")
        _kind(name)
    return listed


def _kind(name: str) -> Callable[[LoggedRun], Logger]:
    """The class of the logger `name`. Raises MissingPackage unless what it imports is installed."""
    with needs(f"the logger {name}"):
        kind: Callable[[LoggedRun], Logger] = pkgutil.resolve_name(f"{__package__}.{LOGGERS[name]}")
    return kind


@contextmanager
def open_loggers(loggers: Sequence[str | Logger] | None, run: LoggedRun) -> Iterator[LoggerGroup]:
    """The loggers, opened for `run` and told its hyperparameters; at the end they are told how it ended.

    Args:
        loggers: as `check_loggers` returns them. None: those that a resumed run was begun with, by name; for a new run
            TensorBoard, where it is installed.
        run: what is trained.

    Raises:
        InputError: one of them cannot be opened.
        OSError: something could not be written; `filename` says where.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open_loggers(["csv"], LoggedRun(Path(folder), {"sigma": 0.5})) as group:
        ...         group.log_metrics({"epoch/loss": 0.7}, step=10)
        ...     [path.name for path in sorted(Path(folder).iterdir())]
        ['loggers.json', 'metrics']
    """
    path = run.folder / TRACKED
    tracked = _read(path) if path.exists() else {}
    chosen: list[str | Logger] = list(loggers if loggers is not None else tracked or usual())
    with _told_once(run.folder / EVENTS):
        opened = [_open(logger, run, tracked) for logger in chosen]
        ids = {
            name: str(logger.version or "")
            for name, logger in zip(chosen, opened, strict=True)
            if isinstance(name, str)
        }
        if loggers is not None:
            write_atomically(path, json.dumps(tracked | ids).encode())
        group, status = LoggerGroup(opened), "failed"
        try:
            yield group
            status = "success"
        except KeyboardInterrupt:
            status = "aborted"
            raise
        finally:
            group.finalize(status)


@contextmanager
def _told_once(events: Path) -> Iterator[None]:
    """Name the folder of `events` in an OSError without a file: TensorBoard's, whose thread shall not print it, too."""
    before = threading.excepthook
    threading.excepthook = lambda failed: None if isinstance(failed.exc_value, OSError) else before(failed)
    try:
        yield
    except OSError as error:
        if is_of_the_disk(error):
            error.filename = error.filename or str(events)
        raise
    finally:
        threading.excepthook = before


def usual() -> list[str]:
    """The loggers of a run for which none are named: TensorBoard, where it is installed."""
    try:
        _kind("tensorboard")
    except MissingPackage:
        return []
    return ["tensorboard"]


def _open(logger: str | Logger, run: LoggedRun, tracked: Mapping[str, str]) -> Logger:
    """The logger, told the run's hyperparameters."""
    try:
        if isinstance(logger, str):
            opened = _kind(logger)(replace(run, tracked_as=tracked.get(logger) or None))
        else:
            opened = logger
        with suppress(NotImplementedError):  # Fabric's own CSVLogger has no place for them
            opened.log_hyperparams(dict(run.hyperparameters))
    except Exception as error:  # whatever the client of a tracker raises
        if isinstance(error, InputError) or is_of_the_disk(error):
            raise
        name = logger if isinstance(logger, str) else type(logger).__name__
        raise InputError(
            f"the logger {name} cannot be started ({type(error).__name__}: {' '.join(str(error).split())}); the run "
            "can go without it: name other loggers"
        ) from error
    return opened


def _read(path: Path) -> dict[str, str]:
    """The names of the loggers that the run was begun with -> the ids under which they know it."""
    try:
        found = json.loads(path.read_bytes())
        if isinstance(found, dict) and all(name in LOGGERS and isinstance(id, str) for name, id in found.items()):
            return found
    except ValueError:
        pass
    raise InputError(f"{path} is damaged: remove it, and the resumed run is tracked as a new one")
