"""Denoised smoothing from the command line: train both parts, certify, predict, attack; and what is said on the way."""

from pathlib import Path

import pytest

from cli.processes import Run
from randsmooth import models, read, train
from randsmooth.training import DenoiserSettings, train_denoiser

SMALL = ("--take", 64, "--epochs", 1, "--device", "cpu")
CERTIFY = ("--take", 4, "--n0", 20, "--n", 200)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a clean classifier `clean` and a denoiser `denoiser` for sigma 0.25."""
    folder = tmp_path_factory.mktemp("parts")
    train("digits", sigma=0.0, take=64, epochs=1, out=folder / "clean")
    small = DenoiserSettings(sigma=0.25, arch="dncnn-3x4", take=64, epochs=1)
    train_denoiser("digits", small, out=folder / "denoiser")
    return folder


@pytest.fixture(autouse=True)
def here(cli: Run, parts: Path) -> None:
    """Both parts in the folder where `cli` runs."""
    for name in ("clean", "denoiser"):
        Path(name).symlink_to(parts / name)


def test_a_classifier_behind_a_denoiser(cli: Run) -> None:
    certified = cli("certify", "clean", "--denoiser", "denoiser", *CERTIFY)
    assert (
        certified.code == 0
        and "certificates in clean+denoiser.parquet" in certified.out
    )
    notes = [line for line in certified.err.splitlines() if "note:" in line]
    assert (
        notes[0] == "note: after noise: denoised by dncnn-3x4"
        and "without noise" in notes[1]
    )
    header = read("clean+denoiser.parquet").header
    model = header.model or {}
    assert (header.sigma, model["arch"], model["denoiser"]["objective"]) == (
        0.25,
        "small-cnn behind dncnn-3x4",
        "mse",
    )
    attack = ("attack", "clean", "clean+denoiser.parquet", "--steps", 1, "--m", 2)
    cli.done(*attack, "--denoiser", "denoiser")
    assert "is about another model" in cli.refused(*attack)
    other = cli(
        "certify",
        "clean",
        "--denoiser",
        "denoiser",
        "--sigma",
        0.5,
        *CERTIFY,
        "--out",
        "b.parquet",
    )
    assert (
        other.code == 0 and "note: the denoiser is for sigma 0.25, not 0.5" in other.err
    )
    alone = cli("certify", "clean", "--sigma", 0.5, *CERTIFY)
    assert "note: the model was trained with sigma 0.0, not 0.5" in alone.err


def test_training_on_stability_and_resuming(cli: Run) -> None:
    how = (
        "--sigma",
        0.25,
        "--arch",
        "dncnn-3x4",
        *SMALL,
        "--objective",
        "stability",
        "--classifier",
        "clean",
    )
    words = ("train-denoiser", "digits", *how, "--start", "denoiser", "--out", "stable")
    first = cli(*words)
    assert first.code == 0 and "dncnn-3x4" in first.err and "stability " in first.err
    assert "randsmooth certify CLASSIFIER --denoiser stable" in first.err
    assert "resumed after epoch 1 of 1" in cli.done(*words, "--resume").err
    assert "--resume" in cli.refused(*words)
    cli.done("train-denoiser", "--config", "stable/run.yaml", "--out", "other")
    one, other = (
        models.weights_hash(models.load_denoiser(name)) for name in ("stable", "other")
    )
    assert one == other and cli("verify", "stable", "denoiser").code == 0
