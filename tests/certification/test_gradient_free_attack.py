"""The attack without gradients on half-spaces, whose radius is known: an ONNX file, functions, an estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional as F

from certification.half_spaces import IMAGES, SIDE, SIGMA, SIGNED, D, HalfSpace, true_table
from cli.test_attack import forged as with_forged_counts
from randsmooth import Certificates, certificates, certify
from randsmooth.certification import attack
from randsmooth.cli.main import main

HARD: dict[str, Any] = {"steps": 20, "m": 500}
QUICK: dict[str, Any] = {"steps": 8, "m": 200, "n": 2000}
NAME = "the half-space of these tests"
PLANE = HalfSpace().w.numpy()


class Labels(HalfSpace):
    """Says which side, and nothing about how far: no gradient, no odds."""

    def forward(self, x: Tensor) -> Tensor:
        return F.one_hot(super().forward(x.detach()).argmax(dim=1), 2).float()


@pytest.mark.slow
def test_labels_alone_show_how_far_the_class_reaches() -> None:
    """Just inside of the true radius nothing changes, just outside everything."""
    model = Labels().eval()
    true = true_table(model)
    inside = attack(model, true, IMAGES, scale=0.99, **HARD)
    assert inside.gradient_free and not inside.changed.any()
    outside = attack(model, true, IMAGES, scale=1.1, **HARD)
    assert outside.changed.all() and not outside.failed.any()
    forged = attack(model, replace(true, radius=1.25 * true.radius), IMAGES, **HARD)
    assert forged.failed.all() and (forged.distance > true.radius).all()


def test_without_anything_to_learn_from_a_search_finds_nothing() -> None:
    """A control on the test above: a step and a pair of samples hardly tell a direction."""
    model = Labels().eval()
    assert not attack(model, true_table(model), IMAGES, scale=1.1, steps=1, m=2).changed.all()


def test_a_point_does_not_depend_on_the_images_beside_it() -> None:
    model = Labels().eval()
    table = true_table(model)
    whole, again = (attack(model, table, IMAGES, **QUICK) for _ in range(2))
    some = attack(model, table, IMAGES, take=2, **QUICK)
    assert np.array_equal(whole.points, again.points)
    assert np.array_equal(some.points, whole.points[[0, 2]])
    assert (whole.distance < whole.radius).all()


def test_the_gradient_is_left_aside_where_that_is_asked_for() -> None:
    model = HalfSpace().eval()
    found = attack(model, true_table(model), IMAGES, scale=1.1, gradient_free=True, **HARD)
    assert found.gradient_free and found.changed.all()
    assert not attack(model, true_table(model), IMAGES, **QUICK).gradient_free


def labels(x: NDArray[np.float32]) -> NDArray[np.int64]:
    side: NDArray[np.float32] = (x - 0.5).reshape(len(x), -1) @ PLANE
    return (side > 0).astype(np.int64)


def logits(x: Tensor) -> Tensor:
    side = (x - 0.5).flatten(1) @ torch.from_numpy(PLANE)
    return torch.stack([-side, side], dim=1)


def estimator() -> LogisticRegression:
    points = np.random.default_rng(0).normal(0.5, 0.5, (4000, D))
    return LogisticRegression(C=1e4).fit(points, labels(points.astype(np.float32)))


def onnx_file(folder: Path) -> str:
    pytest.importorskip("onnxruntime")
    path = str(folder / "plane.onnx")
    torch.onnx.export(HalfSpace().eval(), (torch.zeros(4, 1, SIDE, SIDE),), path, dynamo=False)
    return path


KINDS: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "ONNX file": (onnx_file, {}),
    "function with labels": (lambda _: labels, {"identity": NAME}),
    "function with logits": (lambda _: logits, {"identity": NAME}),
    "scikit-learn": (lambda _: estimator(), {}),
}


def shown() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The images and labels as a user has them."""
    return IMAGES.pixels.permute(0, 2, 3, 1).numpy(), IMAGES.labels.numpy()


def certified(model: Any, how: dict[str, Any], folder: Path) -> Certificates:
    return certify(model, shown(), sigma=SIGMA, n=1000, out=folder / "mine.parquet", num_classes=2, **how)


def forged(table: Certificates) -> Certificates:
    """Twice the true radii, as a broken bound might give them."""
    return replace(table, radius=2.0 * np.abs(SIGNED))


@pytest.mark.parametrize("kind", KINDS)
def test_forged_certificates_of_any_model_fail_and_its_own_hold(kind: str, tmp_path: Path) -> None:
    make, how = KINDS[kind]
    model = make(tmp_path)
    table = certified(model, how, tmp_path)
    assert (table.predict == table.label).all()
    held = attack(model, table, shown(), **QUICK, **how)
    assert held.gradient_free and not held.changed.any()
    assert attack(model, forged(table), shown(), **QUICK, **how).failed.all()


def test_the_command_attacks_an_onnx_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = certified(onnx_file(tmp_path), {}, tmp_path)
    certificates.write_parquet(with_forged_counts(table), tmp_path / "forged.parquet")
    np.savez(tmp_path / "images.npz", x=shown()[0], y=shown()[1])
    for file, code, said in (("mine", 0, "no certificate failed"), ("forged", 1, "FAILED: 5 of 5 certificates")):
        words = [tmp_path / "plane.onnx", tmp_path / f"{file}.parquet", "--dataset", tmp_path / "images.npz"]
        words += ["--steps", "8", "--m", "200", "--n", "2e3"]
        monkeypatch.setattr("sys.argv", ["randsmooth", "attack", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out = capsys.readouterr().out
        assert (stop.value.code or 0) == code and said in out
        assert "certified images attacked without gradients within 1 x their radius: 5" in out
