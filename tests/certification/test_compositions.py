"""Wrapped models and ensembles in a certification: any kind of part, any backend, and what it costs."""

from __future__ import annotations

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
from randsmooth import models
from randsmooth.certification import Engine, count_classes
from randsmooth.certification.backends import make_backend
from randsmooth.errors import InputError

CPU = torch.device("cpu")
SIGMA = 0.25
MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
SETTINGS: dict[str, Any] = {"sigma": SIGMA, "n0": 100, "n": 400, "take": 6}


def network(seed: int, channels: int = 1, side: int = 8) -> nn.Module:
    torch.manual_seed(seed)
    return models.build("small-cnn", in_channels=channels, image_size=side, num_classes=10).eval()


@pytest.fixture(scope="module")
def image() -> torch.Tensor:
    return torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(1))


class ByHand(nn.Module):
    """What `wrap` should do, written out."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = network(0, channels=3, side=16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.interpolate(x.expand(-1, 3, -1, -1), size=(16, 16), mode="bilinear", align_corners=False)
        mean, std = (torch.tensor(values).reshape(1, 3, 1, 1) for values in (MEAN, STD))
        answer: torch.Tensor = self.inner((x - mean) / std)
        return answer


WRAP: dict[str, Any] = {"channels": 3, "resize": 16, "mean": MEAN, "std": STD}


def counts(model: object, image: torch.Tensor, **settings: Any) -> NDArray[np.int64]:
    return count_classes(Engine(models.adapt(model), sigma=SIGMA, device=CPU, **settings), image, [("a", 600)])


@pytest.mark.parametrize(
    "backend", ["torch", *(pytest.param(name, marks=pytest.mark.slow) for name in ("compile", "openvino"))]
)
def test_a_wrapped_module_is_what_it_says(backend: str, image: torch.Tensor) -> None:
    if backend == "openvino":
        pytest.importorskip("openvino")
    wrapped = models.wrap(network(0, channels=3, side=16), **WRAP)
    found, expected = counts(wrapped, image, backend=backend), counts(ByHand(), image)
    assert np.abs(found - expected).sum() <= 4  # the last bits of a few samples


def onnx_file(model: nn.Module, folder: Path, shape: tuple[int, ...]) -> models.OnnxModel:
    pytest.importorskip("onnxruntime")
    path = folder / "net.onnx"
    torch.onnx.export(model, (torch.zeros(4, *shape),), str(path), dynamo=False)
    return models.OnnxModel(path)


def estimator() -> LogisticRegression:
    digits = rs.data.load("digits", "train")
    x, y = digits.batch(rs.data.take(len(digits), 300))
    return LogisticRegression(max_iter=200).fit(x.flatten(1).numpy(), y.numpy())


def test_a_wrapped_onnx_file(tmp_path: Path, image: torch.Tensor) -> None:
    inner = network(0, channels=3, side=16)
    found = counts(models.wrap(onnx_file(inner, tmp_path, (3, 16, 16)), **WRAP), image)
    assert np.abs(found - counts(ByHand(), image)).sum() <= 4


def test_the_header_says_what_lies_between_noise_and_label(tmp_path: Path) -> None:
    wrapped = rs.wrap(network(0, channels=3, side=16), **WRAP)
    table = rs.certify(wrapped, "digits", **SETTINGS, out=tmp_path / "wrapped.parquet")
    stored = rs.read(tmp_path / "wrapped.parquet").header
    assert stored == table.header
    said = " ".join(map(str, (stored.model, stored.notes)))
    for words in ("a grey channel repeated", "resized to 16 on the shorter side (bilinear)", "normalised by mean 0.5"):
        assert words in said
    other = rs.wrap(network(0, channels=3, side=16), **WRAP | {"interpolation": "bicubic"})
    with pytest.raises(InputError, match="begun differently"):
        rs.certify(other, "digits", **SETTINGS, out=tmp_path / "wrapped.parquet", resume=True)


def mixed_members(folder: Path, sent: list[int]) -> list[object]:
    def function(images: NDArray[np.float32]) -> NDArray[np.float32]:
        sent.append(len(images))
        answer: NDArray[np.float32] = network(3)(torch.from_numpy(images)).detach().numpy()
        return answer

    return [
        network(1),
        onnx_file(network(2), folder, (1, 8, 8)),
        models.FunctionModel(function, num_classes=10, identity="a function"),
        estimator(),
    ]


def test_an_ensemble_of_mixed_members(tmp_path: Path, image: torch.Tensor) -> None:
    sent: list[int] = []
    members = mixed_members(tmp_path, sent)
    ensemble = rs.Ensemble(members, "probabilities")
    x = torch.rand(128, 1, 8, 8)
    logits = []
    for member in members:
        base = models.adapt(member)
        backend = make_backend(rs.certification.backends.usual_backend(base), base, CPU, "32")
        with torch.inference_mode():
            logits.append(backend.logits(x))
    expected = torch.stack([torch.softmax(each.float(), dim=1) for each in logits]).mean(dim=0)
    mixed = make_backend("mixed", ensemble, CPU, "32")
    mixed.size = 128
    with torch.inference_mode():
        assert torch.allclose(mixed.logits(x).exp(), expected, atol=1e-5)
    del sent[:]
    table = rs.certify(ensemble, "digits", **SETTINGS, out=tmp_path / "mixed.parquet")
    assert table.header.backend == "mixed"
    again = rs.Ensemble(mixed_members(tmp_path, sent), "probabilities")
    assert models.weights_hash(again) == models.weights_hash(ensemble)
    rs.certify(again, "digits", **SETTINGS, out=tmp_path / "mixed.parquet", resume=True)


class Sent:
    """Counts the images that it is called with; answers as a network does."""

    def __init__(self, seed: int) -> None:
        self.network, self.sizes = network(seed), list[int]()

    def __call__(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        self.sizes.append(len(images))
        with torch.no_grad():
            answer: NDArray[np.float32] = self.network(torch.from_numpy(images)).numpy()
        return answer


def test_a_function_in_an_ensemble_is_asked_about_no_more_than_is_counted(image: torch.Tensor) -> None:
    call = Sent(2)
    named = models.FunctionModel(call, num_classes=10)
    smoothed = rs.SmoothedClassifier(rs.Ensemble([network(1), rs.wrap(named, scale=1.0)]), sigma=SIGMA, seed=0)
    smoothed.engine.prepare(image.shape)  # which tries the model out
    call.sizes.clear()
    found = smoothed.certify(image, n0=100, n=400)
    assert sum(call.sizes) == 500
    local = rs.SmoothedClassifier(rs.Ensemble([network(1), network(2)]), sigma=SIGMA, seed=0)
    assert np.abs(found.counts - local.certify(image, n0=100, n=400).counts).sum() <= 4


def trained(seed: int) -> nn.Module:
    """A linear classifier of digits, on another part of the data than its siblings."""
    digits = rs.data.load("digits", "train")
    x, y = digits.batch(torch.arange(150 * seed, 150 * seed + 400))
    fitted = LogisticRegression(C=0.1, max_iter=300).fit(x.flatten(1).numpy(), y.numpy())
    linear = nn.Linear(64, 10)
    linear.weight.data, linear.bias.data = (torch.tensor(a).float() for a in (fitted.coef_, fitted.intercept_))
    return nn.Sequential(nn.Flatten(), linear).eval()


class Brute(nn.Module):
    """The consensus of the first two of several members, written out: all members answer always."""

    def __init__(self, members: list[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = torch.stack([member(x) for member in self.members])
        first = logits[:2].argmax(dim=2)
        agree = (first[0] == first[1])[:, None]
        return torch.where(agree, logits[:2].mean(dim=0), logits.mean(dim=0))


def test_a_consensus_certifies_what_it_is_defined_as_and_asks_less(tmp_path: Path) -> None:
    members = [trained(seed) for seed in range(5)]
    calls = [Sent(0) for _ in members]
    for call, member in zip(calls, members, strict=True):
        call.network = member
    digits = rs.data.load("digits")
    x, _ = digits.batch(rs.data.take(len(digits), 10))
    functions = rs.Ensemble([models.FunctionModel(call, num_classes=10) for call in calls], consensus=2)
    asking = rs.SmoothedClassifier(functions, sigma=SIGMA, seed=0)
    asking.engine.prepare(x.shape[1:])  # which tries the members out
    for call in calls:
        call.sizes.clear()
    apart = asking.certify(x, n0=100, n=1000)
    local = rs.SmoothedClassifier(rs.Ensemble(members, consensus=2), sigma=SIGMA, seed=0).certify(x, n0=100, n=1000)
    brute = rs.SmoothedClassifier(Brute(members).eval(), sigma=SIGMA, seed=0).certify(x, n0=100, n=1000)
    for each in (apart, local):
        assert np.array_equal(each.counts, brute.counts)
        assert np.array_equal(each.radius, brute.radius)
    asked = [sum(call.sizes) for call in calls]
    assert asked[:2] == [11_000, 11_000]
    assert max(asked[2:]) < 0.5 * 11_000  # the others answer only where the first two differ
    full = rs.SmoothedClassifier(rs.Ensemble(members), sigma=SIGMA, seed=0).certify(x, n0=100, n=1000)
    assert not np.array_equal(full.counts, brute.counts)  # it is another classifier


def test_a_consensus_cannot_be_traced() -> None:
    ensemble = rs.Ensemble([network(seed) for seed in range(3)], consensus=2)
    for backend in ("compile", "openvino"):
        with pytest.raises(InputError, match="none whose steps depend on the images"):
            make_backend(backend, ensemble, CPU, "32")


def test_batch_norm_of_members_is_folded() -> None:
    def normed(seed: int) -> nn.Module:
        torch.manual_seed(seed)
        return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()

    ensemble = rs.wrap(rs.Ensemble([normed(0), normed(1)]), mean=0.5, std=0.5)
    backend = make_backend("torch", ensemble, CPU, "32")
    assert not any(isinstance(module, nn.BatchNorm2d) for module in backend.model.modules())  # type: ignore[attr-defined]
    x = torch.rand(128, 1, 8, 8)
    with torch.inference_mode():
        assert torch.allclose(backend.logits(x), ensemble(x), atol=1e-5)


def test_labels_have_no_mean(image: torch.Tensor) -> None:
    labels = models.FunctionModel(lambda images: [0] * len(images), num_classes=10)
    assert counts(rs.Ensemble([network(0), labels], "vote"), image).sum() == 600
    with pytest.raises(InputError, match="answers with labels, which have no mean"):
        counts(rs.Ensemble([network(0), labels]), image)


def test_members_in_train_mode_are_refused() -> None:
    with pytest.raises(InputError, match="is in train mode"):
        rs.SmoothedClassifier(rs.Ensemble([network(0), network(1).train()]), sigma=SIGMA)


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


ONE_NAME: list[tuple[Any, Any]] = [
    (lambda: rs.wrap(bright(), scale=2.0), lambda: rs.wrap(bright(), scale=3.0)),
    (lambda: rs.wrap(bright(), resize=8), lambda: rs.wrap(bright(), resize=16)),
    (lambda: rs.Denoised(Dimmed(0.5), bright()), lambda: rs.Denoised(Dimmed(0.7), bright())),
    (lambda: rs.Ensemble([bright(), network(0)]), lambda: rs.Ensemble([bright(), network(0)], "probabilities")),
    (lambda: rs.Ensemble([bright(), network(0)]), lambda: rs.Ensemble([bright(), network(0)], weights=[1, 2])),
]


@pytest.mark.parametrize(("begun", "other"), ONE_NAME, ids=["scale", "resize", "denoiser", "rule", "weights"])
def test_the_name_of_a_part_does_not_hide_what_lies_around_it(begun: Any, other: Any, tmp_path: Path) -> None:
    named: dict[str, Any] = {
        "identity": "brightness",
        "out": tmp_path / "bright.parquet",
    }
    table = rs.certify(begun(), "digits", **SETTINGS, **named)
    assert rs.certify(begun(), "digits", **SETTINGS, **named, resume=True).header == table.header
    with pytest.raises(InputError, match="begun differently"):
        rs.certify(other(), "digits", **SETTINGS, **named, resume=True)


def test_an_ensemble_keeps_its_identity_when_it_is_told_the_classes(tmp_path: Path) -> None:
    ensemble = rs.Ensemble([network(0), network(1)])
    table = rs.certify(ensemble, "digits", **SETTINGS, out=tmp_path / "ensemble.parquet")
    assert table.header.model is not None
    assert table.header.model["weights"] == models.weights_hash(ensemble)


def test_what_lies_around_and_behind_a_denoiser_is_named_and_told_the_classes(tmp_path: Path) -> None:
    def label(images: NDArray[np.float32]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = brightness(images).argmax(axis=1)
        return found

    wrapped = rs.wrap(label, resize=16)  # does not say how many classes there are
    model = rs.Ensemble([rs.Denoised(Dimmed(0.5), wrapped), network(0)], "vote")
    table = rs.certify(model, "digits", **SETTINGS, identity="label", out=tmp_path / "denoised.parquet")
    assert table.header.model is not None
    said = table.header.model["notes"]
    assert "member 1: after noise: denoised by Dimmed" in said
    assert "member 1: after noise: resized to 16 on the shorter side (bilinear)" in said
    assert rs.wrap(network(0), scale=1.0).notes == ()  # which does nothing


def test_parts_that_are_no_torch_modules_are_attacked_without_gradients(tmp_path: Path) -> None:
    onnx = onnx_file(network(2), tmp_path, (1, 8, 8))
    named = models.FunctionModel(brightness, identity="brightness")
    for model in (rs.Denoised(Dimmed(0.5), onnx), rs.Ensemble([rs.wrap(named), trained(0)])):
        table = rs.certify(model, "digits", **SETTINGS | {"take": 30}, out=tmp_path / "t.parquet", overwrite=True)
        attacks = rs.certification.attack(model, table, steps=1, m=10, n=100, take=1)
        assert attacks.gradient_free


BUILT: dict[str, Any] = {
    "wrapped": lambda: rs.wrap(network(0, channels=3, side=16), **WRAP),
    "denoised": lambda: rs.Denoised(Dimmed(0.5), rs.wrap(network(0), scale=2.0)),
    "ensemble": lambda: rs.Ensemble([rs.Denoised(Dimmed(0.5), network(0)), network(1)], "probabilities"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT)
def test_compositions_of_torch_modules_are_exported(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    files: dict[str, Any] = {"onnx": tmp_path / "net.onnx", "torch_export": tmp_path / "net.pt2"}
    model = BUILT[name]()
    apart = rs.certification.export_model(model, **files, shape=(1, 8, 8))
    assert list(apart) == list(files.values())
    assert max(apart.values()) < 1e-5
    x = torch.rand(5, 1, 8, 8)
    with torch.inference_mode():
        read = models.adapt(models.open_source(files["torch_export"]))
        assert isinstance(read, nn.Module)
        assert torch.allclose(read(x), model(x), atol=1e-5)


def test_what_cannot_be_exported_is_named(tmp_path: Path) -> None:
    scripted = torch.jit.script(trained(0))
    refused: dict[str, Any] = {
        r"inner of the model is a Python function brightness; only torch modules": rs.wrap(brightness, scale=2.0),
        r"classifier of the model is a TorchScript program": rs.Denoised(Dimmed(0.5), scripted),
        r"members.0 of the model is a": rs.Ensemble([bright(), network(0)]),
        r"leave out consensus": rs.Ensemble([network(seed) for seed in range(3)], consensus=2),
    }
    for said, model in refused.items():
        with pytest.raises(InputError, match=said):
            rs.certification.export_model(model, torch_export=tmp_path / "net.pt2", shape=(1, 8, 8))


def test_answers_that_are_no_arrays_are_refused() -> None:
    answers: dict[str, Any] = {"dict": {"logits": 1}, "list": [[1.0, 2.0], [1.0]], "NoneType": None}
    for kind, answer in answers.items():
        smoothed = rs.SmoothedClassifier(rs.wrap(lambda x, said=answer: said, num_classes=10), sigma=SIGMA)
        with pytest.raises(InputError, match=rf"images with {kind}; expected logits"):
            smoothed.predict(torch.rand(1, 8, 8))


def test_channels_are_not_repeated_without_a_note(image: torch.Tensor) -> None:
    coloured = rs.wrap(network(0, channels=3), mean=MEAN, std=STD)
    with pytest.raises(InputError, match="3 numbers for images of 1 channel"):
        counts(coloured, image)
    assert counts(rs.wrap(network(0, channels=3), channels=3, mean=MEAN, std=STD), image).sum() == 600
