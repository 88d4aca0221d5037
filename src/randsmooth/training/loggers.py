"""Where the metrics of a run go besides its history.csv: TensorBoard, CSV, or any logger of Lightning."""

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
    """Curves, histograms and hyperparameters in `events`; a resumed run drops what was written after its checkpoint.

    It writes in a thread. If that fails, the next call raises the OSError, or `finalize`.
    """

    def __init__(self, folder: Path, first_step: int) -> None:
        super().__init__(folder, name="", version=EVENTS, purge_step=first_step)

    def log_metrics(
        self, metrics: Mapping[str, float], step: int | None = None
    ) -> None:
        """As Lightning's own, which hides an OSError behind a ValueError."""
        for name, value in metrics.items():
            self.experiment.add_scalar(name, value, step)

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """For the tab HPARAMS, which lists all curves beside them if no metrics are named."""
        from torch.utils.tensorboard.summary import hparams

        plain = {
            name: value if isinstance(value, int | float | str) else str(value)
            for name, value in params.items()
        }
        _, began, _ = hparams(plain, {})
        self.experiment.file_writer.add_summary(began)


class RunMetrics(Logger):
    """`metrics/metrics.csv`, a row for each time that metrics were logged, and the hyperparameters beside it.

    Of a resumed run the rows up to its checkpoint are kept.
    """

    name, version = "csv", ""

    def __init__(self, folder: Path, first_step: int) -> None:
        self.folder = folder / METRICS
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "metrics.csv"
        earlier = (
            pd.read_csv(path).query(f"step < {first_step}")
            if first_step and path.exists()
            else []
        )
        self.rows = [pd.DataFrame(earlier)]

    def log_metrics(
        self, metrics: Mapping[str, float], step: int | None = None
    ) -> None:
        self.rows.append(pd.DataFrame([{"step": step, **metrics}]))

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        text = yaml.safe_dump(dict(params), sort_keys=False, allow_unicode=True)
        write_atomically(self.folder / "hparams.yaml", text.encode())

    def save(self) -> None:
        self.rows = [pd.concat(self.rows)]
        write_atomically(
            self.folder / "metrics.csv", self.rows[0].to_csv(index=False).encode()
        )

    def finalize(self, status: str) -> None:
        self.save()


# Each is opened with the folder of the run, in which it has a place, and the first step that is still to be taken.
LOGGERS: dict[str, Callable[[Path, int], Logger]] = {
    "tensorboard": RunEvents,
    "csv": RunMetrics,
}
FILES = {"tensorboard": EVENTS, "csv": METRICS}


def check_loggers(
    loggers: str | Logger | Sequence[str | Logger] | None,
) -> list[str | Logger] | None:
    """`loggers` as a list; None for the usual ones.

    Raises:
        Problem: an unknown name, or something that is no logger.
        MissingPackage: the package of one is not installed.

    Example:
        >>> check_loggers("csv")
        ['csv']
        >>> check_loggers("cvs")
        Traceback (most recent call last):
        randsmooth.errors.UnknownName: unknown logger 'cvs': did you mean 'csv'? Expected one of: ...
    """
    if loggers is None:
        return None
    listed: list[Any] = [
        *dict.fromkeys(loggers if isinstance(loggers, list | tuple) else [loggers])
    ]
    for logger in listed:
        if isinstance(logger, str):
            check_known("logger", LOGGERS, logger)
        elif not isinstance(logger, Logger):
            kinds = f"one of {', '.join(LOGGERS)}, or a Logger of Lightning"
            raise BadValue(f"logger is a {type(logger).__name__}; expected {kinds}")
    if "tensorboard" in listed:
        with needs("the logger tensorboard"):
            import tensorboard  # noqa: F401
    return listed


@contextmanager
def open_loggers(
    loggers: Sequence[str | Logger] | None,
    folder: Path,
    hyperparameters: Mapping[str, Any],
    first_step: int = 0,
) -> Iterator[LoggerGroup]:
    """The loggers, opened for a run and told its hyperparameters; at the end they are told how it ended.

    Args:
        loggers: as `check_loggers` returns them. None: those of ours whose files a resumed run has; for a new run
            TensorBoard, where it is installed.
        folder: of the run.
        hyperparameters: what decides the weights: numbers, words and lists by name.
        first_step: the first step of the optimiser that is still to be taken; 0 unless the run is resumed.

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
        loggers = [name for name, files in FILES.items() if (folder / files).exists()]
        with suppress(MissingPackage):
            loggers = loggers or check_loggers("tensorboard") or []
    group, status, before = LoggerGroup([]), "failed", threading.excepthook
    # An OSError of a thread that writes is told by its logger, and needs no traceback besides.
    threading.excepthook = lambda failed: (
        None if isinstance(failed.exc_value, OSError) else before(failed)
    )
    try:
        for each in loggers:
            name = each if isinstance(each, str) else type(each).__name__
            # Whatever the client of a tracker raises.
            with refused(
                f"the logger {name} cannot be started (the run can go without it: name other loggers)"
            ):
                logger = (
                    LOGGERS[each](folder, first_step) if isinstance(each, str) else each
                )
                with suppress(
                    NotImplementedError
                ):  # Fabric's own CSVLogger has no place for them
                    logger.log_hyperparams(dict(hyperparameters))
            group.loggers.append(logger)
        yield group
        status = "success"
    except KeyboardInterrupt:
        status = "aborted"
        raise
    finally:
        group.each(lambda logger: logger.finalize(status))
        threading.excepthook = before


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
        self.each(
            lambda logger: logger.log_metrics(
                {name: float(value) for name, value in metrics.items()}, step
            )
        )

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
                note = Note(
                    "logger_failed",
                    logger=type(logger).__name__,
                    reason=f"{type(error).__name__}: {shown(error)}",
                )
                warnings.warn(note, stacklevel=3)
