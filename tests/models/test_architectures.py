"""Architectures have the published sizes, and the layer for CPUs computes what torch's does.

tests/testing says what all architectures have in common.
"""

import itertools
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from models.refusing import check_refusals
from randsmooth.errors import InputError
from randsmooth.models import ARCHITECTURES, Architecture, build
from randsmooth.models.architectures.convolutional import MaxPool2x2

PARAMETERS = [
    ("small-cnn", 1, 8, 10, 29_066),
    ("lenet", 1, 28, 10, 431_080),
    ("resnet20", 3, 32, 10, 272_474),
    ("resnet110", 3, 32, 10, 1_730_714),
    ("resnet50", 3, 224, 1000, 25_557_032),
    ("cifar-resnet50", 3, 32, 10, 758_554),
    ("wrn40-2", 3, 32, 10, 2_243_546),
    ("wrn28-10", 3, 32, 10, 36_479_194),
    ("densenet40", 3, 32, 10, 211_978),
]


def test_networks_have_the_published_numbers_of_parameters() -> None:
    for arch, channels, side, classes, expected in PARAMETERS:
        network = build(arch, in_channels=channels, image_size=side, num_classes=classes)
        assert sum(p.numel() for p in network.parameters()) == expected, arch


def test_resnet50_has_torchvisions_names_shapes_and_strides() -> None:
    network = build("resnet50", in_channels=3, image_size=224, num_classes=1000)
    state = network.state_dict()
    shapes = {"conv1.weight": (64, 3, 7, 7), "layer1.0.downsample.0.weight": (256, 64, 1, 1), "fc.bias": (1000,)}
    shapes |= {"layer2.0.conv2.weight": (128, 128, 3, 3), "layer3.5.bn3.bias": (1024,), "bn1.running_mean": (64,)}
    assert len(state) == 320 and {name: tuple(state[name].shape) for name in shapes} == shapes
    convolutions = [network.get_submodule(f"layer2.0.conv{i}") for i in (1, 2, 3)]
    assert [layer.stride for layer in convolutions if isinstance(layer, nn.Conv2d)] == [(1, 1), (2, 2), (1, 1)]


def test_what_cannot_be_built_is_refused() -> None:
    good: dict[str, Any] = {"arch": "resnet8", "in_channels": 3, "image_size": 32, "num_classes": 10}
    bad: list[tuple[dict[str, Any], list[str]]] = [
        ({"arch": "resnet50", "image_size": 8}, ["8x8", "32x32"]),
        ({"arch": "lennet"}, ["'lennet'", "'lenet'"]),
        ({"arch": "resnet21"}, ["resnet21", "6n + 2"]),
        ({"arch": "wrn11-2"}, ["wrn11-2", "6n + 4"]),
    ]
    check_refusals((partial(build, **(good | change)), " | ".join(words)) for change, words in bad)
    with pytest.raises(InputError, match="lenet"):
        ARCHITECTURES.add("lenet", Architecture(build, min_size=1))


def test_pooling_is_torchs_in_values_and_gradients_with_ties_and_odd_sides() -> None:
    kinds = itertools.product(
        (torch.float32, torch.float64, torch.bfloat16, torch.float16),
        (torch.contiguous_format, torch.channels_last),
        (24, 9),
        (2, 10_000),  # a coarse grid makes most windows hold ties
    )
    for dtype, layout, side, grid in kinds:
        generator = torch.Generator().manual_seed(0)
        whole = torch.randint(-grid, grid, (4, 20, side, side), generator=generator)
        x = (whole / grid).to(dtype).contiguous(memory_format=layout)
        assert torch.equal(MaxPool2x2()(x), F.max_pool2d(x, 2)), (dtype, layout, side, grid)
        x.requires_grad_()
        ours, theirs = (torch.autograd.grad(layer(x).sum(), x)[0] for layer in (MaxPool2x2(), nn.MaxPool2d(2)))
        assert torch.equal(ours, theirs), (dtype, layout, side, grid)
