"""The contract of backends."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from randsmooth.certification.backends import Backend
from randsmooth.errors import InputError
from randsmooth.testing.requirements import Contract

BATCH, SIDE, CLASSES = 32, 8, 5
CLOSE = 1e-3  # between logits of about 1 in float32


def check_backend(kind: type[Backend]) -> None:
    """Check a backend that runs torch models on the CPU: its logits are torch's, fixed, and each row's own.

    Args:
        kind: the class, installed with what it needs.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> from randsmooth.certification.backends import BACKENDS
        >>> check_backend(BACKENDS["torch"])
    """
    contract = Contract(f"backend {getattr(kind, 'name', kind)!r}")
    contract.require(issubclass(kind, Backend), "is no subclass of randsmooth.certification.backends.Backend")
    contract.require(kind.installed(), f"needs {', '.join(kind.packages)}, which is not installed")
    model, noisy = _example()
    contract.require(kind.accepts(model), "accepts no torch module: this contract is for backends that do")
    backend = kind(model, torch.device("cpu"), "32")
    with torch.inference_mode():
        _check_logits(contract, backend, model, noisy)
    for name in ("arithmetic", "processor", "instructions"):
        contract.require(isinstance(getattr(backend, name), str), f"has {name}={getattr(backend, name)!r}, not a text")
    _check_refusal(contract, kind(model, torch.device("cpu"), "32"))


def _example() -> tuple[nn.Module, Tensor]:
    """A small classifier with a convolution and a batch normalisation, and noisy images for it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = (nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        model = nn.Sequential(*layers, nn.Linear(4 * SIDE * SIDE, CLASSES)).eval()
        return model, torch.randn(BATCH, 1, SIDE, SIDE)


def _check_logits(contract: Contract, backend: Backend, model: nn.Module, noisy: Tensor) -> None:
    expected, found = model(noisy), backend.logits(noisy).clone()
    contract.require(found.shape == expected.shape, f"answers {tuple(found.shape)}, expected {tuple(expected.shape)}")
    contract.require(found.dtype in (torch.float32, torch.float64), f"answers in {found.dtype}, expected float32")
    apart = float((found - expected).abs().max())
    contract.require(apart <= CLOSE, f"answers logits that differ from torch's by {apart:.2g}")
    contract.require(torch.equal(backend.logits(noisy), found), "answers the same images differently the second time")
    kept = model[-1].bias.detach().clone()  # type: ignore[index]
    model[-1].bias.data += 1.0  # type: ignore[index]
    fixed = torch.equal(backend.logits(noisy), found)
    model[-1].bias.data.copy_(kept)  # type: ignore[index]
    contract.require(fixed, "answers otherwise when the model it was made of changes: take a copy")


def _check_refusal(contract: Contract, backend: Backend) -> None:
    """Images of another shape than the model takes are an InputError."""
    try:
        with torch.inference_mode():
            backend.logits(torch.zeros(BATCH, 3, SIDE, SIDE))
    except InputError:
        return
    except Exception as error:
        contract.require(False, f"raises {type(error).__name__}, not InputError, for images that the model refuses")
    contract.require(False, "answers images that the model refuses")
