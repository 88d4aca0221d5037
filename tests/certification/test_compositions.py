"""Wrapped models and ensembles in a certification: any kind of part, any backend, and what it costs."""

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn import functional as F

import randsmooth as rs
from models.refusing import check_refusals
from randsmooth import models
from randsmooth.certification import Engine, count_classes
from randsmooth.certification.backends import make_backend, usual_backend
from randsmooth.errors import BadValue, OutputExists, WrongModel
from values import Refusal

CPU = torch.device("cpu")
SIGMA = 0.25
MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
WRAP: dict[str, Any] = {"channels": 3, "resize": 16, "mean": MEAN, "std": STD}
SETTINGS: dict[str, Any] = {"sigma": SIGMA, "n0": 100, "n": 400, "take": 6}
IMAGE = torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(1))


def network(seed: int, channels: int = 1, side: int = 8) -> nn.Module:
    torch.manual_seed(seed)
    return models.build(
        "small-cnn", in_channels=channels, image_size=side, num_classes=10
    ).eval()


class ByHand(nn.Module):
    """What `wrap` should do, written out."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = network(0, channels=3, side=16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.interpolate(
            x.expand(-1, 3, -1, -1), size=(16, 16), mode="bilinear", align_corners=False
        )
        mean, std = (torch.tensor(values).reshape(1, 3, 1, 1) for values in (MEAN, STD))
        answer: torch.Tensor = self.inner((x - mean) / std)
        return answer


def counts(model: object, **settings: Any) -> NDArray[np.int64]:
    return count_classes(
        Engine(models.adapt(model), sigma=SIGMA, device=CPU, **settings),
        IMAGE,
        [("a", 600)],
    )


def onnx_file(
    model: nn.Module, folder: Path, shape: tuple[int, ...]
) -> models.OnnxModel:
    pytest.importorskip("onnxruntime")
    path = folder / "net.onnx"
    torch.onnx.export(model, (torch.zeros(4, *shape),), str(path), dynamo=False)
    return models.OnnxModel(path)


@cache
def fitted(first: int = 0) -> LogisticRegression:
    x, y = rs.data.load("digits", "train").batch(torch.arange(first, first + 400))
    return LogisticRegression(C=0.1, max_iter=300).fit(x.flatten(1).numpy(), y.numpy())


def test_a_wrapped_module_or_file_is_what_it_says_on_every_backend(
    tmp_path: Path,
) -> None:
    pytest.importorskip("openvino")
    expected, inner = counts(ByHand()), network(0, channels=3, side=16)
    wrapped = {backend: models.wrap(inner, **WRAP) for backend in ("torch", "openvino")}
    wrapped["mixed"] = models.wrap(onnx_file(inner, tmp_path, (3, 16, 16)), **WRAP)
    for backend, model in wrapped.items():
        assert np.abs(counts(model, backend=backend) - expected).sum() <= 4, (
            backend
        )  # the last bits of a few samples


def test_the_header_says_what_lies_between_noise_and_label(tmp_path: Path) -> None:
    wrapped, out = (
        rs.wrap(network(0, channels=3, side=16), **WRAP),
        tmp_path / "wrapped.parquet",
    )
    stored = rs.certify(wrapped, "digits", **SETTINGS, out=out).header
    said = " ".join(map(str, (stored.model, stored.notes)))
    for words in (
        "a grey channel repeated",
        "resized to 16 on the shorter side (bilinear)",
        "normalised by mean 0.5",
    ):
        assert words in said
    other = rs.wrap(
        network(0, channels=3, side=16), **WRAP | {"interpolation": "bicubic"}
    )
    check_refusals(
        [
            (
                lambda: rs.certify(other, "digits", **SETTINGS, out=out, resume=True),
                Refusal(OutputExists),
            )
        ]
    )


class Sent:
    """Counts the images that it is called with; answers as a network does."""

    def __init__(self, network: nn.Module) -> None:
        self.network, self.sizes = network, list[int]()

    def __call__(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        self.sizes.append(len(images))
        with torch.no_grad():
            answer: NDArray[np.float32] = self.network(torch.from_numpy(images)).numpy()
        return answer


def probable(images: NDArray[np.float32]) -> NDArray[np.float64]:
    """Logits of an estimator: the logarithms of its probabilities."""
    answer: NDArray[np.float64] = fitted().predict_log_proba(
        images.reshape(len(images), -1)
    )
    return answer


def test_an_ensemble_of_mixed_members(tmp_path: Path) -> None:
    def members() -> list[object]:
        function = models.FunctionModel(
            Sent(network(3)), num_classes=10, identity="a function"
        )
        estimator = models.FunctionModel(
            probable, num_classes=10, identity="an estimator"
        )
        return [
            network(1),
            onnx_file(network(2), tmp_path, (1, 8, 8)),
            function,
            estimator,
        ]

    ensemble, x, logits = (
        rs.Ensemble(members(), "probabilities"),
        torch.rand(128, 1, 8, 8),
        [],
    )
    mixed = make_backend("mixed", ensemble, CPU, "32")
    mixed.size = 128
    with torch.inference_mode():
        for base in map(models.adapt, members()):
            logits.append(make_backend(usual_backend(base), base, CPU, "32").logits(x))
        expected = torch.stack(
            [torch.softmax(each.float(), dim=1) for each in logits]
        ).mean(dim=0)
        assert torch.allclose(mixed.logits(x).exp(), expected, atol=1e-5)
    out = tmp_path / "mixed.parquet"
    table = rs.certify(ensemble, "digits", **SETTINGS, out=out)
    assert table.header.backend == "mixed"
    assert table.header.model is not None and table.header.model[
        "weights"
    ] == models.weights_hash(ensemble)
    rs.certify(
        rs.Ensemble(members(), "probabilities"),
        "digits",
        **SETTINGS,
        out=out,
        resume=True,
    )


def trained(seed: int) -> nn.Module:
    """A linear classifier of digits, on another part of the data than its siblings."""
    linear, found = nn.Linear(64, 10), fitted(150 * seed)
    linear.weight.data, linear.bias.data = (
        torch.tensor(a).float() for a in (found.coef_, found.intercept_)
    )
    return nn.Sequential(nn.Flatten(), linear).eval()


def brightness(images: NDArray[np.float32]) -> NDArray[np.float32]:
    bright = images.mean(axis=(1, 2, 3))
    return np.stack([10.0 * k * bright - k**2 for k in range(10)], axis=1)


class Dimmed(nn.Module):
    """A denoiser without weights: what it does is an attribute."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share, self.training = share, False

    def forward(self, noisy: torch.Tensor) -> torch.Tensor:
        return self.share * noisy


def bright() -> models.FunctionModel:
    return models.FunctionModel(brightness)


def test_the_name_of_a_part_does_not_hide_what_lies_around_it(tmp_path: Path) -> None:
    pairs: dict[str, tuple[object, object]] = {
        "scale": (rs.wrap(bright(), scale=2.0), rs.wrap(bright(), scale=3.0)),
        "denoiser": (
            rs.Denoised(Dimmed(0.5), bright()),
            rs.Denoised(Dimmed(0.7), bright()),
        ),
        "rule": (
            rs.Ensemble([bright(), network(0)]),
            rs.Ensemble([bright(), network(0)], "probabilities"),
        ),
    }
    for name, (begun, other) in pairs.items():
        how: dict[str, Any] = SETTINGS | {
            "identity": "brightness",
            "out": tmp_path / f"{name}.parquet",
        }
        table = rs.certify(begun, "digits", **how)
        assert rs.certify(begun, "digits", **how, resume=True).header == table.header
        check_refusals(
            [
                (
                    partial(rs.certify, other, "digits", **how, resume=True),
                    Refusal(OutputExists),
                )
            ]
        )


@pytest.mark.slow
def test_compositions_of_torch_modules_are_exported(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    x = torch.rand(5, 1, 8, 8)
    wrapped = rs.wrap(network(0, channels=3, side=16), **WRAP)
    model = rs.Ensemble(
        [rs.Denoised(Dimmed(0.5), network(0)), wrapped], "probabilities"
    )
    files: dict[str, Any] = {
        "onnx": tmp_path / "net.onnx",
        "torch_export": tmp_path / "net.pt2",
    }
    apart = rs.certification.export_model(model, **files, shape=(1, 8, 8))
    assert list(apart) == list(files.values()) and max(apart.values()) < 1e-5
    with torch.inference_mode():
        read = models.adapt(models.open_source(files["torch_export"]))
        assert isinstance(read, nn.Module) and torch.allclose(
            read(x), model(x), atol=1e-5
        )


def test_what_cannot_be_composed_is_refused_by_name(tmp_path: Path) -> None:
    labels = models.FunctionModel(lambda images: [0] * len(images), num_classes=10)
    assert counts(rs.Ensemble([network(0), labels], "vote")).sum() == 600
    assert (
        counts(rs.wrap(network(0, channels=3), channels=3, mean=MEAN, std=STD)).sum()
        == 600
    )

    def answering(answer: Any) -> Any:
        return lambda: rs.SmoothedClassifier(
            rs.wrap(answer, num_classes=10), sigma=SIGMA
        ).predict(IMAGE)

    def exporting(model: Any) -> Any:
        return lambda: rs.certification.export_model(
            model, torch_export=tmp_path / "net.pt2", shape=(1, 8, 8)
        )

    script = torch.jit.script(trained(0))
    table: list[tuple[Refusal, Any]] = [
        (
            Refusal(WrongModel),
            lambda: counts(rs.Ensemble([network(0), labels])),
        ),
        (
            Refusal(BadValue),
            lambda: counts(rs.wrap(network(0, channels=3), mean=MEAN, std=STD)),
        ),
        (
            Refusal(WrongModel, "torch.export"),
            exporting(rs.wrap(brightness, scale=2.0)),
        ),
        (Refusal(WrongModel, "torch.export", "TorchScript"), exporting(script)),
        (
            Refusal(WrongModel, "'logits'"),
            answering(lambda x: {"logits": x}),
        ),
    ]
    check_refusals((ask, expected) for expected, ask in table)
