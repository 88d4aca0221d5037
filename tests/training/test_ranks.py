"""Several ranks compute what one does: parts of batches, sums, statistics and figures, with threads as ranks."""

from __future__ import annotations

import threading
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from randsmooth import data
from randsmooth.data import TensorImages
from randsmooth.data.images import Place, augmented
from randsmooth.methods import Loss
from randsmooth.noise import Stream
from randsmooth.progress import Silent
from randsmooth.training import TrainingSettings, resolve
from randsmooth.training.devices import ALONE, Part, Ranks, batch_norms, make_fabric, part_of, reduce_step, synchronised
from randsmooth.training.folder import SETTINGS
from randsmooth.training.loggers import LoggerGroup
from randsmooth.training.loop import Trainer
from randsmooth.training.networks import new_classifier
from randsmooth.training.predictions import make_probe
from training.threads_as_ranks import together

METHODS: dict[str, dict[str, Any]] = {
    "gaussian": {"m": 2},
    "stability": {"m": 2},
    "smoothadv": {"m": 2, "T": 2},
    "macer": {"k": 2, "lbd_from": 0},
    "consistency": {"m": 2, "eps": 0.5, "T": 2, "warmup": 1},
    "smoothmix": {"m": 2, "T": 2, "start": 1.0, "warmup": 1},
    "cat-rs": {"m": 2, "T": 2},
    "amplify": {"m": 2, "T": 2, "E_t": 1, "p_t": 0.1, "discard_noises": 8, "reweight_every": 1, "reweight_noises": 16},
}
ONE_AT_A_TIME = threading.Lock()  # initial weights come from torch's global generator, which threads share
TAKE, STEP = 13, 6  # three steps an epoch; the last one has a single image


def trained(
    folder: Path, ranks: Ranks, method: str = "gaussian", arch: str = "small-cnn", sync: bool = False
) -> Trainer:
    """A trainer after two epochs."""
    settings = TrainingSettings(
        sigma=0.25, method=method, arch=arch, epochs=2, take=TAKE, set={**METHODS[method], "batch": 2 * STEP, "lr": 0.1}
    )
    spec = data.describe("digits")
    recipe, _ = resolve("digits", settings, spec, device="cpu")
    images = data.load("digits", "train").subset(data.take(1000, TAKE))
    own = folder / str(ranks.rank)
    own.mkdir(parents=True)
    (own / SETTINGS).touch()
    with ONE_AT_A_TIME:
        model = new_classifier(recipe, spec)
    schedule = recipe.build_method().schedule()
    trainer = Trainer(recipe, images, model, schedule, own, make_fabric(recipe), Silent(), ranks=ranks)
    if sync:
        with synchronised(model, ranks):
            trainer.fit(LoggerGroup([]))
    else:
        trainer.fit(LoggerGroup([]))
    return trainer


def apart(one: nn.Module, other: nn.Module) -> float:
    """The largest difference between the weights of two networks."""
    theirs = other.state_dict()
    return max(float((ours.double() - theirs[name].double()).abs().max()) for name, ours in one.state_dict().items())


def figures(trainer: Trainer) -> dict[str, float]:
    return {f"{row['epoch']}/{k}": v for row in trainer.history for k, v in row.items() if k != "seconds"}


def test_the_parts_of_a_batch_are_the_batch() -> None:
    for number, total in product((1, 2, 3, 8), (1, 2, 5, 64)):
        parts = [part_of(rank, number, total) for rank in range(number)]
        counted = [i for part in parts if part.weight for i in range(part.first, part.last)]
        assert counted == list(range(total)), (number, total)
        assert sum(part.weight for part in parts) == pytest.approx(1.0)
        sizes = [part.last - part.first for part in parts if part.weight]
        assert max(sizes) - min(sizes) <= 1, (number, total)
        assert all(part.last - part.first >= 1 and part.last <= total for part in parts)  # also of those that stand in


def test_three_ranks_train_what_one_trains(tmp_path: Path) -> None:
    check_three("amplify", tmp_path)  # which also asks which images are easy


@pytest.mark.slow
def test_three_ranks_train_what_one_trains_by_every_method(tmp_path: Path) -> None:
    for method in METHODS:
        check_three(method, tmp_path / method)


def check_three(method: str, folder: Path) -> None:
    alone = trained(folder / "alone", ALONE, method)
    ranks = together(3, lambda rank: trained(folder / "several", rank, method))
    assert apart(alone.weights, ranks[0].weights) < 1e-5, method
    assert all(apart(ranks[0].weights, other.weights) == 0.0 for other in ranks[1:]), method
    for each in ranks:
        assert figures(each) == pytest.approx(figures(alone), abs=1e-5), method
    assert not (folder / "several" / "1" / "checkpoint.pt").exists()


def test_synchronised_batch_norm_is_that_of_one(tmp_path: Path) -> None:
    alone = trained(tmp_path / "alone", ALONE, "stability", "resnet8")
    ranks = together(2, lambda rank: trained(tmp_path / "sync", rank, "stability", "resnet8", sync=True))
    local = together(2, lambda rank: trained(tmp_path / "local", rank, "stability", "resnet8"))
    assert apart(alone.weights, ranks[0].weights) < 1e-5
    assert apart(alone.weights, local[0].weights) > 1e-4  # so that the line above says something
    assert apart(local[0].weights, local[1].weights) == 0.0  # statistics included
    assert all("forward" not in vars(module) for module in batch_norms(ranks[0].weights))


def test_a_normalised_part_is_a_part_of_the_normalised() -> None:
    for dtype, momentum in product((torch.float32, torch.bfloat16), (0.1, None)):
        check_normalised(dtype, momentum)


def check_normalised(dtype: torch.dtype, momentum: float | None) -> None:
    generator = torch.Generator().manual_seed(0)
    x = (3.0 + torch.randn(7, 5, 4, 4, generator=generator)).to(dtype)
    whole = nn.BatchNorm2d(5, momentum=momentum)
    expected = whole(x.float())
    (expected * x.float().cos()).sum().backward()

    def own(ranks: Ranks) -> tuple[Tensor, nn.BatchNorm2d]:
        part, module = ranks.part(len(x)), nn.BatchNorm2d(5, momentum=momentum)
        mine = x[part.rows]
        with synchronised(module, ranks):
            y = module(mine)
            (y.float() * mine.float().cos()).sum().backward()
        return y, module

    parts = together(3, own)
    within = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(torch.cat([y for y, _ in parts]).float(), expected, atol=within, rtol=within)
    gradient = sum(module.weight.grad for _, module in parts if module.weight.grad is not None)
    assert whole.weight.grad is not None
    torch.testing.assert_close(torch.as_tensor(gradient), whole.weight.grad, atol=within, rtol=within)
    for _, module in parts:
        torch.testing.assert_close(module.state_dict(), whole.state_dict(), atol=within, rtol=within)


def test_figures_are_means_of_what_they_are_about() -> None:
    """Of 3 and 1 attacked samples 1/3 and 1 were won, on 2 and 1 images with losses 1 and 4."""

    def own(ranks: Ranks) -> dict[str, float]:
        part, model = ranks.part(3), nn.Linear(1, 1)
        first = ranks.rank == 1  # its part is the larger one
        assert isinstance(part, Part)
        loss = torch.tensor(1.0 if first else 4.0)
        attacked = torch.tensor(3 if first else 1)
        told = Loss(loss, {"loss": loss}, {"won": torch.tensor(1 / 3 if first else 1.0)}, {"won": attacked})
        logged = reduce_step(ranks, model, told, part)
        return {name: float(value) for name, value in logged.items()}

    for logged in together(2, own):
        assert logged == pytest.approx({"loss": 2.0, "won": 2 / 4})


def test_nothing_attacked_is_no_success() -> None:
    def own(ranks: Ranks) -> float:
        zero = torch.tensor(0.0)
        told = Loss(zero, {"loss": zero}, {"won": zero}, {"won": torch.tensor(0)})
        return float(reduce_step(ranks, nn.Linear(1, 1), told, ranks.part(2))["won"])

    assert together(2, own) == [0.0, 0.0]


def test_ranks_probe_what_one_probes() -> None:
    spec = data.DATASETS["cifar10"]
    pixels = torch.randint(0, 256, (50, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    images = TensorImages(spec, "train", pixels, torch.arange(50) % 10)
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 10))

    def probed(ranks: Ranks) -> list[Tensor]:
        probe = make_probe(model, images, 0.5, Stream(0, "probe"), torch.device("cpu"), ranks)
        return [probe(torch.arange(49, -1, -1), 300, augmented=augment) for augment in (False, True)]

    expected = probed(ALONE)
    assert all(len(each.unique()) > 10 for each in expected)
    model.eval().requires_grad_(False)  # what `frozen` would set and give back at different times in two threads
    for found in together(3, probed):
        assert all(torch.equal(each, right) for each, right in zip(found, expected, strict=True))


def test_an_image_is_augmented_by_its_place_in_the_batch() -> None:
    x = torch.arange(7 * 3 * 8 * 8).view(7, 3, 8, 8)
    for kind in ("crop", "crop-flip"):
        whole = augmented(x, kind, torch.Generator().manual_seed(3))
        parts = [augmented(x[a:b], kind, torch.Generator().manual_seed(3), Place(a, 7)) for a, b in ((0, 2), (2, 7))]
        assert torch.equal(torch.cat(parts), whole), kind
