"""The contract of architectures."""

import copy

import torch
from torch import Tensor, nn

from randsmooth.models import Architecture
from randsmooth.models.registry import architecture_of
from randsmooth.testing.contract import contract_of, require

IMAGES = 4
CLASSES = 7

# The side in pixels of the images that are tried by default.
USUAL_SIDE = 32

# How far logits of about 1 in float32 may differ when they are computed otherwise.
RELATIVE_ERROR = 1e-3
ABSOLUTE_ERROR = 1e-4


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
        image_size: their side in pixels; None: 32, or the smallest that the architecture
            takes where that is more. Images of the smallest side are tried as well.

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_architecture("small-cnn", in_channels=1, image_size=8)
    """
    with contract_of(f"architecture {architecture!r}"):
        entry = architecture
        if isinstance(entry, str):
            entry = architecture_of(entry)
        require(
            isinstance(entry, Architecture),
            f"is a {type(entry).__name__}, expected models.Architecture",
        )
        smallest = entry.min_size
        require(
            type(smallest) is int and smallest >= 1,
            f"has min_size={smallest!r}, expected pixels",
        )
        side = image_size or max(USUAL_SIDE, smallest)
        for tried in sorted({side, smallest}, reverse=True):
            _check_networks(entry, in_channels, tried)


def _check_networks(entry: Architecture, channels: int, side: int) -> None:
    """Check the networks that an architecture builds for images of one size."""
    network = _build(entry, channels, side, seed=0)
    require(
        isinstance(network, nn.Module),
        f"builds no nn.Module for {channels}x{side}x{side} images",
    )
    _check_weights_are_float32(network)
    _check_seed_determines_weights(
        network,
        same_seed=_build(entry, channels, side, seed=0),
        other_seed=_build(entry, channels, side, seed=1),
    )
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(IMAGES, channels, side, side, generator=generator)
    _check_logits(network, x)
    _check_gradients(network, x)


def _build(entry: Architecture, channels: int, side: int, seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return entry.builder(in_channels=channels, image_size=side, num_classes=CLASSES)


def _check_weights_are_float32(network: nn.Module) -> None:
    others = [
        name
        for name, value in network.state_dict().items()
        if value.is_floating_point() and value.dtype != torch.float32
    ]
    require(not others, f"has weights that are not float32: {', '.join(others)}")


def _check_seed_determines_weights(
    network: nn.Module, same_seed: nn.Module, other_seed: nn.Module
) -> None:
    state = network.state_dict()
    same_state = same_seed.state_dict()
    other_state = other_seed.state_dict()
    require(
        all(torch.equal(state[name], same_state[name]) for name in state),
        "starts with other weights for the same seed of torch's global generator",
    )
    require(
        any(not torch.equal(state[name], other_state[name]) for name in state),
        "starts with the same weights for every seed of torch's global generator",
    )


@torch.no_grad()
def _check_logits(network: nn.Module, x: Tensor) -> None:
    """Check that each image has finite logits, the same in whatever batch and memory."""
    network.eval()
    logits = network(x)
    size = "x".join(map(str, x.shape[1:]))
    fits = isinstance(logits, Tensor) and logits.shape == (IMAGES, CLASSES)
    require(
        fits and logits.isfinite().all(),
        f"answers four images with {logits}, expected finite logits "
        f"({IMAGES}, {CLASSES}), for {size} images",
    )

    channels_last = copy.deepcopy(network).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    x_channels_last = x.to(memory_format=torch.channels_last)
    logits_by_circumstance = {
        "the second time": network(x),
        "when it is alone in its batch": network(x[:1]),
        "in channels-last memory": channels_last(x_channels_last),
    }
    for circumstance, others in logits_by_circumstance.items():
        same = torch.allclose(
            others, logits[: len(others)], rtol=RELATIVE_ERROR, atol=ABSOLUTE_ERROR
        )
        require(same, f"gives an image other logits {circumstance}, for {size} images")


def _check_gradients(network: nn.Module, x: Tensor) -> None:
    """Check that images and all weights get finite gradients of a loss in training."""
    network.train()
    attacked = x.clone().requires_grad_()
    loss = nn.functional.cross_entropy(network(attacked), torch.arange(len(x)))
    weights = [weight for weight in network.parameters() if weight.requires_grad]

    finite = False
    if loss.requires_grad:
        gradients = torch.autograd.grad(loss, [attacked, *weights], allow_unused=True)
        finite = all(
            gradient is not None and gradient.isfinite().all() for gradient in gradients
        )
    require(
        finite,
        "has no finite gradients for its images, which attacks need, or for all of its "
        "weights",
    )
