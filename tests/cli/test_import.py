"""`randsmooth import`: a checkpoint of another project becomes a model folder that certifies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from cli.run import Run
from randsmooth import certify, data, models
from randsmooth.models import build
from randsmooth.models.importing.normalisation import ALPHA, Normalisation, candidates

SIGMA, SIDE, CLASSES = 0.1, 12, ("dark", "dim", "light", "bright")


def _images(per_class: int, seed: int) -> tuple[Tensor, Tensor]:
    """Images of four brightnesses, with a random texture: which is which depends on how pixels are normalised."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(4).repeat(per_class)
    level = 0.2 + 0.2 * y.view(-1, 1, 1, 1)
    return (level + 0.1 * torch.randn(len(y), 3, SIDE, SIDE, generator=generator)).clamp(0, 1), y


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of class folders: 60 training images and 5 test images of each class."""
    root = tmp_path_factory.mktemp("data") / "shades"
    for split, per_class in (("train", 60), ("test", 5)):
        x, y = _images(per_class, seed=len(split))
        for i, (image, label) in enumerate(zip(x, y, strict=True)):
            place = root / split / CLASSES[int(label)]
            place.mkdir(parents=True, exist_ok=True)
            pixels = (image * 255).round().byte().permute(1, 2, 0).numpy()
            Image.fromarray(np.ascontiguousarray(pixels)).save(place / f"{i:03}.png")
    return root


def _trained(layer: Normalisation, folder: Path) -> dict[str, Tensor]:
    """The weights of a resnet8 that was trained behind `layer` in plain torch."""
    labels = sorted(CLASSES)  # as folders are numbered
    x, y = _images(100, seed=1)
    y = torch.tensor([labels.index(CLASSES[int(label)]) for label in y])
    mean, std = (
        torch.tensor(values or (other,) * 3).view(1, 3, 1, 1) for values, other in ((layer.mean, 0.0), (layer.std, 1.0))
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build("resnet8", in_channels=3, image_size=SIDE, num_classes=4)
        optimizer = torch.optim.Adam(network.parameters(), 3e-3)
        for _ in range(60):
            pick = torch.randint(len(x), (64,))
            noisy = x[pick] + SIGMA * torch.randn(64, 3, SIDE, SIDE)
            loss = F.cross_entropy(network((noisy - mean) / std), y[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return dict(network.state_dict())


def _contained(state: dict[str, Tensor], layer: str) -> dict[str, object]:
    """The state dict in a container of the field, another for each layer."""
    if layer == "none":
        return {"net": state, "epoch": 440}
    prefix = "1." if layer == "center" else "1.module."
    return {
        "epoch": 9,
        "arch": "cifar_resnet8",
        "state_dict": {f"{prefix}{name}": each for name, each in state.items()},
    }


@pytest.mark.slow
@pytest.mark.parametrize("place", range(3), ids=["mean and std", "center", "none"])
def test_the_layer_that_a_network_was_trained_behind_is_found(
    cli: Run, folder: Path, tmp_path: Path, place: int
) -> None:
    layer = candidates(data.describe(str(folder)))[place]
    torch.save(_contained(_trained(layer, folder), layer.name), tmp_path / "checkpoint.pth.tar")
    done = cli("import", tmp_path / "checkpoint.pth.tar", "--dataset", folder, "--sigma", SIGMA, "--images", 200)
    assert done.code == 0, done.err
    assert f"normalisation {layer.name}, by accuracy: right about 200 images with noise of sigma 0.1" in done.out
    assert "images to" in done.out and "against the next, p = " in done.out
    model = models.load(Path("runs") / "checkpoint")
    found = model.provenance["normalisation"]
    assert (found["layer"], found["images"], found["split"], found["p_value"] <= ALPHA) == (
        layer.name,
        200,
        "train",
        True,
    )
    assert found["accuracy"][layer.name] > 0.9
    assert (model.config["mean"], model.classes) == (layer.mean and list(layer.mean), sorted(CLASSES))
    certified = cli("certify", "runs/checkpoint", "--dataset", folder, "--take", 4, "--n", 100, "--n0", 20)
    assert certified.code == 0, certified.err


def test_random_weights_are_refused_as_unclear(cli: Run, folder: Path, tmp_path: Path) -> None:
    torch.manual_seed(3)
    state = build("resnet8", in_channels=3, image_size=SIDE, num_classes=4).state_dict()
    torch.save({"net": state, "epoch": 1}, tmp_path / "1.pth")
    done = cli("import", tmp_path / "1.pth", "--dataset", folder, "--sigma", SIGMA, "--images", 100)
    assert done.code == 2
    assert "does not store which normalisation" in done.err and "--normalise shades or center or none" in done.err
    assert not Path("runs/1").exists()


def test_the_command_needs_a_data_set_and_a_file(cli: Run, tmp_path: Path) -> None:
    torch.save(build("resnet8", in_channels=3, image_size=32, num_classes=10).state_dict(), tmp_path / "a.pth")
    assert "does not say which data set it is for" in cli("import", tmp_path / "a.pth").err
    assert "no checkpoint at none.pth" in cli("import", "none.pth", "--dataset", "digits").err
    assert "did you mean 'digits'" in cli("import", tmp_path / "a.pth", "--dataset", "digit").err


def test_a_denoiser_certifies_with_a_classifier(cli: Run, folder: Path, tmp_path: Path) -> None:
    weights = models.Denoiser(channels=3, arch="dncnn-5x8").network.state_dict()
    torch.save({"arch": "cifar_dncnn", "state_dict": weights}, tmp_path / "best.pth.tar")
    torch.save(build("resnet8", in_channels=3, image_size=SIDE, num_classes=4).state_dict(), tmp_path / "net.pth")
    done = cli("import", tmp_path / "best.pth.tar", "--sigma", SIGMA)
    assert done.code == 0 and "denoiser dncnn-5x8 in runs/best" in done.out, done.err
    assert cli("import", tmp_path / "net.pth", "--dataset", folder, "--normalise", "none").code == 0
    base = models.Denoised("runs/best", "runs/net")
    table = certify(base, str(folder), sigma=SIGMA, take=2, n=100, n0=20, out=tmp_path / "both.parquet")
    assert len(table) == 2
