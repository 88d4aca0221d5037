"""The contracts of what answers images: architectures, and the backends that run them."""

import copy
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.certification.backends import BACKENDS, Backend
from randsmooth.models import Architecture, Around, ForeignModel
from randsmooth.models.registry import architecture_of
from randsmooth.testing.contract import Checks, one_line, opened, refusal, run

CLASSES, BATCH, SIDE = 7, 32, 8
CLOSE = 1e-3  # between logits of about 1 in float32
CPU = torch.device("cpu")


def _images(*shape: int) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(1))


def check_architecture(
    architecture: str | Architecture,
    *,
    in_channels: int = 3,
    image_size: int | None = None,
) -> None:
    """Check an architecture: its logits, its initial weights and its gradients.

    Args:
        architecture: a name that `models.build` knows, or the entry.
        in_channels: of the images that it is tried on.
        image_size: their side in pixels; None: 32, or the smallest that the architecture takes where that is more.
            Images of the smallest side are tried as well.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_architecture("small-cnn", in_channels=1, image_size=8)
    """
    run(
        f"architecture {architecture!r}",
        _of_architecture(architecture, in_channels, image_size),
    )


def _of_architecture(
    architecture: str | Architecture, channels: int, image_size: int | None
) -> Checks:
    entry = (
        architecture_of(architecture) if isinstance(architecture, str) else architecture
    )
    yield (
        isinstance(entry, Architecture),
        f"is a {type(entry).__name__}, expected models.Architecture",
    )
    smallest = entry.min_size
    yield (
        type(smallest) is int and smallest >= 1,
        f"has min_size={smallest!r}, expected pixels",
    )

    def build(side: int, seed: int = 0) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return entry.builder(
                in_channels=channels, image_size=side, num_classes=CLASSES
            )

    for side in sorted({image_size or max(32, smallest), smallest}, reverse=True):
        yield (
            isinstance(build(side), nn.Module),
            f"builds no nn.Module for {channels}x{side}x{side} images",
        )
        yield from _of_network(
            [build(side, seed) for seed in (0, 0, 1)], _images(4, channels, side, side)
        )


def _of_network(networks: list[nn.Module], x: Tensor) -> Checks:
    """Of a new network, another from the same seed, and one from another seed."""
    network, (state, same_state, other_state) = (
        networks[0],
        (each.state_dict() for each in networks),
    )
    wrong = [
        key
        for key, value in state.items()
        if value.is_floating_point() and value.dtype != torch.float32
    ]
    yield not wrong, f"has weights that are not float32: {', '.join(wrong)}"
    alike = all(torch.equal(state[key], same_state[key]) for key in state)
    yield (
        alike,
        "starts with other weights for the same seed of torch's global generator",
    )
    varied = any(not torch.equal(state[key], other_state[key]) for key in state)
    yield (
        varied,
        "starts with the same weights for every seed of torch's global generator",
    )
    what = f"for {'x'.join(map(str, x.shape[1:]))} images"
    network.eval()
    with torch.no_grad():
        logits = network(x)
        fits = (
            isinstance(logits, Tensor)
            and logits.shape == (4, CLASSES)
            and logits.isfinite().all()
        )
        yield (
            fits,
            f"answers four images with {logits}, expected finite logits (4, {CLASSES}), {what}",
        )
        turned = copy.deepcopy(network).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        ways = {
            "the second time": network(x),
            "when it is alone in its batch": network(x[:1]),
        }
        ways["in channels-last memory"] = turned(
            x.to(memory_format=torch.channels_last)
        )
        for way, found in ways.items():
            close = torch.allclose(found, logits[: len(found)], rtol=1e-3, atol=1e-4)
            yield close, f"gives an image other logits {way}, {what}"
    network.train()
    attacked = x.clone().requires_grad_()
    loss = nn.functional.cross_entropy(network(attacked), torch.arange(len(x)))
    asked = [
        attacked,
        *(parameter for parameter in network.parameters() if parameter.requires_grad),
    ]
    gradients = (
        torch.autograd.grad(loss, asked, allow_unused=True)
        if loss.requires_grad
        else [None]
    )
    arrive = all(
        gradient is not None and gradient.isfinite().all() for gradient in gradients
    )
    yield (
        arrive,
        "has no finite gradients for its images, which attacks need, or for all of its weights",
    )


def check_backend(
    backend: str | type[Backend], model: ForeignModel | Around | None = None
) -> None:
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
    entry, kind = opened("backend", backend, BACKENDS)
    run(entry, _of_backend(backend if isinstance(backend, str) else None, kind, model))


def _of_backend(
    name: str | None, kind: Any, model: ForeignModel | Around | None
) -> Checks:
    subclass = isinstance(kind, type) and issubclass(kind, Backend)
    yield subclass, "is no subclass of randsmooth.certification.backends.Backend"
    yield vars(kind).get("__doc__"), "has no docstring"
    yield (
        one_line(kind.name) and one_line(kind.runs),
        "needs a `name`, and `runs`, which says what it runs",
    )
    yield name in (None, kind.name), f"has a class of the name {kind.name!r}"
    yield kind.installed(), f"needs {', '.join(kind.packages)}, which is not installed"
    yield (
        isinstance(kind.tried_on, tuple),
        f"has tried_on={kind.tried_on!r}, expected a tuple of kinds of device",
    )
    network = _example() if model is None else model
    noisy = _images(BATCH, *(getattr(model, "shape", None) or (1, SIDE, SIDE)))
    yield (
        kind.accepts(network),
        f"does not accept a {type(network).__name__}: it {kind.runs}",
    )
    make = partial(kind, network, CPU, "32")
    made = make()
    for what in ("arithmetic", "processor", "instructions"):
        yield (
            one_line(getattr(made, what)),
            f"has {what}={getattr(made, what)!r}, expected a line of text",
        )
    with torch.inference_mode():
        yield from _of_answers(made, noisy)
        if isinstance(network, nn.Module) and model is None:
            yield from _of_logits(made, network, noisy)
        wrong = torch.zeros(len(noisy), noisy.shape[1] + 1, *noisy.shape[2:])
        yield refusal(
            "images that the model does not take", lambda: make().logits(wrong)
        )
    if kind.parallel:
        yield (
            _alike_in_threads(make(), noisy),
            "answers otherwise when two threads ask: leave `parallel` False",
        )


def _example() -> nn.Module:
    """A small classifier with a convolution and a batch normalisation."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = (
            nn.Conv2d(1, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.Flatten(),
        )
        return nn.Sequential(*layers, nn.Linear(4 * SIDE * SIDE, CLASSES)).eval()


def _of_answers(backend: Backend, noisy: Tensor) -> Checks:
    before = noisy.clone()
    found = backend.logits(noisy).clone()
    yield torch.equal(noisy, before), "changes the images that it is given"
    fits = (
        found.dtype in (torch.float32, torch.float64) and found.device == backend.device
    )
    yield (
        fits,
        f"answers in {found.dtype} on {found.device}, expected float32 on {backend.device}",
    )
    yield (
        torch.equal(backend.logits(noisy), found),
        "answers the same images differently the second time",
    )
    alike = torch.allclose(
        backend.logits(noisy.flip(0)).flip(0), found, rtol=CLOSE, atol=CLOSE
    )
    yield alike, "answers an image differently in another place of its batch"


def _of_logits(backend: Backend, model: nn.Module, noisy: Tensor) -> Checks:
    """The logits are the model's, as it was when the backend was made."""
    expected, found = model(noisy), backend.logits(noisy).clone()
    yield (
        found.shape == expected.shape,
        f"answers {tuple(found.shape)}, expected {tuple(expected.shape)}",
    )
    apart = float((found - expected).abs().max())
    yield apart <= CLOSE, f"answers logits that differ from torch's by {apart:.2g}"
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    yield (
        torch.equal(backend.logits(noisy), found),
        "answers otherwise when the model it was made of changes: copy it",
    )


def _alike_in_threads(backend: Backend, noisy: Tensor) -> bool:
    """Whether two threads that ask at the same time get what one gets."""
    backend.workers = 2
    batches = [noisy, noisy.flip(0)] * 4

    def ask(batch: Tensor) -> Tensor:
        with torch.inference_mode():  # which belongs to each thread
            return backend.logits(batch).clone()

    alone = [ask(batch) for batch in batches]
    with ThreadPoolExecutor(2) as pool:
        pairs = zip(alone, pool.map(ask, batches), strict=True)
        return all(torch.allclose(*pair, rtol=CLOSE, atol=CLOSE) for pair in pairs)
