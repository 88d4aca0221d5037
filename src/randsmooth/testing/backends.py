"""The contract of backends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch
from torch import Tensor, nn

from randsmooth.certification.backends import BACKENDS, Backend
from randsmooth.models import Around, ForeignModel
from randsmooth.testing.requirements import Contract, one_line

BATCH, SIDE, CLASSES = 32, 8, 5
CLOSE = 1e-3  # between logits of about 1 in float32
CPU = torch.device("cpu")


def check_backend(backend: str | type[Backend], model: ForeignModel | Around | None = None) -> None:
    """Check a backend on the CPU in float32: its logits are torch's, always the same, and each image's own.

    Args:
        backend: a name in BACKENDS, or the class; what it needs must be installed.
        model: of another kind, for a backend that accepts no plain torch modules, such as an `OnnxModel`; its
            logits cannot be compared with torch's.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_backend("torch")
    """
    contract = Contract(f"backend {backend if isinstance(backend, str) else getattr(backend, '__name__', backend)!r}")
    kind = BACKENDS[backend] if isinstance(backend, str) else backend
    _check_class(contract, kind)
    if isinstance(backend, str):
        contract.require(kind.name == backend, f"has a class of the name {kind.name!r}")
    network, noisy = (
        _example() if model is None else (model, torch.rand(BATCH, *(getattr(model, "shape", None) or (1, SIDE, SIDE))))
    )
    contract.require(kind.accepts(network), f"does not accept a {type(network).__name__}: it {kind.runs}")
    make = partial(kind, network, CPU, "32")
    made = contract.works("cannot be made for the CPU and precision 32", make)
    for name in ("arithmetic", "processor", "instructions"):
        contract.require(one_line(getattr(made, name)), f"has {name}={getattr(made, name)!r}, expected a line of text")
    with torch.inference_mode():
        _check_logits(contract, made, noisy)
        if isinstance(network, nn.Module) and model is None:
            _check_model(contract, made, network, noisy)
        wrong = torch.zeros(len(noisy), noisy.shape[1] + 1, *noisy.shape[2:])
        contract.refuses("images that the model does not take", lambda: make().logits(wrong))
        if kind.parallel:
            _check_threads(contract, make(), noisy)


def _check_class(contract: Contract, kind: type[Backend]) -> None:
    sub = isinstance(kind, type) and issubclass(kind, Backend)
    contract.require(sub, "is no subclass of randsmooth.certification.backends.Backend")
    contract.require("__doc__" in vars(kind) and kind.__doc__, "has no docstring")
    contract.require(one_line(getattr(kind, "name", None)), "has no `name`")
    contract.require(one_line(kind.runs), "needs `runs`, what it runs, for the error about other models")
    contract.require(kind.installed(), f"needs {', '.join(kind.packages)}, which is not installed")
    contract.require(isinstance(kind.tried_by_auto(CPU), bool), "has a tried_by_auto() that gives no bool")


def _example() -> tuple[nn.Module, Tensor]:
    """A small classifier with a convolution and a batch normalisation, and noisy images for it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = (nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        model = nn.Sequential(*layers, nn.Linear(4 * SIDE * SIDE, CLASSES)).eval()
        return model, torch.randn(BATCH, 1, SIDE, SIDE)


def _check_logits(contract: Contract, backend: Backend, noisy: Tensor) -> None:
    before = noisy.clone()
    found = contract.works("gives no answer", lambda: backend.logits(noisy)).clone()
    contract.require(torch.equal(noisy, before), "changes the images that it is given")
    contract.require(found.dtype in (torch.float32, torch.float64), f"answers in {found.dtype}, expected float32")
    contract.require(found.device == backend.device, f"answers on {found.device}, its device is {backend.device}")
    contract.require(torch.equal(backend.logits(noisy), found), "answers the same images differently the second time")
    turned = backend.logits(noisy.flip(0)).flip(0)
    alike = torch.allclose(turned, found, rtol=CLOSE, atol=CLOSE)
    contract.require(alike, "answers an image differently in another place of its batch")


def _check_model(contract: Contract, backend: Backend, model: nn.Module, noisy: Tensor) -> None:
    """The logits are the model's, as it was when the backend was made."""
    expected, found = model(noisy), backend.logits(noisy).clone()
    contract.require(found.shape == expected.shape, f"answers {tuple(found.shape)}, expected {tuple(expected.shape)}")
    apart = float((found - expected).abs().max())
    contract.require(apart <= CLOSE, f"answers logits that differ from torch's by {apart:.2g}")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    fixed = torch.equal(backend.logits(noisy), found)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.sub_(1.0)
    contract.require(fixed, "answers otherwise when the model it was made of changes: take a copy")


def _check_threads(contract: Contract, backend: Backend, noisy: Tensor) -> None:
    """Two threads that ask at the same time get what one gets."""
    backend.workers = 2
    batches = [noisy, noisy.flip(0)] * 4

    def ask(batch: Tensor) -> Tensor:
        with torch.inference_mode():  # which belongs to each thread
            return backend.logits(batch).clone()

    alone = [ask(batch) for batch in batches]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(ask, batches))
    same = all(torch.allclose(one, other, rtol=CLOSE, atol=CLOSE) for one, other in zip(alone, together, strict=True))
    contract.require(same, "answers otherwise when two threads ask at once: leave `parallel` False")
