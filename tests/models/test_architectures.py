"""Architectures have the published sizes, and the layers for CPUs compute what torch's do.

tests/testing says what all architectures have in common.
"""

import itertools
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.refusing import check_refusals
from randsmooth.errors import BadValue, UnknownName, WrongData
from randsmooth.models import ARCHITECTURES, Architecture, build
from randsmooth.models.architectures.convolutional import MaxPool2x2, Stem
from values import Refusal, refused

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
        network = build(
            arch, in_channels=channels, image_size=side, num_classes=classes
        )
        assert sum(p.numel() for p in network.parameters()) == expected, arch


def test_resnet50_has_torchvisions_names_shapes_and_strides() -> None:
    network = build("resnet50", in_channels=3, image_size=224, num_classes=1000)
    state = network.state_dict()
    shapes = {
        "conv1.weight": (64, 3, 7, 7),
        "layer1.0.downsample.0.weight": (256, 64, 1, 1),
        "fc.bias": (1000,),
    }
    shapes |= {
        "layer2.0.conv2.weight": (128, 128, 3, 3),
        "layer3.5.bn3.bias": (1024,),
        "bn1.running_mean": (64,),
    }
    assert (
        len(state) == 320
        and {name: tuple(state[name].shape) for name in shapes} == shapes
    )
    convolutions = [network.get_submodule(f"layer2.0.conv{i}") for i in (1, 2, 3)]
    assert [layer.stride for layer in convolutions if isinstance(layer, nn.Conv2d)] == [
        (1, 1),
        (2, 2),
        (1, 1),
    ]


def test_what_cannot_be_built_is_refused() -> None:
    good: dict[str, Any] = {
        "arch": "resnet8",
        "in_channels": 3,
        "image_size": 32,
        "num_classes": 10,
    }
    bad: list[tuple[dict[str, Any], Refusal]] = [
        (
            {"arch": "resnet50", "image_size": 8},
            Refusal(WrongData, "8x8", "32x32"),
        ),
        ({"arch": "lennet"}, Refusal(UnknownName, "lenet", field="architecture")),
        ({"arch": "resnet21"}, Refusal(BadValue, "resnet21", "6n + 2")),
        ({"arch": "wrn11-2"}, Refusal(BadValue, "wrn11-2", "6n + 4")),
    ]
    check_refusals(
        (partial(build, **(good | change)), expected) for change, expected in bad
    )
    with refused(BadValue):
        ARCHITECTURES.add("lenet", Architecture(build, min_size=1))


def _gradients(
    layer: nn.Module,
    x: Tensor,
    weights: Tensor,
    wanted: tuple[bool, bool] = (True, True),
) -> list[Tensor]:
    """The output, and the gradients by x and by the parameters as far as `wanted`."""
    x = x.detach().clone().requires_grad_(wanted[0])
    layer.requires_grad_(wanted[1])
    out = layer(x)
    asked = [x] * wanted[0] + [*layer.parameters()] * wanted[1]
    return [out.detach(), *torch.autograd.grad(out, asked, weights.to(out))]


def test_the_first_convolution_is_torchs_in_values_and_gradients() -> None:
    kinds = itertools.product(
        ((torch.float64, 1e-12), (torch.float32, 1e-5)),
        ((1, 28, 5), (3, 16, 5), (2, 9, 3)),
        (torch.contiguous_format, torch.channels_last),
        ((True, False), (False, True), (True, True)),
    )
    for (dtype, close), (channels, side, kernel), layout, wanted in kinds:
        ours, theirs = (
            Stem(channels, 20, kernel).to(dtype),
            nn.Conv2d(channels, 20, kernel).to(dtype),
        )
        theirs.load_state_dict(ours.state_dict())
        x = torch.rand(6, channels, side, side + 3, dtype=dtype).contiguous(
            memory_format=layout
        )
        weights = torch.randn(6, 20, side + 1 - kernel, side + 4 - kernel)
        found, expected = (
            _gradients(layer, x, weights, wanted) for layer in (ours, theirs)
        )
        for left, right in zip(found, expected, strict=True):
            torch.testing.assert_close(
                left, right, rtol=close, atol=close * float(right.abs().max())
            )


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
        weights = torch.randn(F.max_pool2d(x, 2).shape, generator=generator).to(dtype)
        ours, theirs = (
            _gradients(layer, x, weights) for layer in (MaxPool2x2(), nn.MaxPool2d(2))
        )
        assert all(map(torch.equal, ours, theirs)), (dtype, layout, side, grid)
        with torch.no_grad():
            assert torch.equal(MaxPool2x2()(x), theirs[0])
