"""Checkpoints of the field's networks and containers: the right architecture, and the authors' logits to 1e-5."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from models.plain_networks import PLAIN, State, dncnn, wide_resnet
from models.refusing import check_refusals, problem_of
from randsmooth import models
from randsmooth.errors import (
    BadValue,
    MissingValue,
    OutputExists,
    UnknownName,
    WrongFile,
)
from randsmooth.models import import_checkpoint
from randsmooth.models.importing.foreign_weights import LENET, arch_of
from values import Refusal

CIFAR: dict[str, Any] = {"dataset": "cifar10", "normalise": "none"}
DATASETS = {10: "cifar10", 100: "cifar100", 1000: "imagenet32"}
SLOW = {
    "cifar_resnet110",
    "cifar100_resnet110",
    "imagenet32_resnet110",
    "cifar_wrn",
}  # several seconds each


@pytest.fixture
def published() -> Path:
    """The folder of checkpoints as the authors' code saves them; the test is skipped without."""
    data = os.environ.get("RANDSMOOTH_DATA")
    folder = Path(data or ".").resolve().parent / "checkpoints"
    if not data or not folder.is_dir():
        pytest.skip(
            "no checkpoints: RANDSMOOTH_DATA must name the data folder beside checkpoints"
        )
    return folder


def state_of(arch: str, classes: int = 10, seed: int = 0) -> State:
    """Random weights in the authors' names, with batch-norm statistics that are not the initial ones."""
    channels, side = (1, 28) if arch == "lenet" else (3, 32)
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = models.build(
            arch, in_channels=channels, image_size=side, num_classes=classes
        )
    state = dict(network.state_dict())
    for name, tensor in state.items():
        if name.endswith(("running_mean", "running_var")):
            tensor.add_(0.1 * torch.rand(tensor.shape, generator=generator))
    if arch != "lenet":
        return state
    authors = {place: layer for layer, place in LENET.items()}
    return {
        name.replace(name.split(".")[0], authors[name.split(".")[0]], 1): state[name]
        for name in state
    }


def test_published_containers_give_the_authors_logits(
    published: Path, tmp_path: Path
) -> None:
    table = [
        ("cifar_resnet20.pth.tar", "cifar10", "cifar10", "resnet20"),
        ("data_parallel.pth.tar", "cifar10", "cifar10", "resnet20"),
        ("lenet.pth.tar", "mnist", "none", "lenet"),
        ("macer.pth", "cifar10", "none", "resnet20"),
    ]
    for name, dataset, normalise, arch in table:
        import_checkpoint(
            published / name,
            dataset,
            normalise=normalise,
            sigma=0.5,
            out=tmp_path / name,
        )
        model = models.load(tmp_path / name)
        authors = np.load(published / f"{name.split('.')[0]}.npz")
        with torch.inference_mode():
            logits = model(torch.from_numpy(authors["x"]))
        assert (
            float((logits - torch.from_numpy(authors["logits"])).abs().max()) <= 1e-5
        ), name
        assert (model.arch, model.provenance["dataset"], model.provenance["sigma"]) == (
            arch,
            dataset,
            0.5,
        )
        assert model.provenance["normalisation"] == {
            "layer": normalise,
            "why": "asked for",
        }
        origin = model.provenance["imported"]
        assert origin["file"] == name and len(origin["sha256"]) == 64


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_network_of_the_field_gives_the_logits_of_its_definition(
    tmp_path: Path, slow: bool
) -> None:
    for stated, arch, classes, plain in (
        row for row in PLAIN if (row[0] in SLOW) == slow
    ):
        state = state_of(arch, classes)
        path = tmp_path / "checkpoint.pth.tar"
        torch.save(
            {
                "epoch": 90,
                "arch": stated,
                "state_dict": {f"1.{k}": v for k, v in state.items()},
            },
            path,
        )
        model = import_checkpoint(
            path, "mnist" if arch == "lenet" else DATASETS[classes], normalise="none"
        )
        assert isinstance(model, models.Classifier)
        assert (model.arch, model.num_classes, arch_of(state)) == (arch, classes, arch)
        x = torch.rand(2, *model.shape, generator=torch.Generator().manual_seed(1))
        with torch.inference_mode():
            torch.testing.assert_close(model(x), plain(state, x), atol=1e-5, rtol=1e-5)


WRAPPED: dict[str, Callable[[State], dict[str, object]]] = {
    "locuslab": lambda state: {
        "epoch": 3,
        "arch": "cifar_resnet8",
        "state_dict": {f"1.{name}": tensor for name, tensor in state.items()},
        "optimizer": {"state": {}, "param_groups": [{"lr": 0.1}]},
    },
    "DataParallel inside": lambda state: {
        "state_dict": {f"1.module.{name}": each for name, each in state.items()}
    },
    "DataParallel outside": lambda state: {
        "state_dict": {f"module.1.{name}": each for name, each in state.items()}
    },
    "compiled": lambda state: {
        "model": {f"_orig_mod.{name}": tensor for name, tensor in state.items()}
    },
    "MACER": lambda state: {"net": state, "epoch": 440},
    "bare": lambda state: dict(state),
    "old batch norm": lambda state: {
        name: each for name, each in state.items() if "num_batches" not in name
    },
    "float16": lambda state: {
        name: each.half() if each.is_floating_point() else each
        for name, each in state.items()
    },
}


def test_containers(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """As scripts save them, as safetensors, and as old versions of torch and pickle do."""
    exact = {
        name: each.half().to(each.dtype) for name, each in state_of("resnet8").items()
    }
    for place, wrapped in enumerate(WRAPPED.values()):
        torch.save(wrapped(exact), tmp_path / f"{place}.pth")
    save_file(exact, tmp_path / "a.safetensors")
    held = {"net": exact, "epoch": 440, "scheduler": {"last_epoch": 440}}
    torch.save(held, tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    torch.save(held, tmp_path / "protocol.pth", pickle_protocol=3)
    for path in sorted(tmp_path.iterdir()):
        model = import_checkpoint(path, **CIFAR)
        found = model.network.state_dict()
        equal = all(
            torch.equal(found[name], exact[name])
            for name in exact
            if "num_batches" not in name
        )
        assert model.arch == "resnet8" and equal, path
    assert not recwarn.list
    origin = model.provenance["imported"]  # what the last file says of itself
    assert (origin["epoch"], origin["arch"]) == (440, None)
    assert origin["container"] == "state dict under 'net' beside net, epoch, scheduler"


def test_a_stored_normalisation_is_used(tmp_path: Path) -> None:
    """rs4a keeps mean and the logarithm of the deviation, inside nn.DataParallel."""
    mean, std = (
        torch.tensor([0.4914, 0.4822, 0.4465]),
        torch.tensor([0.2023, 0.1994, 0.2010]),
    )
    layer = {
        "norm.module.mu": mean.view(3, 1, 1),
        "norm.module.log_sig": std.log().view(3, 1, 1),
    }
    state = state_of("wrn40-2")
    torch.save(
        layer | {f"model.module.{name}": tensor for name, tensor in state.items()},
        tmp_path / "model_ckpt.torch",
    )
    model = import_checkpoint(tmp_path / "model_ckpt.torch", "cifar10", sigma=0.5)
    assert (
        model.arch == "wrn40-2"
        and model.provenance["normalisation"]["why"] == "stored in the file"
    )
    x = torch.rand(2, 3, 32, 32)
    expected = wide_resnet(state, (x - mean.view(3, 1, 1)) / std.view(3, 1, 1), 6)
    with torch.inference_mode():
        torch.testing.assert_close(model(x), expected, atol=1e-5, rtol=1e-5)


def test_layers_can_be_asked_for(tmp_path: Path) -> None:
    torch.save(state_of("resnet8"), tmp_path / "a.pth")
    cifar, imagenet = [0.4914, 0.4822, 0.4465], [0.485, 0.456, 0.406]
    table: dict[str, tuple[Any, Any]] = {
        "none": (None, None),
        "center": (cifar, [1.0] * 3),
        "imagenet": (imagenet, [0.229, 0.224, 0.225]),
        "center-imagenet": (imagenet, [1.0] * 3),
        "0.5,0.5,0.5/0.2,0.2,0.2": ([0.5] * 3, [0.2] * 3),
    }
    made = {
        text: import_checkpoint(tmp_path / "a.pth", "cifar10", normalise=text)
        for text in table
    }
    assert {
        text: (model.config["mean"], model.config["std"])
        for text, model in made.items()
    } == table


class Code:
    """What a pickle can ask for: here, that a folder be made."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("was-run",)


def saved(content: object) -> Callable[[Path], object]:
    return lambda path: torch.save(content, path)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_bad_file_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kernels = torch.full((16, 3, 3, 3), torch.nan)
    table: list[tuple[Callable[[Path], object], tuple[str, ...]]] = [
        (saved(torch.nn.Linear(2, 2)), ()),
        (saved({"state_dict": {}, "best": Code()}), ()),
        (lambda path: path.write_text("not found"), ()),
        (saved({"epoch": 3, "lr": 0.1}), ("'epoch', 'lr'",)),
        (saved({"net": {"conv1.weight": kernels}}), ("conv1.weight",)),
        (
            saved({"net": {"conv1.weight": kernels.nan_to_num(1).double() * 1e39}}),
            ("conv1.weight", "float32"),
        ),
    ]
    for write, named in table:
        write(tmp_path / "bad.pth")
        problem = problem_of(import_checkpoint, tmp_path / "bad.pth", **CIFAR)
        Refusal(WrongFile, *named, "bad.pth", "state_dict").check(problem)
        if named:  # it was read, and asks for no code
            assert "pickle" not in str(problem)
    assert not Path("was-run").exists()
    torch.jit.script(torch.nn.Linear(2, 2)).save("script.pth")
    problem = problem_of(import_checkpoint, "script.pth", **CIFAR)
    Refusal(WrongFile, "script.pth", "randsmooth certify").check(problem)


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    table: list[tuple[dict[str, Any], dict[str, object], Refusal]] = [
        (
            {},
            {"dataset": "cifar100"},
            Refusal(WrongFile, "fc.bias", "(100,)", "(10,)", "(dataset)"),
        ),
        (
            {},
            {"dataset": "mnist"},
            Refusal(
                WrongFile, "conv1.weight", "(16, 1, 3, 3)", "(16, 3, 3, 3)", "(dataset)"
            ),
        ),
        ({}, {"arch": "resnet20"}, Refusal(WrongFile, "20", "(arch)")),
        (
            {},
            {"arch": "VGG16"},
            Refusal(UnknownName, "'VGG16'", "resnet20", field="architecture"),
        ),
        (
            {"head.weight": torch.ones(5, 7)},
            {"arch": "resnet8"},
            Refusal(WrongFile, "1 tensors", "head.weight"),
        ),
        (
            {},
            {"normalise": "cifar11"},
            Refusal(BadValue, "'cifar11'", "none, center", field="normalise"),
        ),
        (
            {},
            {"normalise": "mnist"},
            Refusal(BadValue, "'mnist'", "3 channels", field="normalise"),
        ),
        ({}, {"sigma": -1.0}, Refusal(BadValue, "sigma=-1.0", field="sigma")),
        ({}, {"images": 0}, Refusal(BadValue, "images=0", field="images")),
        ({}, {"dataset": None}, Refusal(MissingValue, field="dataset")),
    ]
    for more, options, said in table:
        torch.save({"state_dict": state_of("resnet8") | more}, tmp_path / "a.pth")
        check_refusals(
            [(partial(import_checkpoint, tmp_path / "a.pth", **CIFAR | options), said)]
        )
    torch.save(
        {"arch": "VGG16", "net": {"features.0.weight": torch.ones(3, 3, 3, 3)}},
        tmp_path / "a.pth",
    )
    problem = problem_of(import_checkpoint, tmp_path / "a.pth", **CIFAR)
    Refusal(WrongFile, "'VGG16'", "features.0.weight", "rs.certify").check(problem)


def test_a_folder_with_something_in_it_is_kept(tmp_path: Path) -> None:
    torch.save(state_of("resnet8"), tmp_path / "a.pth")
    for _ in range(2):
        import_checkpoint(
            tmp_path / "a.pth", **CIFAR, out=tmp_path / "model", overwrite=True
        )
    again: dict[str, Any] = CIFAR | {"out": tmp_path / "model"}
    check_refusals(
        [
            (
                lambda: import_checkpoint(tmp_path / "a.pth", **again),
                Refusal(OutputExists, "README.md", "overwrite=True"),
            )
        ]
    )
    (tmp_path / "model" / "thesis.txt").write_text("mine")
    problem = problem_of(import_checkpoint, tmp_path / "a.pth", **again, overwrite=True)
    Refusal(OutputExists, "thesis.txt").check(problem)


def test_a_denoiser_of_denoised_smoothing_is_one_for_denoised(tmp_path: Path) -> None:
    """CIFAR-10's names, and ImageNet's, in nn.DataParallel."""
    generator = torch.Generator().manual_seed(0)
    state = models.Denoiser(channels=3, arch="dncnn-5x8").network.state_dict()
    state = {name: each for name, each in state.items() if each.is_floating_point()}
    state = {
        name: 0.1 + 0.2 * torch.rand(each.shape, generator=generator)
        for name, each in state.items()
    }
    for prefix, arch in (("", "cifar_dncnn"), ("module.", "imagenet_dncnn")):
        held = {
            "epoch": 9,
            "arch": arch,
            "state_dict": {f"{prefix}{name}": each for name, each in state.items()},
        }
        torch.save(held, tmp_path / "best.pth.tar")
        out = tmp_path / f"denoiser{prefix}"
        denoiser = import_checkpoint(
            tmp_path / "best.pth.tar", "cifar10", out=out, sigma=0.25
        )
        assert isinstance(denoiser, models.Denoiser) and (
            denoiser.arch,
            denoiser.sigma,
        ) == ("dncnn-5x8", 0.25)
        noisy = torch.rand(2, 3, 32, 32, generator=generator)
        with torch.inference_mode():
            expected = dncnn(state, noisy, 5)
            for made in (denoiser, models.load_denoiser(out)):
                torch.testing.assert_close(made(noisy), expected, atol=1e-5, rtol=1e-5)
