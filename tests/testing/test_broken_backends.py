"""Backends that break the contract are refused, in words that say what is wrong."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from randsmooth import testing
from randsmooth.certificates import Precision
from randsmooth.certification.backends import BACKENDS, Backend, own_copy
from randsmooth.certification.backends.torch_backend import Torch


class Plain(Backend):
    """A copy of the model, as it is."""

    name: ClassVar[str] = "plain"

    def __init__(self, model: nn.Module, device: torch.device, precision: Precision) -> None:
        self.model, self.device, self.precision = own_copy(model), device, precision

    def answer(self, noisy: Tensor) -> Any:
        return self.model(noisy)


class Shifted(Torch):
    """Answers with other logits."""

    def answer(self, noisy: Tensor) -> Any:
        return super().answer(noisy) + 1.0


class Forgetful(Torch):
    """Keeps the model itself, so that its answers can change."""

    def __init__(self, model: nn.Module, device: torch.device, precision: Precision) -> None:
        super().__init__(model, device, precision)
        self.model = model


class Restless(Torch):
    """Answers differently each time."""

    def answer(self, noisy: Tensor) -> Any:
        return super().answer(noisy) + 1e-5 * torch.rand(())


class Grasping(Torch):
    """Changes the images that it is given."""

    def answer(self, noisy: Tensor) -> Any:
        return super().answer(noisy.clamp_(0.0, 1.0))


class Relative(Torch):
    """Answers an image by its place in the batch."""

    def answer(self, noisy: Tensor) -> Any:
        return super().answer(noisy) + torch.arange(len(noisy))[:, None]


class Silent(Torch):
    """Does not say what it computes with."""

    @property
    def instructions(self) -> Any:
        return None


class Absent(Torch):
    """Needs what is not there."""

    packages: ClassVar[tuple[str, ...]] = ("no_such_package",)


class Undescribed(Torch):
    pass


class Unready(Torch):
    """Cannot be made."""

    def __init__(self, model: nn.Module, device: torch.device, precision: Precision) -> None:
        raise RuntimeError("no licence")


BROKEN: list[tuple[Any, str]] = [
    (Plain, "raises RuntimeError for images that the model does not take, expected an InputError"),
    (Shifted, "differ from torch's by 1"),
    (Forgetful, "take a copy"),
    (Restless, "answers the same images differently the second time"),
    (Grasping, "changes the images"),
    (Relative, "answers an image differently in another place"),
    (Silent, "has instructions=None, expected a line of text"),
    (Absent, "needs no_such_package, which is not installed"),
    (Undescribed, "has no docstring"),
    (Unready, "cannot be made for the CPU and precision 32: RuntimeError: no licence"),
    (BACKENDS["onnx"], "does not accept a Sequential: it runs ONNX files"),
    (nn.Linear, "is no subclass of randsmooth.certification.backends.Backend"),
]


def test_backends() -> None:
    for backend, message in BROKEN:
        if backend is not Absent and issubclass(backend, Backend) and not backend.installed():
            pytest.skip(f"{backend.name} is not installed")
        with pytest.raises(AssertionError, match=f"backend '.*' .*{message}"):
            testing.check_backend(backend)


def test_a_backend_by_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS._added, "shifted", Shifted)
    with pytest.raises(AssertionError, match="backend 'shifted' has a class of the name 'torch'"):
        testing.check_backend("shifted")
