"""The contract of architectures."""

from __future__ import annotations

import copy
import tempfile

import torch
from torch import Tensor, nn

from randsmooth import models
from randsmooth.models import ARCHITECTURES, Architecture
from randsmooth.testing.requirements import Contract

CLASSES = 7


def check_architecture(
    architecture: str | Architecture, *, in_channels: int = 3, image_size: int | None = None
) -> None:
    """Check an architecture: its logits, its initial weights, its gradients and, of a name, its model folder.

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
    contract = Contract(f"architecture {architecture!r}")
    smallest = _smallest(contract, architecture)
    sizes = {image_size or max(32, smallest), smallest}
    for size in sorted(sizes, reverse=True):
        _check_network(contract, architecture, in_channels, size)
    if isinstance(architecture, str):
        _check_folder(contract, architecture, in_channels, max(sizes))


def _smallest(contract: Contract, architecture: str | Architecture) -> int:
    entry = ARCHITECTURES.get(architecture) if isinstance(architecture, str) else architecture
    if entry is None:  # a depth of the CIFAR ResNet that has no entry of its own
        return 8
    contract.require(isinstance(entry, Architecture), f"is a {type(entry).__name__}, expected models.Architecture")
    whole = type(entry.min_size) is int and entry.min_size >= 1
    contract.require(whole, f"has min_size={entry.min_size!r}, expected a number of pixels")
    return entry.min_size


def _built(architecture: str | Architecture, channels: int, side: int, seed: int = 0) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if isinstance(architecture, str):
            return models.build(architecture, in_channels=channels, image_size=side, num_classes=CLASSES)
        return architecture.builder(in_channels=channels, image_size=side, num_classes=CLASSES)


def _check_network(contract: Contract, architecture: str | Architecture, channels: int, side: int) -> None:
    what = f"for {channels}x{side}x{side} images"
    network = contract.works(f"cannot be built {what}", lambda: _built(architecture, channels, side))
    contract.require(isinstance(network, nn.Module), f"builds a {type(network).__name__}, expected an nn.Module")
    network.eval()
    x = torch.rand(4, channels, side, side, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        logits = contract.works(f"gives no answer {what}", lambda: network(x))
        _check_logits(contract, logits, what)
        contract.require(torch.equal(network(x), logits), f"gives other logits the second time {what}, in eval mode")
        alone = network(x[:1])
        close = torch.allclose(alone, logits[:1], rtol=1e-3, atol=1e-4)
        contract.require(close, f"gives an image other logits when it is alone in its batch, {what}")
        last = copy.deepcopy(network).to(memory_format=torch.channels_last)(x.to(memory_format=torch.channels_last))
        close = torch.allclose(last, logits, rtol=1e-3, atol=1e-4)
        contract.require(close, f"gives other logits in channels-last memory {what}")
    _check_weights(contract, architecture, network, (channels, side))
    _check_gradients(contract, network, x)


def _check_logits(contract: Contract, logits: object, what: str) -> None:
    fits = isinstance(logits, Tensor) and logits.shape == (4, CLASSES)
    got = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
    contract.require(fits, f"answers four images with {got} {what}, expected logits (4, {CLASSES})")
    assert isinstance(logits, Tensor)
    contract.require(torch.isfinite(logits).all(), f"has logits that are not finite {what}")


def _check_weights(
    contract: Contract, architecture: str | Architecture, network: nn.Module, size: tuple[int, int]
) -> None:
    state = network.state_dict()
    wrong = [key for key, value in state.items() if value.is_floating_point() and value.dtype != torch.float32]
    contract.require(not wrong, f"has weights that are not float32: {', '.join(wrong)}")
    same, other = (_built(architecture, *size, seed=seed).state_dict() for seed in (0, 1))
    contract.require(
        state.keys() == same.keys() and all(torch.equal(state[key], same[key]) for key in state),
        "starts with other weights for the same seed of torch's global generator",
    )
    contract.require(
        any(not torch.equal(state[key], other[key]) for key in state),
        "starts with the same weights for every seed of torch's global generator",
    )


def _check_gradients(contract: Contract, network: nn.Module, x: Tensor) -> None:
    network.train()
    attacked = x.clone().requires_grad_()
    loss = nn.functional.cross_entropy(network(attacked), torch.arange(len(x)))
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    gradients = contract.works(
        "has logits without gradients", lambda: torch.autograd.grad(loss, [attacked, *parameters], allow_unused=True)
    )
    arrive = all(gradient is not None and torch.isfinite(gradient).all() for gradient in gradients)
    contract.require(arrive, "has no finite gradients for its images, which attacks need, or for all of its weights")


def _check_folder(contract: Contract, name: str, channels: int, side: int) -> None:
    """A model folder names its architecture, and loads to the same answers."""
    classes = [str(label) for label in range(CLASSES)]
    model = models.Classifier(arch=name, classes=classes, shape=(channels, side, side)).eval()
    x = torch.rand(2, channels, side, side, generator=torch.Generator().manual_seed(2))
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        contract.works("cannot be saved in a model folder", lambda: models.save(model, folder))
        loaded = contract.works("cannot be loaded from a model folder", lambda: models.load(folder))
        contract.require(torch.equal(loaded(x), model(x)), "gives other logits after it was saved and loaded")
        contract.require(
            models.weights_hash(loaded) == models.weights_hash(model),
            "has other weights after it was saved and loaded",
        )
