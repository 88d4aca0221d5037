"""Architectures and backends that break their contracts are refused, in words that say what is wrong."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from models.refusing import each_told, told
from randsmooth import testing
from randsmooth.certificates import Precision
from randsmooth.certification.backends import BACKENDS, Backend, own_copy
from randsmooth.certification.backends.torch_backend import Torch
from randsmooth.models import Architecture
from randsmooth.models.architectures.convolutional import small_cnn


def built(change: Callable[[nn.Module], Any]) -> Architecture:
    """The small network after `change`, by the arguments that a builder is given."""
    return Architecture(lambda **how: change(small_cnn(**how)), min_size=4)


class Then(nn.Module):
    """A network whose logits are changed."""

    def __init__(self, network: nn.Module, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.network, self.change = network, change

    def forward(self, x: Tensor) -> Tensor:
        return self.change(self.network(x))


def started(network: nn.Module, draw: Callable[[Tensor], object]) -> nn.Module:
    for parameter in network.parameters():
        draw(parameter.data)
    return network


def any_seed(weights: Tensor) -> None:
    generator = torch.Generator()
    generator.seed()
    weights.normal_(generator=generator)


ARCHITECTURES: list[tuple[Any, str]] = [
    (Architecture(small_cnn, min_size=0), "has min_size=0"),
    (
        Architecture(small_cnn, min_size=1),
        "fails when it is tried",
    ),  # a pool leaves nothing of one pixel
    (built(lambda network: network.double()), "not float32"),
    (
        built(lambda network: nn.Sequential(network, nn.Linear(7, 8))),
        "expected finite logits (4, 7)",
    ),
    (
        built(lambda network: Then(network, lambda z: z - z.mean(0))),
        "other logits when it is alone",
    ),
    (
        built(lambda network: Then(network, lambda z: z + torch.rand(()))),
        "other logits the second time",
    ),
    (built(lambda network: Then(network, torch.detach)), "has no finite gradients"),
    (
        built(lambda network: started(network, lambda w: w.fill_(0.01))),
        "starts with the same weights for every seed",
    ),
    (
        built(lambda network: started(network, any_seed)),
        "starts with other weights for the same seed",
    ),
    (built(lambda network: network.state_dict()), "builds no nn.Module"),
]


def test_architectures() -> None:
    each_told(testing.check_architecture, ARCHITECTURES)


class Plain(Backend):
    """A copy of the model, as it is."""

    name: ClassVar[str] = "plain"

    def __init__(
        self, model: nn.Module, device: torch.device, precision: Precision
    ) -> None:
        self.model, self.device, self.precision = own_copy(model), device, precision

    def answer(self, noisy: Tensor) -> Any:
        return self.model(noisy)


def changed(**members: Any) -> type[Torch]:
    return type("Changed", (Torch,), {"__doc__": "A backend.", **members})


def answering(change: Callable[[Tensor, Tensor], Tensor]) -> type[Torch]:
    """The backend of torch whose logits are changed, by the images too."""
    return changed(answer=lambda self, noisy: change(Torch.answer(self, noisy), noisy))


def keep(self: Any, model: nn.Module, *how: Any) -> None:
    """The model itself is kept, so that its answers can change."""
    Torch.__init__(self, model, *how)
    self.model = model


BROKEN: list[tuple[Any, str]] = [
    (
        Plain,
        "raises RuntimeError for images that the model does not take, expected a Problem",
    ),
    (changed(__init__=keep), "answers otherwise when the model it was made of changes"),
    (
        answering(lambda logits, noisy: logits + torch.rand(())),
        "answers the same images differently the second time",
    ),
    (
        answering(lambda logits, noisy: logits + 0 * noisy.clamp_(0.5).sum()),
        "changes the images",
    ),
    (
        answering(lambda logits, noisy: logits + torch.arange(len(noisy))[:, None]),
        "in another place of its batch",
    ),
    (changed(instructions=None), "has instructions=None, expected a line of text"),
    (
        changed(packages=("no_such_package",)),
        "needs no_such_package, which is not installed",
    ),
    (changed(__doc__=None), "has no docstring"),
    (nn.Linear, "is no subclass of randsmooth.certification.backends.Backend"),
]


def test_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    each_told(testing.check_backend, BROKEN)
    monkeypatch.setitem(BACKENDS._added, "shifted", changed())
    assert (
        told(testing.check_backend, "shifted")
        == "backend 'shifted' has a class of the name 'torch'"
    )
    pytest.importorskip("onnxruntime")
    assert "does not accept a Sequential: it runs ONNX files" in told(
        testing.check_backend, "onnx"
    )
