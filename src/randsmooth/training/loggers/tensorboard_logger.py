"""TensorBoard: event files in the folder of the run."""

from collections.abc import Mapping
from typing import Any

from lightning_fabric.loggers.tensorboard import TensorBoardLogger
from torch.utils.tensorboard.summary import hparams

from randsmooth.training.folder import EVENTS
from randsmooth.training.loggers import LoggedRun


class RunEvents(TensorBoardLogger):
    """Curves, histograms and hyperparameters in `events`; a resumed run drops what was written after its checkpoint.

    It writes in a thread. If that fails, the next call raises the OSError, or `finalize`.
    """

    def __init__(self, run: LoggedRun) -> None:
        super().__init__(run.folder, name="", version=EVENTS, purge_step=run.first_step)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """As Lightning's own, which hides an OSError behind a ValueError."""
        for name, value in metrics.items():
            self.experiment.add_scalar(name, value, step)

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """For the tab HPARAMS, which lists all curves beside them if no metrics are named."""
        _, began, _ = hparams(self._sanitize_params(dict(params)), {})
        self.experiment._get_file_writer().add_summary(began)
