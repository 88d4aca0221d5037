"""The callback of Lightning: its figures, and what it leaves as it was."""

import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import randsmooth as rs
from randsmooth import metrics

pytest.importorskip("lightning", reason="the package lightning is missing")
from lightning.pytorch import LightningModule, Trainer, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.strategies import (
    DDPStrategy,
    FSDPStrategy,
    ModelParallelStrategy,
)

DIGITS = rs.data.load("digits", "train")
X, Y = DIGITS.batch(torch.arange(96))
TRAIN = DataLoader(TensorDataset(X[:64], Y[:64]), batch_size=16)
VALIDATION = TensorDataset(X[64:], Y[64:])
SETTINGS: dict[str, Any] = {
    "sigma": 0.25,
    "n": 200,
    "n0": 20,
    "take": 12,
    "radii": [0.0, 0.25],
}


class Module(LightningModule):  # type: ignore[misc]
    """A network for digits with a layer that acts differently in train mode."""

    def __init__(self, dropout: float = 0.5) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.Dropout(dropout))
        self.modes: list[bool] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.net(x)
        return logits

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        self.modes.append(self.net[2].training)
        x, y = batch
        # Lightning does not restore the states of random numbers.
        generator = torch.Generator().manual_seed(self.global_step)
        noisy = x + 0.25 * torch.randn(x.shape, generator=generator)
        return nn.functional.cross_entropy(self(noisy), y)

    def validation_step(self, batch: Any, index: int) -> None:
        pass

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=1.0)


class Remembering(rs.CertifyCallback):
    """Keeps the table and the states of all random numbers, each time."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.tables: dict[int, rs.Certificates] = {}
        self.untouched: list[bool] = []

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        before = states()
        earlier = self.table
        super().on_validation_epoch_end(trainer, pl_module)
        self.untouched.append(before == states())
        if self.table is not None and self.table is not earlier:
            self.tables[trainer.current_epoch] = self.table


def states() -> list[Any]:
    """The states of the global generators of random numbers."""
    numpys = np.random.get_state()  # noqa: NPY002
    return [torch.get_rng_state().tolist(), random.getstate(), str(numpys)]


def same_table(a: rs.Certificates, b: rs.Certificates) -> None:
    """Assert that two tables are of one run, to the last count."""
    assert a.header == b.header
    assert np.array_equal(np.asarray(a.counts), np.asarray(b.counts))


def trained(
    callbacks: list[Any],
    folder: Path,
    *,
    epochs: int,
    dropout: float = 0.5,
    **options: Any,
) -> tuple[Any, Module]:
    """Train a module from a fixed start; return the trainer and the module."""
    seed_everything(1, verbose=False)
    trainer = Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        callbacks=callbacks,
        default_root_dir=folder,
        logger=CSVLogger(folder),
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=1,
    )
    module = Module(dropout)
    loader = DataLoader(VALIDATION, batch_size=8)
    trainer.fit(module, TRAIN, loader, **options)
    return trainer, module


def test_the_figures_of_every_second_epoch_are_those_of_certify(tmp_path: Path) -> None:
    callback = Remembering(every_n_epochs=2, **SETTINGS)
    saved = ModelCheckpoint(
        tmp_path / "saved",
        monitor="certified/accuracy_at_0.25",
        mode="max",
        every_n_epochs=2,
    )
    trainer, module = trained([callback, saved], tmp_path, epochs=4)

    assert [*callback.tables] == [1, 3]
    # The table of the last epoch: what `certify` counts for the trained module.
    settings = {**SETTINGS, "seed": 0}
    radii = settings.pop("radii")
    expected = rs.certify(module.eval(), VALIDATION, split="validation", **settings)
    same_table(callback.tables[3], expected)
    figures = metrics.scalars(expected, radii, intervals=False)
    logged = {name: float(value) for name, value in trainer.logged_metrics.items()}
    assert logged == pytest.approx(figures)
    assert saved.best_model_score is not None


def test_training_goes_on_as_without_it(tmp_path: Path) -> None:
    callback = Remembering(**SETTINGS)
    _, certified = trained([callback], tmp_path / "a", epochs=2)
    _, plain = trained([], tmp_path / "b", epochs=2)
    assert rs.models.weights_hash(certified.net) == rs.models.weights_hash(plain.net)
    assert all(callback.untouched)
    # In every training step the dropout was on.
    assert all(certified.modes)


def test_a_resumed_run_has_the_figures_of_a_whole_one(tmp_path: Path) -> None:
    whole = Remembering(**SETTINGS)
    saved = ModelCheckpoint(tmp_path / "saved", save_top_k=-1, filename="{epoch}")
    trained([whole, saved], tmp_path / "a", epochs=2, dropout=0.0)
    first = tmp_path / "saved" / "epoch=0.ckpt"
    resumed = Remembering(**SETTINGS)
    trained([resumed], tmp_path / "b", epochs=2, dropout=0.0, ckpt_path=first)
    assert [*resumed.tables] == [1]
    same_table(resumed.tables[1], whole.tables[1])
    # A checkpoint alone, without training, has the table of its epoch.
    alone = Remembering(**SETTINGS)
    trainer = Trainer(accelerator="cpu", logger=False, callbacks=[alone])
    loader = DataLoader(VALIDATION, batch_size=8)
    trainer.validate(Module(0.0), loader, ckpt_path=first, verbose=False)
    assert alone.table is not None
    same_table(alone.table, whole.tables[0])


def test_settings_that_cannot_work_fail_at_construction() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "sigma"),
        ({"sigma": -1.0}, "sigma"),
        ({"sigma": 0.5, "n": 5}, "n"),
        ({"sigma": 0.5, "rule": "fxed"}, "rule"),
        ({"sigma": 0.5, "radii": [2.0]}, "radii"),
        ({"sigma": 0.5, "radii": [-1.0]}, "radius"),
        ({"sigma": 0.5, "take": 0}, "take"),
        ({"sigma": 0.5, "every_n_epochs": 0.5}, "every_n_epochs"),
    ]
    for settings, field in cases:
        with pytest.raises(rs.Problem) as caught:
            rs.CertifyCallback(**settings)
        assert caught.value.field == field, settings


def test_a_strategy_that_cuts_the_module_up_is_refused() -> None:
    callback = rs.CertifyCallback(sigma=0.5)
    for strategy in (FSDPStrategy(), ModelParallelStrategy()):
        with pytest.raises(rs.Problem) as caught:
            callback.setup(SimpleNamespace(strategy=strategy), Module(), "fit")
        assert caught.value.field == "strategy"
    callback.setup(SimpleNamespace(strategy=DDPStrategy()), Module(), "fit")


def test_data_that_cannot_be_certified_fail_before_the_first_step(
    tmp_path: Path,
) -> None:
    normalised = (X[64:] - 0.5) / 0.1
    callback = rs.CertifyCallback(dataset=(normalised, Y[64:]), **SETTINGS)
    module = Module()
    trainer = Trainer(
        accelerator="cpu", callbacks=[callback], default_root_dir=tmp_path, logger=False
    )
    with pytest.raises(rs.Problem):
        trainer.fit(module, TRAIN, DataLoader(VALIDATION, batch_size=8))
    assert not module.modes


def test_the_network_may_be_a_part_of_the_module(tmp_path: Path) -> None:
    def network(module: Any) -> nn.Module:
        wrapped: nn.Module = rs.wrap(module.net, mean=0.5, std=0.5)
        return wrapped

    callback = rs.CertifyCallback(network=network, **SETTINGS)
    _, module = trained([callback], tmp_path, epochs=1)
    assert callback.table is not None
    settings = {**SETTINGS}
    del settings["radii"]
    expected = rs.certify(network(module.eval()), VALIDATION, **settings)
    assert np.array_equal(
        np.asarray(callback.table.counts), np.asarray(expected.counts)
    )


PROCESSES = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from lightning.pytorch import Trainer, seed_everything
from torch.utils.data import DataLoader
from certification.test_lightning_callback import Module, SETTINGS, TRAIN, VALIDATION
import randsmooth as rs
from randsmooth.certificates import write_parquet

devices, out = int(sys.argv[1]), Path(sys.argv[2])
seed_everything(1)
callback = rs.CertifyCallback(**SETTINGS)
trainer = Trainer(
    accelerator="cpu", devices=devices, strategy="ddp" if devices > 1 else "auto",
    callbacks=[callback], logger=False, enable_checkpointing=False,
)
trainer.validate(Module(), DataLoader(VALIDATION, batch_size=8))
write_parquet(callback.table, out.with_stem(f"{{out.stem}}-{{trainer.global_rank}}"))
"""


@pytest.mark.slow
def test_two_processes_make_the_table_of_one(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    tests = Path(__file__).parents[1]
    program.write_text(PROCESSES.format(path=[str(tests)]))
    for devices in (1, 2):
        out = tmp_path / f"{devices}.parquet"
        command = [sys.executable, str(program), str(devices), str(out)]
        subprocess.run(command, check=True, capture_output=True, timeout=900)
    alone, first, second = (
        rs.read(tmp_path / name)
        for name in ("1-0.parquet", "2-0.parquet", "2-1.parquet")
    )
    same_table(first, alone)
    same_table(second, alone)
