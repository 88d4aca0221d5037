"""Where the metrics of a run go besides its history.csv.

They go to TensorBoard, to CSV, or to any logger of Lightning.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from lightning_fabric.loggers.logger import Logger
from lightning_fabric.loggers.tensorboard import TensorBoardLogger
from torch import Tensor

from randsmooth.atomic import write_atomically
from randsmooth.documents import refused, shown
from randsmooth.errors import BadValue, check_known
from randsmooth.extras import MissingPackage, needs
from randsmooth.notes import Note
from randsmooth.training.folder import EVENTS, METRICS


class RunEvents(TensorBoardLogger):
    """Writes curves, histograms and hyperparameters to `events` in the folder of a run.

    A resumed run drops what was written after its checkpoint. The logger writes in a
    thread. If that fails, the next call raises the OSError, or `finalize`.
    """

    def __init__(self, folder: Path, first_step: int) -> None:
        super().__init__(folder, name="", version=EVENTS, purge_step=first_step)

    def log_metrics(
        self, metrics: Mapping[str, float], step: int | None = None
    ) -> None:
        """Log as Lightning's own, which hides an OSError behind a ValueError."""
        for name, value in metrics.items():
            self.experiment.add_scalar(name, value, step)

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Log for the tab HPARAMS, which lists all curves beside them."""
        from torch.utils.tensorboard.summary import hparams

        plain = {}
        for name, value in params.items():
            is_plain = isinstance(value, int | float | str)
            plain[name] = value if is_plain else str(value)
        # The other two summaries name metrics, and end the session.
        _, session_start, _ = hparams(plain, {})
        self.experiment.file_writer.add_summary(session_start)


class RunMetrics(Logger):
    """Writes `metrics` in the folder of a run: a table, and the hyperparameters.

    The table, `metrics.csv`, has a row for each time that metrics were logged. Of a
    resumed run the rows up to its checkpoint are kept.
    """

    name = "csv"
    version = ""

    def __init__(self, folder: Path, first_step: int) -> None:
        self.folder = folder / METRICS
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "metrics.csv"
        # Tables, each with the rows of a time when metrics were logged.
        self.tables = [pd.DataFrame()]
        if first_step > 0 and self.path.exists():
            earlier = pd.read_csv(self.path)
            self.tables = [earlier[earlier["step"] < first_step]]

    def log_metrics(
        self, metrics: Mapping[str, float], step: int | None = None
    ) -> None:
        self.tables.append(pd.DataFrame([{"step": step, **metrics}]))

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        text = yaml.safe_dump(dict(params), sort_keys=False, allow_unicode=True)
        write_atomically(self.folder / "hparams.yaml", text.encode())

    def save(self) -> None:
        table = pd.concat(self.tables)
        self.tables = [table]
        write_atomically(self.path, table.to_csv(index=False).encode())

    def finalize(self, status: str) -> None:
        self.save()


# Each is opened with the folder of the run, in which it has a place, and the first step
# of the optimiser that is still to be taken.
LOGGERS: dict[str, Callable[[Path, int], Logger]] = {
    "tensorboard": RunEvents,
    "csv": RunMetrics,
}
# The methods that a run calls of a logger.
CALLED = ("log_hyperparams", "log_metrics", "save", "finalize")
# What each writes in the folder of a run.
FILES = {"tensorboard": EVENTS, "csv": METRICS}


def check_loggers(
    loggers: str | Logger | Sequence[str | Logger] | None,
) -> list[str | Logger] | None:
    """Return `loggers` as a list without doubles; None for the usual ones.

    Raises:
        Problem: an unknown name, or something that is no logger.
        MissingPackage: the package of one is not installed.

    Example:
        >>> check_loggers("csv")
        ['csv']
        >>> check_loggers("cvs")
        Traceback (most recent call last):
        randsmooth.errors.UnknownName: unknown logger 'cvs': did you mean 'csv'? ...
    """
    if loggers is None:
        return None
    given: list[Any] = [loggers]
    if isinstance(loggers, list | tuple):
        given = list(loggers)
    # A dictionary keeps the order, which a set does not.
    without_doubles = list(dict.fromkeys(given))

    for logger in without_doubles:
        if isinstance(logger, str):
            check_known("logger", LOGGERS, logger)
        elif not is_logger(logger):
            names = ", ".join(LOGGERS)
            raise BadValue(
                f"logger is a {type(logger).__name__}; expected one of {names}, or a "
                "Logger of Lightning",
                field="logger",
                value=logger,
            )
    if "tensorboard" in without_doubles:
        with needs("the logger tensorboard"):
            import tensorboard  # noqa: F401
    return without_doubles


def is_logger(value: object) -> bool:
    """Return whether a value is a logger of Lightning, or acts like one.

    The package `lightning` has a class `Logger` of its own, beside Fabric's.

    Example:
        >>> is_logger(LoggerGroup([])), is_logger(Logger)
        (False, False)
    """
    if isinstance(value, type):
        return False
    return all(callable(getattr(value, name, None)) for name in CALLED)


@contextmanager
def open_loggers(
    loggers: Sequence[str | Logger] | None,
    folder: Path,
    hyperparameters: Mapping[str, Any],
    first_step: int = 0,
) -> Iterator[LoggerGroup]:
    """Open the loggers of a run and log its hyperparameters; at the end, finalize.

    Args:
        loggers: as `check_loggers` returns them. None: those of ours whose files a
            resumed run has; for a new run TensorBoard, where it is installed.
        folder: the folder of the run.
        hyperparameters: the values that decide the weights: numbers, words and lists by
            name.
        first_step: the first step of the optimiser that is still to be taken; 0 unless
            the run is resumed.

    Raises:
        Problem: one of them cannot be opened.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open_loggers(["csv"], Path(folder), {"sigma": 0.5}) as group:
        ...         group.log_metrics({"epoch/loss": 0.7}, step=10)
        ...     [path.name for path in sorted(Path(folder).iterdir())]
        ['metrics']
    """
    if loggers is None:
        loggers = _usual_loggers(folder)
    group = LoggerGroup([])
    status = "failed"
    with _quiet_writing_threads():
        try:
            for logger in loggers:
                opened = _open(logger, folder, hyperparameters, first_step)
                group.loggers.append(opened)
            yield group
            status = "success"
        except KeyboardInterrupt:
            status = "aborted"
            raise
        finally:
            group.each(lambda logger: logger.finalize(status))


def _usual_loggers(folder: Path) -> list[str | Logger]:
    """Return those that a run has files of, or else TensorBoard if it is installed."""
    earlier: list[str | Logger] = [
        name for name, files in FILES.items() if (folder / files).exists()
    ]
    if earlier:
        return earlier
    try:
        return check_loggers("tensorboard") or []
    except MissingPackage:
        return []


def _open(
    logger: str | Logger,
    folder: Path,
    hyperparameters: Mapping[str, Any],
    first_step: int,
) -> Logger:
    """Return the logger, opened for a run, with the hyperparameters logged."""
    name = logger if isinstance(logger, str) else type(logger).__name__
    # Whatever the client of a tracker raises.
    with refused(
        f"the logger {name} cannot be started (the run can go without it: name other "
        "loggers)"
    ):
        if isinstance(logger, str):
            logger = LOGGERS[logger](folder, first_step)
        # Fabric's own CSVLogger has no place for them.
        with suppress(NotImplementedError):
            logger.log_hyperparams(dict(hyperparameters))
    return logger


@contextmanager
def _quiet_writing_threads() -> Iterator[None]:
    """Print no traceback of an OSError in a thread: its logger tells of it."""
    usual_hook = threading.excepthook

    def hook(failed: threading.ExceptHookArgs) -> None:
        if not isinstance(failed.exc_value, OSError):
            usual_hook(failed)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = usual_hook


class LoggerGroup:
    """Passes metrics on to each of its loggers.

    A logger that fails on the way is left out from then on, with a `Note`: hours of
    training are worth more than its curves.

    Example:
        >>> LoggerGroup([]).log_metrics({"epoch/loss": 0.5}, step=3)
    """

    def __init__(self, loggers: Sequence[Logger]) -> None:
        self.loggers = list(loggers)

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        """Log scalars by name at a step of the optimiser."""
        plain = {name: float(value) for name, value in metrics.items()}
        self.each(lambda logger: logger.log_metrics(plain, step))

    def log_histograms(self, histograms: Mapping[str, Tensor], step: int) -> None:
        """Log distributions of values by name to TensorBoard.

        It is the only one that draws them by itself.
        """

        def log(logger: Logger) -> None:
            if isinstance(logger, TensorBoardLogger):
                for name, values in histograms.items():
                    logger.experiment.add_histogram(name, values, step)

        self.each(log)

    def each(self, act: Callable[[Logger], None]) -> None:
        """Call `act` with every logger, to save what is in memory, say."""
        # A copy, since loggers that fail are removed on the way.
        for logger in list(self.loggers):
            try:
                act(logger)
            # Whatever the client of a tracker raises, or a logger of the user's own.
            except Exception as error:
                self.loggers.remove(logger)
                note = Note(
                    "logger_failed",
                    logger=type(logger).__name__,
                    reason=f"{type(error).__name__}: {shown(error)}",
                )
                warnings.warn(note, stacklevel=3)
