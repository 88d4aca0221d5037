"""Training denoisers: they learn to denoise, resume bit for bit, and refuse what does not fit before the work."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from torch import nn

from randsmooth import certify, data, models
from randsmooth.errors import OutputExists, Problem
from randsmooth.models import Denoiser
from randsmooth.noise import Stream, draw
from randsmooth.training import (
    DenoiserSettings,
    TrainingDiverged,
    checkpoint,
    train,
    train_denoiser,
)
from randsmooth.training.folder import CHECKPOINT, HISTORY
from training.test_loop import Interrupted, stopping_after
from values import refused

TAKE = 160
SHORT = DenoiserSettings(sigma=0.25, arch="dncnn-3x4", epochs=4, take=TAKE, batch=64)


@pytest.mark.slow
def test_it_learns_to_remove_noise(tmp_path: Path) -> None:
    denoiser = train_denoiser(
        "digits", sigma=0.5, arch="dncnn-4x16", epochs=12, batch=64, out=tmp_path / "d"
    )
    x, _ = data.load("digits", "test").batch(torch.arange(100))
    noise = draw(tuple(x.shape), 0.5, stream=Stream(0, "an image unseen"))
    with torch.no_grad():
        assert (denoiser(x + noise) - x).square().mean() < 0.35 * noise.square().mean()
    history = pd.read_csv(tmp_path / "d" / HISTORY)
    assert len(history) == 12 and history.mse.iloc[-1] < history.mse.iloc[0]
    assert (
        denoiser.provenance["lr_milestones"] == [4, 8]
        and denoiser.provenance["method"] == "denoised-smoothing"
    )


def test_an_interrupted_run_ends_with_the_same_weights_and_another_starts_from_it(
    tmp_path: Path,
) -> None:
    whole = train_denoiser("digits", SHORT, out=tmp_path / "whole", device="cpu")
    for cut in (TAKE + 1, 2 * TAKE):
        with pytest.raises(Interrupted):
            train_denoiser(
                "digits",
                SHORT,
                out=tmp_path / f"{cut}",
                device="cpu",
                progress=stopping_after(cut),
            )
        again = train_denoiser(
            "digits", SHORT, out=tmp_path / f"{cut}", device="cpu", resume=True
        )
        assert (
            models.weights_hash(again) == models.weights_hash(whole)
            and again.provenance == whole.provenance
        )
    assert "denoised-smoothing after 4 epochs" in checkpoint.check(
        tmp_path / "whole" / CHECKPOINT
    )
    more = SHORT.replace(epochs=1, lr=1e-12, start=str(tmp_path / "whole"))
    after = train_denoiser("digits", more, out=tmp_path / "after", device="cpu")
    torch.testing.assert_close(
        [*after.network.parameters()], [*whole.network.parameters()]
    )
    for changed in ({"lr": 0.1}, {"arch": "dncnn-5x4"}):
        with refused(OutputExists) as caught:
            train_denoiser(
                "digits",
                SHORT.replace(**changed),
                out=tmp_path / "whole",
                device="cpu",
                resume=True,
            )
        assert next(iter(changed)) in str(caught.problem)
    with refused(OutputExists) as caught:
        train(
            "digits",
            sigma=0.25,
            epochs=1,
            take=TAKE,
            out=tmp_path / "whole",
            device="cpu",
            resume=True,
        )
    assert "'denoised-smoothing'" in str(caught.problem)
    assert "'gaussian'" in str(caught.problem)


def test_what_cannot_be_used_is_refused_and_nothing_written(tmp_path: Path) -> None:
    models.save(
        models.Classifier(arch="lenet", classes=["a", "b"], shape=(1, 28, 28)),
        tmp_path / "other",
    )
    models.save(Denoiser(channels=1, arch="dncnn-5x4"), tmp_path / "deeper")
    table: list[tuple[dict[str, Any], str]] = [
        ({"sigma": 0.0}, "sigma=0"),
        ({"objective": "stability"}, "classifier=None"),
        ({"classifier": "runs/clean"}, "objective='mse'"),
        ({"epochs": 0}, "epochs=0"),
        ({"arch": "resnet20"}, "dncnn-DEPTHxWIDTH"),
        ({"objective": "stability", "classifier": "nowhere"}, "classifier: "),
        (
            {"objective": "stability", "classifier": str(tmp_path / "other")},
            "[1, 28, 28]",
        ),
        ({"start": str(tmp_path / "deeper")}, "dncnn-5x4"),
    ]
    for changed, words in table:
        with pytest.raises(Problem) as refused:
            train_denoiser(
                "digits", **SHORT.model_dump() | changed, out=tmp_path / "new"
            )
        assert words in str(refused.value), changed
    with pytest.raises(TrainingDiverged):
        train_denoiser(
            "digits", SHORT.replace(lr=1e30), out=tmp_path / "lost", device="cpu"
        )
    assert not (tmp_path / "new").exists()


def test_images_need_not_be_square(tmp_path: Path) -> None:
    x, y = torch.rand(64, 1, 8, 12), torch.arange(64) % 2
    denoiser = train_denoiser(
        (x, y), SHORT.replace(epochs=1, take=None), out=tmp_path / "d", device="cpu"
    )
    base = nn.Sequential(nn.Flatten(), nn.Linear(96, 2)).eval()
    table = certify(
        models.Denoised(denoiser, base), (x, y), sigma=0.25, n0=10, n=100, take=4
    )
    assert len(table) == 4 and denoiser.provenance["sigma"] == 0.25
