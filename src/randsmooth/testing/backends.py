"""The contract of the backends that run networks."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.certification.backends import BACKENDS, Backend
from randsmooth.models import Around, ForeignModel
from randsmooth.testing.contract import (
    contract_of,
    is_one_line,
    named_entry,
    require,
    require_refusal,
)

# The network and the images on which a backend is tried.
CLASSES = 7
BATCH = 32
SIDE = 8
CPU = torch.device("cpu")

# How far logits of about 1 in float32 may differ from torch's.
LOGIT_ERROR = 1e-3

# How many batches two threads answer at the same time.
BATCHES_FOR_THREADS = 8


def check_backend(
    backend: str | type[Backend], model: ForeignModel | Around | None = None
) -> None:
    """Check a backend on the CPU in float32.

    Its logits are torch's, always the same, and each image's own.

    Args:
        backend: a name in BACKENDS, or the class; what it needs must be installed.
        model: of another kind, for a backend that accepts no plain torch modules, such as
            an `OnnxModel`; its logits cannot be compared with torch's.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_backend("torch")
    """
    entry, kind = named_entry("backend", backend, BACKENDS)
    with contract_of(entry):
        _check_describes_itself(kind)
        if isinstance(backend, str):
            require(backend == kind.name, f"has a class of the name {kind.name!r}")
        _check_is_installed(kind)

        network = _example_network() if model is None else model
        require(
            kind.accepts(network),
            f"does not accept a {type(network).__name__}: it {kind.runs}",
        )
        shape = getattr(model, "shape", None) or (1, SIDE, SIDE)
        generator = torch.Generator().manual_seed(1)
        noisy = torch.rand(BATCH, *shape, generator=generator)

        make = partial(kind, network, CPU, "32")
        made = make()
        _check_describes_its_arithmetic(made)
        with torch.inference_mode():
            _check_answers(made, noisy)
            if isinstance(network, nn.Module) and model is None:
                _check_logits_are_those_of_torch(made, network, noisy)
                _check_keeps_its_own_weights(made, network, noisy)
            _check_refuses_other_shapes(make(), noisy)
        if kind.parallel:
            _check_answers_in_threads(make(), noisy)


def _check_describes_itself(kind: Any) -> None:
    require(
        isinstance(kind, type) and issubclass(kind, Backend),
        "is no subclass of randsmooth.certification.backends.Backend",
    )
    require(kind.__doc__, "has no docstring")
    require(
        is_one_line(kind.name) and is_one_line(kind.runs),
        "needs a `name`, and `runs`, which says what it runs",
    )


def _check_is_installed(kind: type[Backend]) -> None:
    packages = ", ".join(kind.packages)
    require(kind.installed(), f"needs {packages}, which is not installed")
    require(
        isinstance(kind.tried_on, tuple),
        f"has tried_on={kind.tried_on!r}, expected a tuple of kinds of device",
    )


def _check_describes_its_arithmetic(backend: Backend) -> None:
    for attribute in ("arithmetic", "processor", "instructions"):
        value = getattr(backend, attribute)
        require(
            is_one_line(value), f"has {attribute}={value!r}, expected a line of text"
        )


def _example_network() -> nn.Module:
    """Return a small classifier with a convolution and a batch normalisation."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(4 * SIDE * SIDE, CLASSES),
        )
    return network.eval()


def _check_answers(backend: Backend, noisy: Tensor) -> None:
    """Check that each image gets the same logits again, in any place of its batch."""
    noisy_before = noisy.clone()
    logits = backend.logits(noisy).clone()
    require(torch.equal(noisy, noisy_before), "changes the images that it is given")
    require(
        logits.dtype in (torch.float32, torch.float64)
        and logits.device == backend.device,
        f"answers in {logits.dtype} on {logits.device}, expected float32 on "
        f"{backend.device}",
    )
    require(
        torch.equal(backend.logits(noisy), logits),
        "answers the same images differently the second time",
    )
    reversed_logits = backend.logits(noisy.flip(0)).flip(0)
    require(
        torch.allclose(reversed_logits, logits, rtol=LOGIT_ERROR, atol=LOGIT_ERROR),
        "answers an image differently in another place of its batch",
    )


def _check_logits_are_those_of_torch(
    backend: Backend, network: nn.Module, noisy: Tensor
) -> None:
    expected = network(noisy)
    logits = backend.logits(noisy)
    require(
        logits.shape == expected.shape,
        f"answers {tuple(logits.shape)}, expected {tuple(expected.shape)}",
    )
    error = float((logits - expected).abs().max())
    require(
        error <= LOGIT_ERROR, f"answers logits that differ from torch's by {error:.2g}"
    )


def _check_keeps_its_own_weights(
    backend: Backend, network: nn.Module, noisy: Tensor
) -> None:
    """Check that the backend answers as the network was when the backend was made."""
    logits = backend.logits(noisy).clone()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1.0)
    require(
        torch.equal(backend.logits(noisy), logits),
        "answers otherwise when the model it was made of changes: copy it",
    )


def _check_refuses_other_shapes(backend: Backend, noisy: Tensor) -> None:
    _, channels, *size = noisy.shape
    one_channel_more = torch.zeros(len(noisy), channels + 1, *size)
    require_refusal(
        "images that the model does not take",
        lambda: backend.logits(one_channel_more),
    )


def _check_answers_in_threads(backend: Backend, noisy: Tensor) -> None:
    """Check that two threads which ask at the same time get what one gets."""
    backend.workers = 2
    batches = [noisy, noisy.flip(0)] * (BATCHES_FOR_THREADS // 2)

    def ask(batch: Tensor) -> Tensor:
        # Inference mode belongs to each thread.
        with torch.inference_mode():
            return backend.logits(batch).clone()

    one_after_the_other = [ask(batch) for batch in batches]
    with ThreadPoolExecutor(2) as pool:
        at_the_same_time = list(pool.map(ask, batches))
    require(
        all(map(torch.allclose, one_after_the_other, at_the_same_time)),
        "answers otherwise when two threads ask: leave `parallel` False",
    )
