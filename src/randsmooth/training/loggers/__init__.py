"""Where the metrics of a run go besides its history.csv: TensorBoard, CSV, or any logger of Lightning.

A logger of ours is a file here and a line in `LOGGERS`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning_fabric.loggers.logger import Logger
from lightning_fabric.loggers.tensorboard import TensorBoardLogger
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import InputError, Note
from randsmooth.extras import MissingPackage, needs
from randsmooth.registry import Registry
from randsmooth.training.folder import EVENTS, METRICS

# Each is opened with a `LoggedRun`, and goes on in its folder when the run is resumed.
LOGGERS: Registry[Callable[[LoggedRun], Logger]] = Registry(
    "logger",
    "randsmooth.loggers",
    {
        "tensorboard": f"{__name__}.tensorboard_logger:RunEvents",
        "csv": f"{__name__}.csv_logger:RunMetrics",
    },
)
FILES = {"tensorboard": EVENTS, "csv": METRICS}  # of each in the folder of the run


@dataclass(frozen=True)
class LoggedRun:
    """A training run, as a logger sees it.

    Attributes:
        folder: of the run.
        hyperparameters: what decides the weights: numbers, words and lists by name.
        first_step: the first step of the optimiser that is still to be taken; 0 unless the run is resumed.

    Example:
        >>> run = LoggedRun(Path("runs/mine"), {"method": "gaussian", "sigma": 0.5})
        >>> run.folder.name, run.first_step
        ('mine', 0)
    """

    folder: Path
    hyperparameters: Mapping[str, Any]
    first_step: int = 0


def check_loggers(loggers: str | Logger | Sequence[str | Logger] | None) -> list[str | Logger] | None:
    """`loggers` as a list; None for the usual ones.

    Raises:
        InputError: an unknown name, or something that is no logger.
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
    listed: list[Any] = [*dict.fromkeys(loggers if isinstance(loggers, list | tuple) else [loggers])]
    for logger in listed:
        if isinstance(logger, str):
            _kind(logger)
        elif not isinstance(logger, Logger):
            kinds = f"one of {', '.join(LOGGERS)}, or a Logger of Lightning"
            raise InputError(f"logger is a {type(logger).__name__}; expected {kinds}")
    return listed


def _kind(name: str) -> Callable[[LoggedRun], Logger]:
    """The class of the logger `name`. Raises MissingPackage unless what it imports is installed."""
    with needs(f"the logger {name}"):
        return LOGGERS[name]


@contextmanager
def open_loggers(loggers: Sequence[str | Logger] | None, run: LoggedRun) -> Iterator[LoggerGroup]:
    """The loggers, opened for `run` and told its hyperparameters; at the end they are told how it ended.

    Args:
        loggers: as `check_loggers` returns them. None: those of ours whose files a resumed run has; for a new run
            TensorBoard, where it is installed.
        run: what is trained.

    Raises:
        InputError: one of them cannot be opened.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open_loggers(["csv"], LoggedRun(Path(folder), {"sigma": 0.5})) as group:
        ...         group.log_metrics({"epoch/loss": 0.7}, step=10)
        ...     [path.name for path in sorted(Path(folder).iterdir())]
        ['metrics']
    """
    if loggers is None:
        loggers = [name for name, files in FILES.items() if (run.folder / files).exists()] or usual()
    group, status = LoggerGroup([_open(logger, run) for logger in loggers]), "failed"
    try:
        yield group
        status = "success"
    except KeyboardInterrupt:
        status = "aborted"
        raise
    finally:
        group.each(lambda logger: logger.finalize(status))


def usual() -> list[str | Logger]:
    """The loggers of a run for which none are named: TensorBoard, where it is installed."""
    with suppress(MissingPackage):
        return check_loggers("tensorboard") or []
    return []


def _open(logger: str | Logger, run: LoggedRun) -> Logger:
    """The logger, told the run's hyperparameters."""
    name = logger if isinstance(logger, str) else type(logger).__name__
    try:
        if isinstance(logger, str):
            logger = _kind(logger)(run)
        with suppress(NotImplementedError):  # Fabric's own CSVLogger has no place for them
            logger.log_hyperparams(dict(run.hyperparameters))
    except InputError:
        raise
    except Exception as error:  # whatever the client of a tracker raises
        raise InputError(
            f"the logger {name} cannot be started ({type(error).__name__}: {shown(error)}); the run can go without it: "
            "name other loggers"
        ) from error
    return logger


class LoggerGroup:
    """Passes metrics on to each of its loggers.

    A logger that fails on the way is left out from then on, with a `Note`: hours of training are worth more than
    its curves.

    Example:
        >>> LoggerGroup([]).log_metrics({"epoch/loss": 0.5}, step=3)
    """

    def __init__(self, loggers: Sequence[Logger]) -> None:
        self.loggers = list(loggers)

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        """Log scalars by name at a step of the optimiser."""
        self.each(lambda logger: logger.log_metrics({name: float(value) for name, value in metrics.items()}, step))

    def log_histograms(self, histograms: Mapping[str, Tensor], step: int) -> None:
        """Log distributions of values by name: to TensorBoard, the only one that draws them by itself."""

        def log(logger: Logger) -> None:
            if isinstance(logger, TensorBoardLogger):
                for name, values in histograms.items():
                    logger.experiment.add_histogram(name, values, step)

        self.each(log)

    def each(self, act: Callable[[Logger], None]) -> None:
        """Let `act` do something with every logger, such as save what is still in memory."""
        for logger in list(self.loggers):
            try:
                act(logger)
            except Exception as error:  # whatever the client of a tracker raises, and a logger of the user's own
                self.loggers.remove(logger)
                what = f"{type(logger).__name__} failed ({type(error).__name__}: {shown(error)})"
                warnings.warn(f"{what}: the run goes on without it", Note, stacklevel=3)
