"""A method that another program brings trains, scales with the schedule and names other models like ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth import data, methods, models
from randsmooth.attacks import noisy_logits
from randsmooth.errors import InputError
from randsmooth.methods import METHODS, Loss, LossInputs, Method
from randsmooth.training import TrainingSettings, resolve, train


@dataclass(frozen=True, kw_only=True)
class Foreign(Method):
    """Cross-entropy, weighted; the hyperparameters are of every kind that a field can tell."""

    source: ClassVar[str] = "nobody, nowhere"
    weight: float  # without a default
    m: int = 2
    warm_from: int = field(default=20, metadata=methods.begins(warm="the warm part"))
    every: int = field(default=10, metadata=methods.EPOCHS)
    warm: bool = True
    shape: Literal["round", "off"] = "round"
    other: str | None = field(default=None, metadata=methods.model_folder("of the run"))

    def loss(self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, inputs: LossInputs = LossInputs()) -> Loss:
        loss = self.weight * F.cross_entropy(noisy_logits(model, x, noise).flatten(0, 1), y.repeat(self.m))
        return Loss.of({}, cross_entropy=loss)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(METHODS._added, "foreign", Foreign)
    yield


def hyperparameters(epochs: int | None = None, **values: Any) -> dict[str, Any]:
    settings = TrainingSettings(method="foreign", sigma=0.5, epochs=epochs, set={"weight": 1} | values)
    return resolve("digits", settings, data.describe("digits"))[0].hyperparameters


def test_its_epochs_scale_with_the_schedule() -> None:
    usual = 40  # epochs on digits
    for epochs, begins, every in [(usual, 20, 10), (usual // 2, 10, 5), (4, 2, 1), (1, 0, 1), (2 * usual, 40, 20)]:
        found = hyperparameters(epochs)
        assert (found["warm_from"], found["every"]) == (begins, every)
    with pytest.raises(InputError, match=r"warm_from=20 lies beyond the last of 20 epochs.*the warm part would never"):
        hyperparameters(20, warm_from=20)
    assert hyperparameters(20, warm_from=20, warm=False)["warm_from"] == 20
    assert hyperparameters(shape=False)["shape"] == "off"  # as YAML reads the word
    for values, words in (
        ({"shape": "square"}, "round, off"),
        ({"other": 3}, "other=3"),
        ({"weigth": 1.0}, "'weight'"),
    ):
        with pytest.raises(InputError, match=words):
            hyperparameters(**values)


def test_a_model_that_it_names_is_checked_and_remembered_by_its_weights(tmp_path: Path) -> None:
    settings = TrainingSettings(method="foreign", sigma=0.25, epochs=1, take=64, set={"weight": 1.0})
    train("digits", settings, out=tmp_path / "a")
    naming = settings.replace(set={"weight": 1.0, "other": str(tmp_path / "a")})
    model = train("digits", naming, out=tmp_path / "b")
    assert model.provenance["asked"] == {"other": models.weights_hash(models.load(tmp_path / "a"))}
    (tmp_path / "a").rename(tmp_path / "moved")
    moved = settings.replace(set={"weight": 1.0, "other": str(tmp_path / "moved")})
    train("digits", moved, out=tmp_path / "b", resume=True)
    with pytest.raises(InputError, match="weights of other"):
        train("digits", settings.replace(seed=1), out=tmp_path / "c")
        other = settings.replace(set={"weight": 1.0, "other": str(tmp_path / "c")})
        train("digits", other, out=tmp_path / "b", resume=True)
    with pytest.raises(InputError, match=r"was trained at sigma=0.25, this run is at sigma=0.5"):
        train("digits", moved.replace(sigma=0.5), out=tmp_path / "d")
