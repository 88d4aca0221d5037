"""The same network on every backend: the same logits to rounding, the same counts but for ties."""

import itertools
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from models.graphs import linear
from models.refusing import check_refusals
from randsmooth import models
from randsmooth.certificates import PRECISIONS
from randsmooth.certification import Engine, count_classes
from randsmooth.certification.backends import (
    BACKENDS,
    ROUNDS,
    BackendChoice,
    fastest,
    make_backend,
    open_choices,
)
from randsmooth.certification.backends.torch_backend import Torch, fold_batch_norm
from randsmooth.certification.engine import TRIALS_A_RUN
from randsmooth.errors import BadValue, Problem, UnknownName, WrongFile, WrongModel
from randsmooth.extras import MissingPackage, install_command
from randsmooth.models import OnnxModel
from values import Refusal, refused

CPU = torch.device("cpu")
SAMPLES = 500
SHAPES = {
    "lenet": (1, 28, 28),
    "resnet8": (3, 32, 32),
    "small-cnn": (1, 8, 8),
    "resnet110": (3, 32, 32),
}


def network(arch: str) -> nn.Module:
    """A network whose batch norms are not the identity."""
    channels, side, _ = SHAPES[arch]
    torch.manual_seed(0)
    model = models.build(arch, in_channels=channels, image_size=side, num_classes=10)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            assert module.running_mean is not None and module.running_var is not None
            nn.init.uniform_(module.running_mean, -0.3, 0.3)
            nn.init.uniform_(module.running_var, 0.5, 2.0)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.2, 0.2)
    return model.eval()


def noisy(arch: str, number: int = 64) -> torch.Tensor:
    return torch.randn(
        number, *SHAPES[arch], generator=torch.Generator().manual_seed(1)
    )


def test_folding_keeps_the_answers_and_leaves_no_batch_norm() -> None:
    for arch in SHAPES:
        model, x = network(arch).double(), noisy(arch, 5).double()
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        folded = fold_batch_norm(network(arch).double())
        assert not any(
            isinstance(module, nn.BatchNorm2d) for module in folded.modules()
        ), arch
        with torch.no_grad():
            torch.testing.assert_close(folded(x), model(x), rtol=1e-9, atol=1e-9)
        make_backend("torch", model, CPU, "32")
        assert all(
            torch.equal(tensor, before[name])
            for name, tensor in model.state_dict().items()
        ), arch


class Shared(nn.Module):
    """One convolution before a batch norm and before nothing: it must stay as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
        assert self.norm.running_mean is not None
        nn.init.constant_(self.norm.running_mean, 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = (self.norm(self.conv(x)) + self.conv(x)).mean(dim=(2, 3))
        return logits


def test_what_cannot_be_folded_is_left_alone() -> None:
    torch.manual_seed(0)
    model, x = Shared().eval(), torch.randn(3, 1, 8, 8)
    with torch.no_grad():
        before, folded = model(x), fold_batch_norm(model)
        assert any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
        torch.testing.assert_close(folded(x), before)


@pytest.mark.parametrize(
    "arch", ["lenet", pytest.param("resnet8", marks=pytest.mark.slow)]
)
def test_backends_agree_with_float64(arch: str) -> None:
    pytest.importorskip("openvino")
    model, x, compared = network(arch), noisy(arch), 0
    with torch.inference_mode():
        truth = network(arch).double()(x.double()).numpy()
        for backend, precision in itertools.product(
            ("torch", "openvino"), PRECISIONS[:2]
        ):
            tolerance = (1e-4 if precision == "32" else 0.06) * np.abs(truth).max()
            try:
                found = (
                    make_backend(backend, model, CPU, precision)
                    .logits(x)
                    .double()
                    .numpy()
                )
            except Problem:
                assert (backend, precision) == (
                    "openvino",
                    "bf16",
                )  # in which not every processor computes
                continue
            assert np.abs(found - truth).max() <= tolerance, (backend, precision)
            compared += 1
    assert compared >= 3


class Limited:
    """OpenVINO on a processor without bfloat16: it takes float32 without a word."""

    def __init__(self) -> None:
        self.core = pytest.importorskip("openvino").Core()

    def compile_model(self, model: Any, device: str, config: dict[str, str]) -> Any:
        return self.core.compile_model(
            model, device, config | {"INFERENCE_PRECISION_HINT": "f32"}
        )

    def get_property(self, *names: str) -> Any:
        return self.core.get_property(*names)


def test_a_precision_that_openvino_does_not_compute_in_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = Limited()
    monkeypatch.setattr("openvino.Core", lambda: core)
    made = make_backend("openvino", network("small-cnn"), CPU, "bf16")
    check_refusals(
        [
            (
                partial(made.logits, noisy("small-cnn")),
                Refusal(WrongModel, "32"),
            )
        ]
    )
    engine = Engine(
        network("small-cnn"), sigma=0.5, device=CPU, backend="auto", precision="bf16"
    )
    assert engine.prepare(SHAPES["small-cnn"]).name == "torch"


def test_what_cannot_run_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "text.onnx").write_text("no model")
    model, file = network("small-cnn"), OnnxModel(linear(tmp_path / "linear.onnx"))
    monkeypatch.setitem(sys.modules, "openvino", None)
    table: list[tuple[Refusal, Callable[[], object]]] = [
        (Refusal(WrongFile), lambda: OnnxModel(tmp_path / "text.onnx")),
        (
            Refusal(UnknownName, "tensorrt", field="backend"),
            lambda: make_backend("tensorrt", model, CPU, "32"),
        ),
        (
            Refusal(UnknownName, "fp8", field="precision"),
            lambda: make_backend("torch", model, CPU, "fp8"),  # type: ignore[arg-type]
        ),
        (
            Refusal(BadValue, "torch.onnx.export", field="backend"),
            lambda: make_backend("onnx", model, CPU, "32"),
        ),
        (
            Refusal(BadValue, field="precision"),
            lambda: make_backend("onnx", file, CPU, "bf16"),
        ),
        (
            Refusal(BadValue, field="backend"),
            lambda: make_backend("torch", file, CPU, "32"),
        ),
        (
            Refusal(MissingPackage, install_command("cpu")),
            lambda: make_backend("openvino", model, CPU, "32"),
        ),
    ]
    check_refusals((ask, expected) for expected, ask in table)


def test_another_way_is_taken_only_if_it_was_faster_in_every_round() -> None:
    """Rounds of 100 samples a second of the usual way, beside those of another; the first of each only warms up."""
    table = {
        (103.0, 103.0, 103.0, 103.0, 103.0): "openvino",  # a little, and always
        (160.0, 160.0, 99.0, 160.0, 160.0): "torch",  # much, but the rounds scatter
        (100.0, 100.0, 100.0, 100.0, 100.0): "torch",
        (80.0, 80.0, 80.0, 80.0, 80.0): "torch",
    }
    usual, other = BackendChoice("torch", "32"), BackendChoice("openvino", "32")
    for rounds, chosen in table.items():
        left = iter([0.0, *rounds])
        best, rates = fastest(
            {usual: lambda: 100.0, other: lambda left=left: next(left)}  # type: ignore[misc]
        )
        assert (best.backend, rates) == (
            chosen,
            {usual: 100.0, other: sorted(rounds)[len(rounds) // 2]},
        ), rounds


def test_a_trial_draws_noise_and_a_short_run_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("openvino")
    drawn: list[int] = []
    count = Engine.count

    def counted(engine: Engine, *args: Any) -> Any:
        found = count(engine, *args)
        drawn.append(int(found.sum()))
        return found

    monkeypatch.setattr(Engine, "count", counted)
    model, shape = network("small-cnn"), SHAPES["small-cnn"]
    for samples, tried in ((10_000, set()), (10**7, {"torch", "openvino"})):
        engine = Engine(model, sigma=0.5, device=CPU, backend="auto")
        backend = engine.prepare(shape, samples)
        assert {choice.backend for choice in engine.rates} == tried
        assert {choice.precision for choice in engine.rates} <= {
            "32"
        }  # another precision is another classifier
        assert backend.name == "torch" or tried
        alone = Engine(model, sigma=0.5, device=CPU, backend=backend.name)
        x = torch.rand(shape, generator=torch.Generator().manual_seed(0))
        counts = [count_classes(each, x, [("a", 3000)]) for each in (engine, alone)]
        np.testing.assert_array_equal(counts[0], counts[1])
    runs = [n for n in drawn if n != 3000]
    assert len(runs) == 2 * (1 + ROUNDS) and TRIALS_A_RUN * sum(runs) <= 10**7


class Shifted(Torch):
    name = "shifted"

    def answer(self, noisy: torch.Tensor) -> Any:
        return super().answer(noisy) + 0.1


def test_a_backend_of_another_package_certifies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BACKENDS, "_added", {})
    BACKENDS.add("shifted", Shifted)
    model, x = network("small-cnn"), torch.rand(SHAPES["small-cnn"])
    engine = Engine(model, sigma=0.5, device=CPU, backend="shifted")
    assert (
        count_classes(engine, x, [("a", SAMPLES)]).sum() == SAMPLES
        and engine.backend.name == "shifted"
    )
    assert BackendChoice("shifted", "32") not in open_choices(
        model, CPU, "auto", "32"
    )  # unless it says that `auto` tries it
    known = "auto, compile, mixed, onnx, openvino, python, shifted, torch"
    with refused(UnknownName, "backend", value="tensorrt", expected=known):
        make_backend("tensorrt", model, CPU, "32")
