"""Architectures that break the contract are refused, in words that say what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from randsmooth import testing
from randsmooth.models import Architecture
from randsmooth.models.architectures.convolutional import small_cnn


def built(change: Any) -> Architecture:
    """The small network after `change`, by the arguments that a builder is given."""

    def build(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
        network: nn.Module = change(
            small_cnn(in_channels=in_channels, image_size=image_size, num_classes=num_classes), num_classes
        )
        return network

    return Architecture(build, min_size=4)


class Times(nn.Module):
    """A network whose logits are changed."""

    def __init__(self, network: nn.Module, change: Any) -> None:
        super().__init__()
        self.network, self.change = network, change

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.change(self.network(x))
        return logits


def same_start(network: nn.Module, _: int) -> nn.Module:
    for parameter in network.parameters():
        nn.init.constant_(parameter, 0.01)
    return network


def other_start(network: nn.Module, _: int) -> nn.Module:
    generator = torch.Generator()
    generator.seed()
    nn.init.normal_(next(network.parameters()), generator=generator)
    return network


ARCHITECTURE: list[tuple[Any, str]] = [
    (Architecture(small_cnn, min_size=0), "has min_size=0"),
    (Architecture(small_cnn, min_size=1), "cannot be built|gives no answer"),  # a pool leaves nothing of one pixel
    (built(lambda network, k: network.double()), "gives no answer|not float32"),
    (built(lambda network, k: nn.Sequential(network, nn.Linear(k, k + 1))), r"answers four images with \(4, 8\)"),
    (built(lambda network, k: Times(network, lambda logits: logits / 0.0)), "not finite"),
    (built(lambda network, k: Times(network, lambda z: z - z.mean(0))), "other logits when it is alone"),
    (built(lambda network, k: Times(network, lambda z: z + torch.rand(()))), "gives other logits the second time"),
    (built(lambda network, k: Times(network, torch.detach)), "has logits without gradients"),
    (
        built(lambda network, k: nn.Sequential(Times(nn.Identity(), torch.detach), network)),
        "no finite gradients for its",
    ),
    (built(same_start), "starts with the same weights for every seed"),
    (built(other_start), "starts with other weights for the same seed"),
    (built(lambda network, k: network.state_dict()), "expected an nn.Module"),
    (small_cnn, "expected models.Architecture"),
]


def test_architectures() -> None:
    for architecture, message in ARCHITECTURE:
        with pytest.raises(AssertionError, match=message):
            testing.check_architecture(architecture)
