"""Where the metrics of a run go: TensorBoard, CSV, loggers of Lightning, and a callback."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from lightning_fabric.loggers.csv_logs import CSVLogger
from lightning_fabric.loggers.logger import Logger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cli.processes import Run
from randsmooth import models
from randsmooth.errors import BadValue, Problem, UnknownName
from randsmooth.training import TrainingSettings, train
from randsmooth.training.folder import EVENTS, HISTORY
from values import noted, refused

SETTINGS = TrainingSettings(sigma=0.25, epochs=3, take=160)
OPTIONS = ["--sigma", "0.25", "--epochs", "3", "--take", "160"]


class Stopped(Exception):
    """Stands for whatever a callback raises."""


def stop_after(epochs: int) -> Any:
    def callback(metrics: dict[str, float], model: models.Classifier) -> None:
        if metrics["epoch"] + 1 == epochs:
            raise Stopped

    return callback


def by_epoch(folder: Path) -> pd.DataFrame:
    """The epochs that metrics.csv tells of."""
    table = pd.read_csv(folder / "metrics" / "metrics.csv")
    return table[table["epoch/number"].notna()].reset_index(drop=True)


def test_several_loggers_at_once_tell_what_the_history_tells(
    cli: Run, tmp_path: Path
) -> None:
    out = tmp_path / "m"
    cli.done(
        "train",
        "digits",
        *OPTIONS,
        "--logger",
        "csv",
        "--logger",
        "tensorboard",
        "--out",
        out,
    )
    history, told = pd.read_csv(out / HISTORY), by_epoch(out)
    for name in ("cross_entropy", "lr", "easy_share"):
        assert told[f"epoch/{name}"].tolist() == history[name].tolist()
    events = EventAccumulator(str(out / EVENTS)).Reload()
    curve = [event.value for event in events.Scalars("epoch/cross_entropy")]
    assert curve == pytest.approx(history["cross_entropy"].tolist(), rel=1e-6)
    hyperparameters = yaml.safe_load((out / "metrics" / "hparams.yaml").read_text())
    assert (
        hyperparameters["sigma"],
        hyperparameters["method"],
        hyperparameters["m"],
    ) == (0.25, "gaussian", 4)


def test_a_resumed_run_goes_on_in_the_files_of_its_loggers(tmp_path: Path) -> None:
    """Without naming them again; what a killed run wrote after its checkpoint is not told twice."""
    train("digits", SETTINGS, out=tmp_path / "whole", logger=["csv", "tensorboard"])
    with pytest.raises(Stopped):
        train(
            "digits",
            SETTINGS,
            out=tmp_path / "m",
            logger=["csv", "tensorboard"],
            callback=stop_after(2),
        )
    path = tmp_path / "m" / "metrics" / "metrics.csv"
    table = pd.read_csv(path)
    later = table.iloc[-1:].assign(step=table["step"].max() + 1)
    path.write_text(pd.concat([table, later]).to_csv(index=False))
    train("digits", SETTINGS, out=tmp_path / "m", resume=True)
    columns = [name for name in by_epoch(tmp_path / "m") if name != "epoch/seconds"]
    pd.testing.assert_frame_equal(
        by_epoch(tmp_path / "m")[columns], by_epoch(tmp_path / "whole")[columns]
    )
    events = EventAccumulator(str(tmp_path / "m" / EVENTS)).Reload()
    assert [event.value for event in events.Scalars("epoch/number")] == [0.0, 1.0, 2.0]


class Counting(Logger):
    """A logger of the user's own, which fails at a chosen call."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.calls, self.fails_at, self.status, self.params = (
            0,
            fails_at,
            "",
            dict[str, Any](),
        )

    @property
    def name(self) -> str:
        return "counting"

    @property
    def version(self) -> str:
        return "1"

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        self._count()
        self.params = params

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self._count()

    def finalize(self, status: str) -> None:
        self.status = status

    def _count(self) -> None:
        if self.calls == self.fails_at:
            raise RuntimeError("no more room")
        self.calls += 1


def test_loggers_of_lightning_are_taken_as_they_are_and_one_that_fails_is_left_out(
    tmp_path: Path,
) -> None:
    mine, theirs = Counting(), CSVLogger(tmp_path, name="theirs")
    whole = train("digits", SETTINGS, out=tmp_path / "m", logger=[mine, theirs])
    assert (mine.calls, mine.status, mine.params["sigma"]) == (
        7,
        "success",
        0.25,
    )  # once, and twice an epoch
    assert len(pd.read_csv(Path(theirs.log_dir) / "metrics.csv")) == 6
    with noted("logger_failed", logger="Counting", reason="RuntimeError: no more room"):
        model = train(
            "digits", SETTINGS, out=tmp_path / "b", logger=[Counting(fails_at=3), "csv"]
        )
    assert (
        models.weights_hash(model) == models.weights_hash(whole)
        and len(by_epoch(tmp_path / "b")) == 3
    )
    # Refused before anything is written.
    cases: list[tuple[Any, type[Problem]]] = [
        ("tensorbord", UnknownName),
        (3, BadValue),
    ]
    for logger, kind in cases:
        with refused(kind):
            train("digits", SETTINGS, out=tmp_path / "c", logger=logger)


def test_a_logger_of_the_package_lightning_is_taken(tmp_path: Path) -> None:
    """Its class is not Fabric's, whatever their names."""
    loggers = pytest.importorskip("lightning.pytorch.loggers")
    theirs = loggers.CSVLogger(tmp_path, name="theirs")
    train("digits", SETTINGS, out=tmp_path / "m", logger=theirs)
    theirs.save()
    assert len(pd.read_csv(Path(theirs.log_dir) / "metrics.csv")) == 6
    with refused(BadValue):
        train("digits", SETTINGS, out=tmp_path / "c", logger=loggers.CSVLogger)
