"""Where the metrics of a run go: TensorBoard, CSV, MLflow, W&B, loggers of Lightning, and a callback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from lightning_fabric.loggers.csv_logs import CSVLogger
from lightning_fabric.loggers.logger import Logger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cli.run import Run
from randsmooth import models
from randsmooth.certification import SmoothedClassifier
from randsmooth.data import load, take
from randsmooth.errors import InputError, Note
from randsmooth.training import TrainingSettings, train
from randsmooth.training.folder import CHECKPOINT, EVENTS, HISTORY

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


def test_several_loggers_at_once_tell_what_the_history_tells(cli: Run, tmp_path: Path) -> None:
    out = tmp_path / "m"
    done = cli("train", "digits", *OPTIONS, "--logger", "csv", "--logger", "tensorboard", "--out", out)
    assert done.code == 0, done.err
    history, told = pd.read_csv(out / HISTORY), by_epoch(out)
    for name in ("cross_entropy", "lr", "easy_share"):
        assert told[f"epoch/{name}"].tolist() == history[name].tolist()
    events = EventAccumulator(str(out / EVENTS)).Reload()
    curve = [event.value for event in events.Scalars("epoch/cross_entropy")]
    assert curve == pytest.approx(history["cross_entropy"].tolist(), rel=1e-6)
    assert "_hparams_/session_start_info" in events.Tags()["tensors"] or "hparams" in str(events.summary_metadata)
    hyperparameters = yaml.safe_load((out / "metrics" / "hparams.yaml").read_text())
    assert (hyperparameters["sigma"], hyperparameters["method"], hyperparameters["m"]) == (0.25, "gaussian", 4)


def test_the_loggers_named_are_all_there_is(tmp_path: Path) -> None:
    train("digits", SETTINGS, out=tmp_path / "m", logger="csv")
    assert not (tmp_path / "m" / EVENTS).exists()


def test_a_resumed_run_goes_on_in_the_files_of_its_loggers(tmp_path: Path) -> None:
    """Without naming them again; what a killed run wrote after its checkpoint is not told twice."""
    train("digits", SETTINGS, out=tmp_path / "whole", logger=["csv", "tensorboard"])
    with pytest.raises(Stopped):
        train("digits", SETTINGS, out=tmp_path / "m", logger=["csv", "tensorboard"], callback=stop_after(2))
    path = tmp_path / "m" / "metrics" / "metrics.csv"
    table = pd.read_csv(path)
    later = table.iloc[-1:].assign(step=table["step"].max() + 1)
    path.write_text(pd.concat([table, later]).to_csv(index=False))
    train("digits", SETTINGS, out=tmp_path / "m", resume=True)
    columns = [name for name in by_epoch(tmp_path / "m") if name != "epoch/seconds"]
    pd.testing.assert_frame_equal(by_epoch(tmp_path / "m")[columns], by_epoch(tmp_path / "whole")[columns])
    events = EventAccumulator(str(tmp_path / "m" / EVENTS)).Reload()
    assert [event.value for event in events.Scalars("epoch/number")] == [0.0, 1.0, 2.0]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of an MLflow store of files."""
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    yield from _client(f"file:{tmp_path / 'mlruns'}", monkeypatch)


def _client(uri: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from mlflow.tracking import MlflowClient

    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "smoothing")
    yield MlflowClient()


def runs(client: Any) -> list[Any]:
    experiment = client.get_experiment_by_name("smoothing")
    return list(client.search_runs([experiment.experiment_id]))


def check_mlflow(client: Any, cli: Run, folder: Path) -> None:
    """A run that is stopped and resumed is one run of MLflow, with every epoch once."""
    with pytest.raises(Stopped):
        train("digits", SETTINGS, out=folder, logger="mlflow", callback=stop_after(1))
    (begun,) = runs(client)
    assert (begun.info.status, begun.info.run_name) == ("FAILED", folder.name)
    done = cli("train", "digits", *OPTIONS, "--out", folder, "--resume")
    assert done.code == 0, done.err
    (run,) = runs(client)
    assert (run.info.run_id, run.info.status) == (begun.info.run_id, "FINISHED")
    assert (run.data.params["sigma"], run.data.params["arch"], run.data.params["m"]) == ("0.25", "small-cnn", "4")
    history = pd.read_csv(folder / HISTORY)
    told = client.get_metric_history(run.info.run_id, "epoch/cross_entropy")
    assert [metric.value for metric in told] == history["cross_entropy"].tolist()
    assert len({metric.step for metric in told}) == 3


def test_mlflow_has_one_run_for_a_run_that_was_resumed(store: Any, cli: Run, tmp_path: Path) -> None:
    check_mlflow(store, cli, tmp_path / "m")


@pytest.mark.slow
def test_mlflow_has_one_run_in_a_database_too(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlalchemy")
    for client in _client(f"sqlite:///{tmp_path / 'mlflow.db'}", monkeypatch):
        check_mlflow(client, cli, tmp_path / "m")


def test_mlflow_tells_what_was_changed_on_the_way(store: Any, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        train("digits", SETTINGS, out=tmp_path / "m", logger="mlflow", callback=stop_after(1))
    other = SETTINGS.replace(set={"lr": 0.01})
    train("digits", other, out=tmp_path / "m", resume=True, accept_changes=True)
    (run,) = runs(store)
    assert run.data.params["lr"] == "0.05"
    assert run.data.tags["changed when resumed"] == "lr=0.01"


def test_a_run_of_mlflow_that_is_gone_is_told(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Stopped):
        train("digits", SETTINGS, out=tmp_path / "m", logger="mlflow", callback=stop_after(1))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path / 'elsewhere'}")
    with pytest.raises(InputError, match=r"not in its store.*set MLFLOW_TRACKING_URI"):
        train("digits", SETTINGS, out=tmp_path / "m", resume=True)
    train("digits", SETTINGS, out=tmp_path / "m", resume=True, logger="csv")


def wandb_records(file: bytes) -> Iterator[bytes]:
    """The records of an offline run: after 7 bytes, blocks of 32 KiB of parts, each with checksum, length and type."""
    at, parts = 7, b""
    while at + 7 <= len(file):
        if (room := 2**15 - at % 2**15) < 7:
            at += room
            continue
        length, kind = int.from_bytes(file[at + 4 : at + 6], "little"), file[at + 6]
        parts += file[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield parts
            parts = b""


@pytest.mark.slow
def test_wandb_has_one_run_for_a_run_that_was_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    with pytest.raises(Stopped):
        train("digits", SETTINGS, out=tmp_path / "m", logger=["wandb", "csv"], callback=stop_after(2))
    train("digits", SETTINGS, out=tmp_path / "m", resume=True)
    id = json.loads((tmp_path / "m" / "loggers.json").read_text())["wandb"]
    files = sorted(tmp_path.glob(f"wandb/offline-run-*-{id}/run-{id}.wandb"))
    assert len(files) == 2
    losses: list[float] = []
    config: dict[str, str] = {}
    for file in files:
        for data in wandb_records(file.read_bytes()):
            record = Record.FromString(data)
            for update in (record.run.config.update, record.config.update):
                config |= {item.key: item.value_json for item in update}
            items = {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
            losses += [json.loads(items["epoch/cross_entropy"])] if "epoch/cross_entropy" in items else []
    assert losses == pd.read_csv(tmp_path / "m" / HISTORY)["cross_entropy"].tolist()
    assert (json.loads(config["sigma"]), json.loads(config["method"])) == (0.25, "gaussian")


class Counting(Logger):
    """A logger of the user's own, which fails at a chosen call."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.calls, self.fails_at, self.status, self.params = 0, fails_at, "", dict[str, Any]()

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


def test_loggers_of_lightning_are_taken_as_they_are(tmp_path: Path) -> None:
    mine, theirs = Counting(), CSVLogger(tmp_path, name="theirs")
    train("digits", SETTINGS, out=tmp_path / "m", logger=[mine, theirs])
    assert (mine.calls, mine.status, mine.params["sigma"]) == (7, "success", 0.25)  # once, and twice an epoch
    assert len(pd.read_csv(Path(theirs.log_dir) / "metrics.csv")) == 6


def test_a_logger_that_fails_on_the_way_is_left_out(tmp_path: Path) -> None:
    failing = Counting(fails_at=3)
    with pytest.warns(Note, match=r"Counting failed \(RuntimeError: no more room\): the run goes on without it"):
        model = train("digits", SETTINGS, out=tmp_path / "m", logger=[failing, "csv"])
    assert models.weights_hash(model) == models.weights_hash(train("digits", SETTINGS, out=tmp_path / "other"))
    assert len(by_epoch(tmp_path / "m")) == 3


def test_a_logger_that_fails_at_once_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the logger Counting cannot be started .RuntimeError: no more room"):
        train("digits", SETTINGS, out=tmp_path / "m", logger=Counting(fails_at=0))


@pytest.mark.parametrize(
    ("logger", "message"),
    [
        ("tensorbord", "unknown logger 'tensorbord': did you mean 'tensorboard'"),
        (["csv", "csv"], "logger 'csv' is given twice"),
        (3, "logger is a int; expected one of tensorboard, csv, mlflow, wandb, or a Logger of Lightning"),
    ],
)
def test_what_is_no_logger_is_refused_before_anything_is_written(logger: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        train("digits", SETTINGS, out=tmp_path / "m", logger=logger)
    assert not (tmp_path / "m").exists()


def test_a_damaged_list_of_loggers_is_told(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        train("digits", SETTINGS, out=tmp_path / "m", logger="csv", callback=stop_after(1))
    (tmp_path / "m" / "loggers.json").write_text("[")
    with pytest.raises(InputError, match=r"loggers.json is damaged: remove it"):
        train("digits", SETTINGS, out=tmp_path / "m", resume=True)


def test_the_callback_is_told_each_row_of_the_history(tmp_path: Path) -> None:
    told: list[dict[str, float]] = []
    train("digits", SETTINGS, out=tmp_path / "m", callback=lambda metrics, model: told.append(metrics))
    pd.testing.assert_frame_equal(pd.DataFrame(told), pd.read_csv(tmp_path / "m" / HISTORY), rtol=1e-12)


def test_a_callback_can_certify_the_model_of_each_epoch_without_changing_the_run(tmp_path: Path) -> None:
    x, _ = load("digits", "test").batch(take(364, 4))
    hashes, modes, counts = [], [], []

    def certify(metrics: dict[str, float], model: models.Classifier) -> None:
        hashes.append(models.weights_hash(model))
        modes.append(model.training)
        counts.append(SmoothedClassifier(model, sigma=0.25, seed=0).certify(x, n=100).counts)

    watched = train("digits", SETTINGS, out=tmp_path / "watched", callback=certify)
    alone = train("digits", SETTINGS, out=tmp_path / "alone")
    assert modes == [False] * 3 and len(set(hashes)) == 3
    assert hashes[-1] == models.weights_hash(watched) == models.weights_hash(alone)
    assert (counts[-1] == SmoothedClassifier(alone, sigma=0.25, seed=0).certify(x, n=100).counts).all()
    assert (counts[0] != counts[-1]).any()


def test_what_a_callback_raises_ends_the_run_and_keeps_its_checkpoint(tmp_path: Path) -> None:
    whole = train("digits", SETTINGS, out=tmp_path / "whole")
    for epochs in (1, 2, 3):
        with pytest.raises(Stopped):
            train("digits", SETTINGS, out=tmp_path / "m", callback=stop_after(epochs), resume=True)
        assert (tmp_path / "m" / CHECKPOINT).exists()
        assert len(pd.read_csv(tmp_path / "m" / HISTORY)) == epochs
    resumed = train("digits", SETTINGS, out=tmp_path / "m", resume=True)
    assert models.weights_hash(resumed) == models.weights_hash(whole)


def test_a_callback_must_be_a_function(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="callback=3 must be a function of two"):
        train("digits", SETTINGS, out=tmp_path / "m", callback=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be a function of two"):
        train("digits", SETTINGS, out=tmp_path / "m", callback=[].append)  # type: ignore[arg-type]
    assert not (tmp_path / "m").exists()


def test_a_new_run_in_the_folder_is_tracked_anew(tmp_path: Path) -> None:
    train("digits", SETTINGS, out=tmp_path / "m", logger="csv")
    train("digits", SETTINGS.replace(seed=1), out=tmp_path / "m", overwrite=True)
    assert not (tmp_path / "m" / "metrics").exists() and not (tmp_path / "m" / "loggers.json").exists()
    shutil.rmtree(tmp_path / "m")
