"""Denoised smoothing: both parts are the base classifier, of whatever kind they are, and certificates say so."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

import randsmooth as rs
from models.refusing import check_refusals
from randsmooth import data, models
from randsmooth.certification.backends import candidates
from randsmooth.errors import InputError
from randsmooth.models import Classifier, Denoised, Denoiser

ABAR = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64), 0)
FACTS = {"dataset": "digits", "sigma": 0.25}
HOW: dict[str, Any] = {"n0": 20, "n": 200, "take": 6}


def classifier(seed: int = 0) -> Classifier:
    torch.manual_seed(seed)
    classes = list(data.describe("digits").classes)
    facts = {"dataset": "digits", "sigma": 0.0, "method": "gaussian"}
    return Classifier(arch="small-cnn", classes=classes, shape=(1, 8, 8), provenance=facts).eval()


def denoiser(seed: int = 0) -> Denoiser:
    torch.manual_seed(seed)
    made = Denoiser(channels=1, arch="dncnn-3x4", provenance=FACTS)
    nn.init.normal_(made.network.dncnn[-1].weight, std=0.1)  # type: ignore[arg-type]
    return made.eval()


def estimator(labels: Callable[[int], Any] = int) -> LogisticRegression:
    images = data.load("digits", "train")
    x, y = images.batch(torch.arange(300))
    return LogisticRegression(max_iter=300).fit(x.flatten(1).numpy(), [labels(k) for k in y.tolist()])


def counts(table: rs.Certificates) -> np.ndarray:
    assert table.counts is not None
    return table.counts


def halved(noisy: Tensor) -> Tensor:
    return noisy / 2


def test_the_image_passes_the_denoiser_first() -> None:
    first, second, noisy = denoiser(), classifier(), torch.randn(5, 1, 8, 8)
    base = Denoised(first, second)
    assert torch.equal(base(noisy), second(first(noisy)))
    assert not base.training
    assert (base.shape, base.num_classes, base.provenance) == ((1, 8, 8), 10, FACTS)


def test_counts_are_those_of_a_loop_over_both_parts(tmp_path: Path) -> None:
    """The same noise, addressed by image and seed, sent through both parts by hand."""
    first, second = denoiser(), classifier()
    behind = rs.certify(Denoised(first, second), "digits", out=tmp_path / "a.parquet", **HOW)
    by_hand = rs.certify(nn.Sequential(first, second).eval(), "digits", sigma=0.25, out=tmp_path / "b.parquet", **HOW)
    assert behind.header.sigma == 0.25, "the denoiser's own sigma is the one that is meant"
    np.testing.assert_array_equal(counts(behind), counts(by_hand))
    alone = rs.certify(second, "digits", sigma=0.25, out=tmp_path / "c.parquet", **HOW)
    assert not np.array_equal(counts(behind), counts(alone))


def test_the_header_says_what_lies_between_noise_and_label(tmp_path: Path) -> None:
    first, second = denoiser(), classifier()
    rs.certify(Denoised(first, second), "digits", out=tmp_path / "a.parquet", **HOW)
    said = rs.read(tmp_path / "a.parquet").header.model
    assert said is not None
    assert said["arch"] == "small-cnn behind dncnn-3x4"
    assert said["denoiser"] == {**FACTS, "arch": "dncnn-3x4", "weights": models.weights_hash(first)}
    assert said["classifier"]["weights"] == models.weights_hash(second)


def test_the_weights_are_of_both_parts() -> None:
    pairs = [(denoiser(), classifier()), (denoiser(1), classifier()), (denoiser(), classifier(1))]
    hashes = [models.weights_hash(Denoised(*pair)) for pair in pairs]
    assert len(set(hashes)) == 3
    assert models.weights_hash(Denoised(denoiser(), classifier())) == hashes[0]


def halved_noise(x_t: Tensor, t: Tensor) -> Tensor:
    return x_t / 2


def test_another_denoiser_does_not_go_on_with_a_run(tmp_path: Path) -> None:
    out = tmp_path / "a.parquet"
    rs.certify(Denoised(denoiser(), classifier()), "digits", out=out, **HOW)
    with pytest.raises(InputError, match="another model"):
        rs.certify(Denoised(denoiser(1), classifier()), "digits", out=out, resume=True, **HOW)


def test_any_classifier_stands_behind_any_denoiser(tmp_path: Path) -> None:
    fitted = estimator()

    def logits(x: np.ndarray) -> np.ndarray:
        return np.asarray(fitted.decision_function(x.reshape(len(x), -1)))

    def labels(x: np.ndarray) -> np.ndarray:
        return np.asarray(fitted.predict(x.reshape(len(x), -1)))

    named = estimator(lambda k: data.describe("digits").classes[k])
    table: list[tuple[Any, dict[str, Any]]] = [(fitted, {}), (named, {})]
    table += [(logits, {"identity": "mine"}), (labels, {"identity": "mine"})]
    for place, (given, options) in enumerate(table):
        out = tmp_path / f"{place}.parquet"
        found = rs.certify(Denoised(halved, given), "digits", sigma=0.1, out=out, backend="auto", **HOW, **options)
        assert (counts(found).sum(axis=1) == 200).all()
        x, _ = data.load("digits", "test").batch(torch.tensor(found.idx.tolist()))
        clean = fitted.predict(x.flatten(1).numpy() / 2)
        assert (counts(found).argmax(axis=1) == clean).mean() >= 0.5, "small noise changes few answers"
        assert found.header.model is not None and " behind halved" in found.header.model["arch"]


def test_what_cannot_be_traced_is_left_to_torch() -> None:
    """A trace would keep the answers of one batch for all."""
    backends = pytest.importorskip("randsmooth.certification.backends")
    pytest.importorskip("openvino")
    base = Denoised(denoiser(), estimator())
    assert candidates(base, torch.device("cpu")) == ["mixed"]
    with pytest.raises(InputError, match="none whose steps depend on the images"):
        backends.make_backend("openvino", base, torch.device("cpu"), "32")


def test_folders_are_opened(tmp_path: Path) -> None:
    models.save(denoiser(), tmp_path / "denoiser")
    models.save(classifier(), tmp_path / "classifier")
    base = Denoised(tmp_path / "denoiser", str(tmp_path / "classifier"))
    noisy = torch.randn(2, 1, 8, 8)
    assert torch.equal(base(noisy), classifier()(denoiser()(noisy)))


def test_parts_that_do_not_fit_are_refused() -> None:
    table: list[tuple[tuple[Any, Any], str]] = [
        ((3, nn.Flatten()), "an int, 3 | a folder or a function"),
        ((halved, 3), "an int, 3"),
        (("nowhere", nn.Flatten()), "nowhere"),
        ((Denoiser(channels=3, arch="dncnn-3x2"), classifier()), "of 3 channels | (1, 8, 8)"),
    ]
    check_refusals((partial(Denoised, *parts), said) for parts, said in table)
    training = Denoised(denoiser().train(), classifier())
    check_refusals([(lambda: rs.SmoothedClassifier(training, sigma=0.25), "train mode")])


def test_gradients_pass_through_both_parts() -> None:
    noisy = torch.randn(2, 1, 8, 8, requires_grad=True)
    Denoised(denoiser(), classifier())(noisy).sum().backward()
    assert noisy.grad is not None and bool(noisy.grad.abs().sum() > 0)
