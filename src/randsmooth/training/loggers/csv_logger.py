"""CSV: metrics.csv and hparams.yaml in the folder of the run."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import yaml
from lightning_fabric.loggers.logger import Logger

from randsmooth.atomic import write_atomically
from randsmooth.training.folder import METRICS
from randsmooth.training.loggers import LoggedRun


class RunMetrics(Logger):
    """`metrics/metrics.csv`, a row for each time that metrics were logged, and the hyperparameters beside it.

    Of a resumed run the rows up to its checkpoint are kept.
    """

    name, version = "csv", ""

    def __init__(self, run: LoggedRun) -> None:
        self.folder = run.folder / METRICS
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "metrics.csv"
        earlier = pd.read_csv(path).query(f"step < {run.first_step}") if run.first_step and path.exists() else []
        self.rows = [pd.DataFrame(earlier)]

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        self.rows.append(pd.DataFrame([{"step": step, **metrics}]))

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        text = yaml.safe_dump(dict(params), sort_keys=False, allow_unicode=True)
        write_atomically(self.folder / "hparams.yaml", text.encode())

    def save(self) -> None:
        self.rows = [pd.concat(self.rows)]
        write_atomically(self.folder / "metrics.csv", self.rows[0].to_csv(index=False).encode())

    def finalize(self, status: str) -> None:
        self.save()
