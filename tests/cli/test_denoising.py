"""Denoised smoothing from the command line: train both parts, certify, predict, attack; and what is said on the way."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from cli.run import Run
from randsmooth import models, read

SMALL = ("--take", 64, "--epochs", 1, "--device", "cpu")
CERTIFY = ("--take", 4, "--n0", 20, "--n", 200)


@pytest.fixture
def trained(cli: Run, tmp_path: Path) -> Path:
    """A folder with a clean classifier `clean` and a denoiser `denoiser` for sigma 0.25."""
    assert cli("train", "digits", "--sigma", 0, *SMALL, "--out", "clean").code == 0
    trained = cli("train-denoiser", "digits", "--sigma", 0.25, "--arch", "dncnn-3x4", *SMALL, "--out", "denoiser")
    assert trained.code == 0 and "randsmooth certify CLASSIFIER --denoiser denoiser" in trained.out
    return tmp_path


def test_a_classifier_behind_a_denoiser(cli: Run, trained: Path) -> None:
    certified = cli("certify", "clean", "--denoiser", "denoiser", *CERTIFY)
    assert certified.code == 0 and "certificates in clean+denoiser.parquet" in certified.out
    notes = [line for line in certified.out.splitlines() if "note:" in line]
    assert notes == ["note: after noise: denoised by dncnn-3x4"]
    header = read(trained / "clean+denoiser.parquet").header
    assert header.sigma == 0.25 and header.model is not None
    assert header.model["arch"] == "small-cnn behind dncnn-3x4"
    assert header.model["denoiser"]["objective"] == "mse"
    assert cli("attack", "clean", "clean+denoiser.parquet", "--denoiser", "denoiser", "--steps", 1, "--m", 2).code == 0
    wrong = cli("attack", "clean", "clean+denoiser.parquet", "--steps", 1)
    assert wrong.code == 2 and "is about another model" in wrong.err


def test_another_sigma_is_noted(cli: Run, trained: Path) -> None:
    said = cli("certify", "clean", "--denoiser", "denoiser", "--sigma", 0.5, *CERTIFY)
    assert said.code == 0 and "note: the denoiser is for sigma 0.25, not 0.5" in said.out
    alone = cli("certify", "clean", "--sigma", 0.5, *CERTIFY)
    assert "note: the model was trained with sigma 0.0, not 0.5" in alone.out


def test_stability_and_resuming(cli: Run, trained: Path) -> None:
    words: tuple[object, ...] = (
        "train-denoiser",
        "digits",
        "--sigma",
        0.25,
        "--arch",
        "dncnn-3x4",
        *SMALL,
        "--objective",
        "stability",
    )
    words += ("--classifier", "clean", "--start", "denoiser", "--out", "stable")
    first = cli(*words)
    assert first.code == 0 and "dncnn-3x4 on stability for clean, from denoiser" in first.out
    again = cli(*words, "--resume")
    assert again.code == 0 and "resumed after epoch 1 of 1" in again.out
    refused = cli(*words)
    assert refused.code == 2 and "--resume" in refused.err
    repeated = cli("train-denoiser", "--config", "stable/run.yaml", "--out", "other")
    assert repeated.code == 0
    folders = [models.load_denoiser(trained / name) for name in ("stable", "other")]
    assert models.weights_hash(folders[0]) == models.weights_hash(folders[1])
    assert cli("verify", "stable", "denoiser").code == 0


def test_a_diffusion_model_of_diffusers(cli: Run, trained: Path) -> None:
    diffusers = pytest.importorskip("diffusers")
    torch.manual_seed(0)
    kinds = {"down_block_types": ("DownBlock2D",) * 2, "up_block_types": ("UpBlock2D",) * 2}
    size = {"sample_size": 8, "block_out_channels": (4, 8), "layers_per_block": 1, "norm_num_groups": 2}
    unet = diffusers.UNet2DModel(in_channels=1, out_channels=1, **size, **kinds)
    diffusers.DDPMPipeline(unet, diffusers.DDPMScheduler()).save_pretrained(trained / "ddpm")
    said = cli("certify", "clean", "--denoiser", "ddpm", "--sigma", 0.25, *CERTIFY)
    assert said.code == 0
    header = read(trained / "clean+ddpm.parquet").header
    assert header.model is not None
    assert header.model["arch"] == "small-cnn behind one step of the diffusion model UNet2DModel"
    assert header.model["denoiser"]["timestep"] == 144
    unsaid = cli("certify", "clean", "--denoiser", "ddpm", *CERTIFY, "--out", "other.parquet")
    assert unsaid.code == 2 and "give sigma (--sigma)" in unsaid.err


def test_folders_that_were_mixed_up(cli: Run, trained: Path) -> None:
    swapped = cli("certify", "denoiser", "--denoiser", "clean", "--sigma", 0.25, *CERTIFY)
    assert swapped.code == 2 and "holds a denoiser, not a classifier" in swapped.err
    missing = cli("certify", "clean", "--denoiser", "nowhere", *CERTIFY)
    assert missing.code == 2 and "nowhere is not a folder" in missing.err
