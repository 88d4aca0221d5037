"""What the two ResNets share: shortcuts, stages of blocks, He initialisation."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn


class Block(nn.Module):
    """A residual block, (B, inputs, H, W) -> (B, width * expansion, H / stride, W / stride)."""

    expansion: ClassVar[int]

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.downsample = shortcut(inputs, width * self.expansion, stride)
        self.relu = nn.ReLU(inplace=True)

    def residual(self, x: Tensor) -> Tensor:
        """The branch that is added to the shortcut; a tensor that nothing else needs, to be added to in place."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.residual(x).add_(self.downsample(x)))  # type: ignore[no-any-return]


def shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    """The identity, or a 1x1 convolution and batch norm where the shape changes (He et al. 2016, B)."""
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


def stage(block: type[Block], inputs: int, width: int, depth: int, stride: int) -> nn.Sequential:
    """`depth` blocks of one width; the first one changes the shape."""
    outputs = width * block.expansion
    return nn.Sequential(block(inputs, width, stride), *(block(outputs, width, 1) for _ in range(depth - 1)))


def he_normal(network: nn.Module) -> None:
    """Convolutions ~ N(0, 2 / fan_out), fan_out = k * k * output channels (He et al. 2015); in place."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
