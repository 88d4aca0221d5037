"""A method that another program brings trains, and names other models like ours."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest
from torch import Tensor, nn
from torch.nn import functional as F

from models.refusing import problem_of
from randsmooth import methods, models
from randsmooth.attacks import noisy_logits
from randsmooth.errors import OutputExists
from randsmooth.methods import METHODS, Loss, LossInputs, Method
from randsmooth.training import TrainingSettings, train
from values import refused


@dataclass(frozen=True, kw_only=True)
class Foreign(Method):
    """Cross-entropy, weighted, with another model's folder among the hyperparameters."""

    source: ClassVar[str] = "nobody, nowhere"
    weight: float  # without a default
    m: int = 2
    other: str | None = field(default=None, metadata=methods.model_folder("of the run"))

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        loss = self.weight * F.cross_entropy(
            noisy_logits(model, x, noise).flatten(0, 1), y.repeat(self.m)
        )
        return Loss.of({}, cross_entropy=loss)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(METHODS._added, "foreign", Foreign)
    yield


def test_a_model_that_it_names_is_checked_and_remembered_by_its_weights(
    tmp_path: Path,
) -> None:
    settings = TrainingSettings(
        method="foreign", sigma=0.25, epochs=1, take=64, set={"weight": 1.0}
    )
    train("digits", settings, out=tmp_path / "a")
    naming = settings.replace(set={"weight": 1.0, "other": str(tmp_path / "a")})
    model = train("digits", naming, out=tmp_path / "b")
    assert model.provenance["asked"] == {
        "other": models.weights_hash(models.load(tmp_path / "a"))
    }
    (tmp_path / "a").rename(tmp_path / "moved")
    moved = settings.replace(set={"weight": 1.0, "other": str(tmp_path / "moved")})
    train("digits", moved, out=tmp_path / "b", resume=True)
    with refused(OutputExists) as caught:
        train("digits", settings.replace(seed=1), out=tmp_path / "c")
        other = settings.replace(set={"weight": 1.0, "other": str(tmp_path / "c")})
        train("digits", other, out=tmp_path / "b", resume=True)
    assert "other" in str(caught.problem)
    problem = problem_of(train, "digits", moved.replace(sigma=0.5), out=tmp_path / "d")
    assert "gaussian=0.25" in str(problem) and "gaussian=0.5" in str(problem)
