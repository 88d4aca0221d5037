"""`randsmooth import` and `randsmooth quantise`: checkpoints of other projects and int8 models, which certify."""

import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from certification.runs import StopAfter, same
from cli.processes import Run
from models.refusing import problem_of
from randsmooth import certify, data, models, read
from randsmooth.cli.verbs.import_checkpoint import Import, run
from randsmooth.errors import MissingValue
from randsmooth.models import build
from randsmooth.models.importing.normalisation import Normalisation, candidates
from randsmooth.models.importing.trial import ALPHA

SIGMA, SIDE, CLASSES = 0.1, 12, ("dark", "dim", "light", "bright")


def _images(per_class: int, seed: int) -> tuple[Tensor, Tensor]:
    """Images of four brightnesses, with a random texture: which is which depends on how pixels are normalised."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(4).repeat(per_class)
    level = 0.2 + 0.2 * y.view(-1, 1, 1, 1)
    return (
        level + 0.1 * torch.randn(len(y), 3, SIDE, SIDE, generator=generator)
    ).clamp(0, 1), y


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
        torch.tensor(values or (other,) * 3).view(1, 3, 1, 1)
        for values, other in ((layer.mean, 0.0), (layer.std, 1.0))
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


@pytest.mark.slow
@pytest.mark.parametrize("place", range(3), ids=["mean and std", "center", "none"])
def test_the_layer_that_a_network_was_trained_behind_is_found(
    cli: Run, folder: Path, tmp_path: Path, place: int
) -> None:
    layer = candidates(data.describe(str(folder)))[place]
    torch.save(
        {"net": _trained(layer, folder), "epoch": 440}, tmp_path / "checkpoint.pth.tar"
    )
    done = cli.done(
        "import",
        tmp_path / "checkpoint.pth.tar",
        "--dataset",
        folder,
        "--sigma",
        SIGMA,
        "--images",
        200,
    )
    assert f"normalisation {layer.name}: accuracy on labelled images" in done.out
    model = models.load("runs/checkpoint")
    found = model.provenance["normalisation"]
    assert (found["layer"], found["images"], found["split"]) == (
        layer.name,
        200,
        "train",
    )
    assert found["p_value"] <= ALPHA and found["accuracy"][layer.name] > 0.9
    assert (model.config["mean"], model.classes) == (
        layer.mean and list(layer.mean),
        sorted(CLASSES),
    )
    cli.done(
        "certify",
        "runs/checkpoint",
        "--dataset",
        folder,
        "--take",
        4,
        "--n",
        100,
        "--n0",
        20,
    )


def test_what_cannot_be_imported_is_refused(cli: Run, folder: Path) -> None:
    torch.manual_seed(3)
    state = build("resnet8", in_channels=3, image_size=SIDE, num_classes=4).state_dict()
    torch.save(
        {"net": state, "epoch": 1}, "1.pth"
    )  # random weights: no normalisation is clearly the best
    torch.save(
        build("resnet8", in_channels=3, image_size=32, num_classes=10).state_dict(),
        "a.pth",
    )
    for words, said in (
        (
            ("1.pth", "--dataset", folder, "--sigma", SIGMA, "--images", 100),
            "--normalise shades or center or none",
        ),
        (("a.pth",), "does not say which data set it is for"),
        (("a.pth", "--dataset", "digit"), "did you mean 'digits'"),
    ):
        assert said in cli.refused("import", *words), words
    assert not Path("runs").exists()


@pytest.mark.slow
def test_from_quantise_to_predict(model: Path, cli: Run) -> None:
    few = ("--take", 3, "--n", 100, "--overwrite", "--out")
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8) * 4).save("image.png")
    cli.done("certify", "m", *few, "own.parquet")
    pytest.importorskip("nncf")
    words, out = ("quantise", "m"), "m-int8.xml"
    made = cli.done(*words)
    assert (
        f"int8 model in {out}" in made.out and f"randsmooth certify {out}" in made.err
    ), made
    share = r"[+-]?\d+\.\d+%"
    accuracy = rf"accuracy {share}, the original's {share}; paired difference {share} \[{share}, "
    assert re.search(f"364 noisy test images: {accuracy}", made.out), made.out
    assert not [path for path in model.parent.iterdir() if path.name.startswith(".")]
    assert f"{out} exists; use --overwrite or another --out" in cli.refused(*words)
    cli.done(*words, "--overwrite")

    cli.done("certify", out, *few, "whole.parquet")
    with pytest.raises(KeyboardInterrupt):
        stops = lambda *_: nullcontext(StopAfter(1))  # noqa: E731
        certify(out, take=3, n=100, out="cut.parquet", overwrite=True, progress=stops)
    cli.done("certify", out, *few[:4], "--out", "cut.parquet", "--resume")
    assert same(read("cut.parquet"), read("whole.parquet"))
    assert "int8" in cli.done("verify", "whole.parquet", out).out
    cli.done("predict", out, "image.png", "--n", 100, "--like", "whole.parquet")
    assert "is about another model" in cli.refused(
        "predict", out, "image.png", "--n", 100, "--like", "own.parquet"
    )


@pytest.mark.parametrize("name", [".pt", ".pth.tar", "..ckpt"])
def test_a_checkpoint_whose_name_is_an_ending_needs_a_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(b"")
    problem = problem_of(run, Import(checkpoint=Path(name), dataset="digits"))
    assert isinstance(problem, MissingValue) and problem.field == "out"
    assert not Path("runs").exists()
