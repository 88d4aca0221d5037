"""Several loggers as one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

from lightning_fabric.loggers.logger import Logger
from lightning_fabric.loggers.tensorboard import TensorBoardLogger
from torch import Tensor

from randsmooth.errors import Note


class LoggerGroup:
    """Passes metrics on to each of its loggers.

    A logger that fails on the way is left out from then on, with a `Note`: hours of training are worth more than
    its curves. A disk that cannot be written to stops the run, as the checkpoint could not be written either.

    Example:
        >>> LoggerGroup([]).log_metrics({"epoch/loss": 0.5}, step=3)
    """

    def __init__(self, loggers: Sequence[Logger]) -> None:
        self.loggers = list(loggers)

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        """Log scalars by name at a step of the optimiser."""
        numbers = {name: float(value) for name, value in metrics.items()}
        self._each(lambda logger: logger.log_metrics(dict(numbers), step))

    def log_histograms(self, histograms: Mapping[str, Tensor], step: int) -> None:
        """Log distributions of values by name: to TensorBoard, the only one that draws them by itself."""

        def log(logger: Logger) -> None:
            if isinstance(logger, TensorBoardLogger):
                for name, values in histograms.items():
                    logger.experiment.add_histogram(name, values, step)

        self._each(log)

    def save(self) -> None:
        """Write what is still in memory."""
        self._each(lambda logger: logger.save())

    def finalize(self, status: str) -> None:
        """End all: "success", "failed" or "aborted"."""
        self._each(lambda logger: logger.finalize(status))

    def _each(self, act: Callable[[Logger], None]) -> None:
        for logger in list(self.loggers):
            try:
                act(logger)
            except Exception as error:  # whatever the client of a tracker raises, and a logger of the user's own
                if is_of_the_disk(error):
                    raise
                self.loggers.remove(logger)
                what = f"{type(logger).__name__} failed ({type(error).__name__}: {' '.join(str(error).split())})"
                warnings.warn(f"{what}: the run goes on without it", Note, stacklevel=3)


def is_of_the_disk(error: Exception) -> bool:
    """Whether the system refused to write a file; trackers' clients raise an OSError for a lost connection, too.

    Example:
        >>> is_of_the_disk(OSError(28, "No space left on device")), is_of_the_disk(ConnectionError(111, "refused"))
        (True, False)
    """
    return (
        isinstance(error, OSError) and error.errno is not None and not isinstance(error, ConnectionError | TimeoutError)
    )
