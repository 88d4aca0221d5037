"""Training denoisers: they learn to denoise, resume bit for bit, and refuse what does not fit before the work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from randsmooth import data, models
from randsmooth.errors import InputError
from randsmooth.models import Denoiser
from randsmooth.noise import draw
from randsmooth.noise.stream import Stream
from randsmooth.training import DenoiserSettings, TrainingDiverged, checkpoint, train, train_denoiser
from randsmooth.training.folder import CHECKPOINT, HISTORY
from training.test_loop import Interrupted, stopping_after

TAKE = 160
SHORT = DenoiserSettings(sigma=0.25, arch="dncnn-3x4", epochs=4, take=TAKE, batch=64)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of digits that never saw noise."""
    folder = tmp_path_factory.mktemp("clean") / "model"
    train("digits", sigma=0.0, epochs=10, out=folder, device="cpu")
    return folder


def squared_error(denoiser: Denoiser, sigma: float) -> tuple[float, float]:
    """Of denoised and of noisy test images."""
    images = data.load("digits", "test")
    x, _ = images.batch(torch.arange(100))
    noise = draw(tuple(x.shape), sigma, stream=Stream(0, "an image unseen"))
    with torch.no_grad():
        return float((denoiser(x + noise) - x).square().mean()), float(noise.square().mean())


@pytest.mark.slow
def test_it_learns_to_remove_noise(tmp_path: Path) -> None:
    denoiser = train_denoiser("digits", sigma=0.5, arch="dncnn-4x16", epochs=12, batch=64, out=tmp_path / "d")
    after, before = squared_error(denoiser, 0.5)
    assert after < 0.35 * before
    history = pd.read_csv(tmp_path / "d" / HISTORY)
    assert len(history) == 12 and history.mse.iloc[-1] < history.mse.iloc[0]
    assert denoiser.provenance["lr_milestones"] == [4, 8] and denoiser.provenance["method"] == "denoised-smoothing"


@pytest.mark.slow
def test_stability_keeps_more_of_the_classifiers_answers(classifier: Path, tmp_path: Path) -> None:
    """From a denoiser on the squared error, as Salman et al. go on; the classifier is not touched."""
    before = models.weights_hash(models.load(classifier))
    common: dict[str, Any] = {"sigma": 0.5, "arch": "dncnn-3x8", "batch": 64, "device": "cpu"}
    train_denoiser("digits", **common, epochs=4, out=tmp_path / "mse")
    chosen: dict[str, Any] = {"objective": "stability", "classifier": str(classifier), "start": str(tmp_path / "mse")}
    denoiser = train_denoiser("digits", **common, **chosen, epochs=4, out=tmp_path / "stability")
    history = pd.read_csv(tmp_path / "stability" / HISTORY)
    assert history.agreement.iloc[-1] > history.agreement.iloc[0]
    assert models.weights_hash(models.load(classifier)) == before
    assert denoiser.provenance["asked"] == {
        "classifier": before,
        "start": models.weights_hash(models.load_denoiser(tmp_path / "mse")),
    }


@pytest.mark.parametrize("cut", [1, TAKE + 1, 2 * TAKE])
def test_an_interrupted_run_ends_with_the_same_weights(cut: int, tmp_path: Path) -> None:
    whole = train_denoiser("digits", SHORT, out=tmp_path / "whole", device="cpu")
    with pytest.raises(Interrupted):
        train_denoiser("digits", SHORT, out=tmp_path / "cut", device="cpu", progress=stopping_after(cut))
    again = train_denoiser("digits", SHORT, out=tmp_path / "cut", device="cpu", resume=True)
    assert models.weights_hash(again) == models.weights_hash(whole)
    assert again.provenance == whole.provenance
    assert "denoised-smoothing after 4 epochs" in checkpoint.check(tmp_path / "cut" / CHECKPOINT)


def test_another_objective_or_network_is_no_way_on(classifier: Path, tmp_path: Path) -> None:
    train_denoiser("digits", SHORT.replace(epochs=1), out=tmp_path, device="cpu")
    for changed, message in (
        ({"arch": "dncnn-3x5"}, "arch: 'dncnn-3x4' in the file, 'dncnn-3x5' asked for.*--arch dncnn-3x4"),
        ({"objective": "stability", "classifier": str(classifier)}, "objective: 'mse' in the file"),
    ):
        with pytest.raises(InputError, match=message):
            train_denoiser("digits", SHORT.replace(epochs=1, **changed), out=tmp_path, device="cpu", resume=True)
    with pytest.raises(InputError, match="method: 'denoised-smoothing' in the file, 'gaussian' asked for"):
        train("digits", sigma=0.25, epochs=1, take=TAKE, out=tmp_path, device="cpu", resume=True)


def test_it_starts_from_the_denoiser_given(tmp_path: Path) -> None:
    start = train_denoiser("digits", SHORT, out=tmp_path / "start", device="cpu")
    more = SHORT.replace(epochs=1, lr=1e-12, start=str(tmp_path / "start"))
    after = train_denoiser("digits", more, out=tmp_path / "after", device="cpu")
    for one, other in zip(after.network.parameters(), start.network.parameters(), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sigma": 0.0}, "sigma=0.0 must be a finite number > 0"),
        ({"objective": "stability"}, "name one .--classifier FOLDER"),
        ({"objective": "psnr"}, "unknown objective 'psnr': expected one of: mse, stability"),
        ({"classifier": "runs/clean"}, "objective='mse' asks no classifier"),
        ({"epochs": 0}, "epochs=0 must lie from 1"),
        ({"lr": float("inf")}, "lr=inf must be a finite number above 0"),
        ({"arch": "resnet20"}, "expected dncnn-DEPTHxWIDTH"),
        ({"start": "nowhere"}, "start: "),
        ({"objective": "stability", "classifier": "nowhere"}, "classifier: "),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_written(
    changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        train_denoiser("digits", **SHORT.model_dump() | changed, out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_classifier_of_other_images_and_another_network_to_start_from_are_refused(tmp_path: Path) -> None:
    models.save(models.Classifier(arch="lenet", classes=["a", "b"], shape=(1, 28, 28)), tmp_path / "other")
    models.save(Denoiser(channels=1, arch="dncnn-5x4"), tmp_path / "deeper")
    chosen = SHORT.replace(objective="stability", classifier=str(tmp_path / "other"))
    with pytest.raises(InputError, match=r"takes images of shape \(1, 28, 28\), and those of digits are \(1, 8, 8\)"):
        train_denoiser("digits", chosen, out=tmp_path / "new")
    with pytest.raises(InputError, match=r"is dncnn-5x4 for 1 channels, this run dncnn-3x4.*--arch dncnn-5x4"):
        train_denoiser("digits", SHORT.replace(start=str(tmp_path / "deeper")), out=tmp_path / "new")


def test_a_loss_that_is_lost_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(TrainingDiverged, match="not finite"):
        train_denoiser("digits", SHORT.replace(lr=1e30), out=tmp_path, device="cpu")


def test_training_without_noise_is_for_the_method_that_can(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sigma=0 trains without noise, and smoothadv needs some"):
        train("digits", sigma=0.0, method="smoothadv", epochs=1, out=tmp_path / "new")
