"""ResNet-50 for ImageNet, with torchvision's parameter names and shapes (so its weights load unchanged)."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from randsmooth.models.architectures.residual import Block, he_normal, stage
from randsmooth.models.registry import Architecture


class Bottleneck(Block):
    """1x1, 3x3, 1x1 convolutions; the 3x3 one has the stride ("v1.5", as torchvision)."""

    expansion: ClassVar[int] = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__(inputs, width, stride)
        outputs = width * self.expansion
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)

    def residual(self, x: Tensor) -> Tensor:
        hidden = self.relu(self.bn1(self.conv1(x)))
        hidden = self.relu(self.bn2(self.conv2(hidden)))
        return self.bn3(self.conv3(hidden))  # type: ignore[no-any-return]


class ImageNetResNet50(nn.Module):
    """A 7x7 stem with a pool, then 3, 4, 6, 3 bottlenecks: every image side is divided by 32."""

    def __init__(self, *, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = stage(Bottleneck, 64, 64, 3, stride=1)
        self.layer2 = stage(Bottleneck, 256, 128, 4, stride=2)
        self.layer3 = stage(Bottleneck, 512, 256, 6, stride=2)
        self.layer4 = stage(Bottleneck, 1024, 512, 3, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(2048, num_classes)
        he_normal(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))  # type: ignore[no-any-return]


def resnet50(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    """25,557,032 parameters for 3 channels and 1000 classes."""
    return ImageNetResNet50(in_channels=in_channels, num_classes=num_classes)


RESNET50 = Architecture(resnet50, min_size=32)
