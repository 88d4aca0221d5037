"""What a run tells while it trains: terms, shares, weights, in history.csv and TensorBoard."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from randsmooth.training import TrainingDiverged, TrainingSettings, train
from randsmooth.training.folder import EVENTS, HISTORY
from randsmooth.training.loggers import LoggerGroup
from randsmooth.training.loop import StepLog

DIGITS = TrainingSettings(sigma=0.25, epochs=3, take=160)
TOLD = {
    "gaussian": ({}, {"cross_entropy"}),
    "stability": ({}, {"cross_entropy", "stability"}),
    "smoothadv": ({"T": 2}, {"cross_entropy", "attack_success"}),
    "macer": ({"k": 4}, {"classification", "robustness"}),
    "consistency": ({}, {"cross_entropy", "consistency", "entropy"}),
    "smoothmix": ({"T": 2}, {"cross_entropy", "mixed", "mixed_share"}),
    "cat-rs": ({"T": 2}, {"low", "high", "sure_share", "attack_success"}),
    "amplify": (
        {"E_t": 1, "p_t": 0.1, "T": 2, "discard_noises": 8, "reweight_every": 1},
        {"cross_entropy", "attack_success", "discarded_share", "mean_weight", "weight_1.000_share"},
    ),
}


@pytest.mark.parametrize("method", TOLD)
def test_history_and_tensorboard_tell_the_same(method: str, tmp_path: Path) -> None:
    settings, names = TOLD[method]
    train("digits", DIGITS.model_copy(update={"method": method, "set": settings}), out=tmp_path / "m")
    history = pd.read_csv(tmp_path / "m" / HISTORY)
    names = names | {"easy_share", "hard_share"}
    assert names <= set(history.columns)
    shares = history[[name for name in history if name.endswith(("_share", "_success"))]]
    assert ((shares.fillna(0) >= 0) & (shares.fillna(0) <= 1)).all(axis=None)
    assert (history["easy_share"] + history["hard_share"] <= 1 + 1e-9).all()
    events = EventAccumulator(str(tmp_path / "m" / EVENTS))
    events.Reload()
    for name in names:
        curve = [event.value for event in events.Scalars(f"epoch/{name}")]
        assert curve == pytest.approx(history[name].dropna().tolist(), rel=1e-5)
    assert {f"step/{name}" for name in names if name in ("cross_entropy", "low")} <= set(events.Tags()["scalars"])


def test_the_weights_are_a_histogram_whose_shares_add_up(tmp_path: Path) -> None:
    train("digits", DIGITS.model_copy(update={"method": "amplify", "set": TOLD["amplify"][0]}), out=tmp_path / "m")
    events = EventAccumulator(str(tmp_path / "m" / EVENTS), size_guidance={"histograms": 0})
    events.Reload()
    assert [event.step for event in events.Histograms("weight")] == [3, 6]  # steps, of 3 an epoch
    history = pd.read_csv(tmp_path / "m" / HISTORY)
    shares = history[[name for name in history if name.startswith("weight_")]].iloc[1:]
    assert shares.sum(axis=1).tolist() == pytest.approx([1.0, 1.0])


class Curves(LoggerGroup):
    def __init__(self) -> None:
        super().__init__([])
        self.scalars: dict[str, list[tuple[float, int]]] = {}

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        for name, value in metrics.items():
            self.scalars.setdefault(name, []).append((value, step))


def test_the_log_tells_means_over_images() -> None:
    curves = Curves()
    log = StepLog(epoch=2, epochs=5, steps=7, loggers=curves)
    for value, images in ((1.0, 4), (2.0, 4), (7.0, 2)):
        log.add({"loss": torch.tensor(value), "share": torch.tensor(0.5)}, images)
    assert log.flush() == "epoch 3/5  loss 2.6000  share 0.5000"
    log.add({"loss": torch.tensor(3.0), "share": torch.tensor(0.0)}, 10)
    assert log.flush() == "epoch 3/5  loss 3.0000  share 0.0000"
    assert log.means() == pytest.approx({"loss": 2.8, "share": 0.25})
    assert curves.scalars["step/loss"] == [(pytest.approx(2.6), 16), (3.0, 17)]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_the_first_lost_step_is_named_with_its_terms(bad: float) -> None:
    log = StepLog(epoch=1, epochs=5, steps=50, loggers=Curves())
    for step in range(20):
        log.add({"low": torch.tensor(0.5), "high": torch.tensor(bad if step >= 13 else 1.0)}, 64)
        if step == 9:
            log.flush()
    with pytest.raises(TrainingDiverged, match=r"epoch 1 \(from 0\), step 13: low 0.5, high (nan|inf)"):
        log.flush()
