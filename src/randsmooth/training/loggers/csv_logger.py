"""CSV: metrics.csv and hparams.yaml in the folder of the run."""

from __future__ import annotations

import csv
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from lightning_fabric.loggers.csv_logs import CSVLogger

from randsmooth.atomic import write_atomically
from randsmooth.training.folder import METRICS
from randsmooth.training.loggers import LoggedRun

HYPERPARAMETERS = "hparams.yaml"


class RunMetrics(CSVLogger):
    """`metrics/metrics.csv`, a row for each time that metrics were logged, and the hyperparameters beside it.

    Of a resumed run the rows up to its checkpoint are kept: Lightning's own would begin anew.
    """

    def __init__(self, run: LoggedRun) -> None:
        super().__init__(run.folder, name="", version=METRICS)
        path = Path(self.log_dir) / "metrics.csv"
        earlier = _rows_before(path, run.first_step)
        path.unlink(missing_ok=True)
        (Path(self.log_dir) / HYPERPARAMETERS).unlink(missing_ok=True)  # in an empty folder nothing is warned of
        for step, metrics in earlier:
            self.log_metrics(dict(metrics), step)
        self.experiment.save()

    def log_hyperparams(self, params: dict[str, Any] | Namespace) -> None:
        """Written as YAML, as Lightning's logger of this name does outside of Fabric."""
        path = Path(self.log_dir) / HYPERPARAMETERS
        write_atomically(path, yaml.safe_dump(params, sort_keys=False, allow_unicode=True).encode())


def _rows_before(path: Path, step: int) -> list[tuple[int, dict[str, float]]]:
    """Step and metrics of the rows before `step`, without one that a killed run left half written."""
    if step == 0 or not path.exists():
        return []
    rows = []
    with path.open(newline="", errors="replace") as file, suppress(csv.Error):
        for row in csv.DictReader(file):
            with suppress(ValueError, KeyError, TypeError):
                metrics = {name: float(cell) for name, cell in row.items() if cell}
                rows.append((int(metrics.pop("step")), metrics))
    return [(at, metrics) for at, metrics in rows if at < step]
