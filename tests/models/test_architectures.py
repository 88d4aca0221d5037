"""Architectures: the published ones have the published sizes (see tests/testing for what all have in common)."""

import math
from typing import Any

import pytest
import torch

from randsmooth.errors import InputError
from randsmooth.models import ARCHITECTURES, Architecture, build

SIZES = {"small-cnn": (1, 8), "lenet": (1, 28), "resnet50": (3, 64)}  # the others: (3, 32)

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


def _built(arch: str, seed: int = 0) -> tuple[torch.nn.Module, tuple[int, int]]:
    channels, side = SIZES.get(arch, (3, 32))
    torch.manual_seed(seed)
    return build(arch, in_channels=channels, image_size=side, num_classes=7).eval(), (channels, side)


@pytest.mark.parametrize(("arch", "channels", "side", "classes", "expected"), PARAMETERS)
def test_parameter_count(arch: str, channels: int, side: int, classes: int, expected: int) -> None:
    network = build(arch, in_channels=channels, image_size=side, num_classes=classes)
    assert sum(p.numel() for p in network.parameters()) == expected


@pytest.mark.parametrize("arch", ["small-cnn", "lenet", "resnet8"])
def test_compiles_without_a_graph_break(arch: str) -> None:
    network, (channels, side) = _built(arch)
    x = torch.rand(2, channels, side, side)
    compiled = torch.compile(network, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), network(x))


@pytest.mark.parametrize(("arch", "side"), [("lenet", 32), ("lenet", 16), ("resnet8", 8), ("small-cnn", 2)])
def test_other_sizes_work(arch: str, side: int) -> None:
    network = build(arch, in_channels=3, image_size=side, num_classes=10)
    assert network(torch.rand(2, 3, side, side)).shape == (2, 10)


def test_resnet50_has_torchvisions_names_and_shapes() -> None:
    state = build("resnet50", in_channels=3, image_size=224, num_classes=1000).state_dict()
    shapes = {
        "conv1.weight": (64, 3, 7, 7),
        "bn1.running_mean": (64,),
        "layer1.0.downsample.0.weight": (256, 64, 1, 1),
        "layer1.0.downsample.1.num_batches_tracked": (),
        "layer2.0.conv1.weight": (128, 256, 1, 1),
        "layer2.0.conv2.weight": (128, 128, 3, 3),
        "layer3.5.bn3.bias": (1024,),
        "layer4.2.conv3.weight": (2048, 512, 1, 1),
        "fc.bias": (1000,),
    }
    assert len(state) == 320
    assert {name: tuple(state[name].shape) for name in shapes} == shapes


def test_resnet50_has_its_stride_in_the_3x3_convolution() -> None:
    network = build("resnet50", in_channels=3, image_size=32, num_classes=2)
    first, second = (network.get_submodule(f"layer2.0.{name}") for name in ("conv1", "conv2"))
    assert isinstance(first, torch.nn.Conv2d) and isinstance(second, torch.nn.Conv2d)
    assert first.stride == (1, 1)
    assert second.stride == (2, 2)


def test_convolutions_start_he_normal_by_fan_out() -> None:
    network, _ = _built("resnet20")
    weight = network.get_parameter("layer3.2.conv2.weight")  # 36,864 numbers: the estimate is good to 1 %
    assert weight.std().item() == pytest.approx(math.sqrt(2 / (9 * 64)), rel=0.02)
    assert abs(weight.mean().item()) < 1e-3


BAD = [
    ({"arch": "resnet50", "image_size": 8}, "resnet50 cannot take 8x8 images.*32x32"),
    ({"arch": "lenet", "image_size": 8}, "lenet cannot take 8x8 images.*16x16"),
    ({"arch": "resnet20", "image_size": 4}, "8x8"),
    ({"arch": "lennet"}, "unknown architecture 'lennet': did you mean 'lenet'"),
    ({"arch": "vgg16"}, "unknown architecture 'vgg16'"),
    ({"arch": "resnet21"}, "resnet21.*6n.*resnet20 and resnet26"),
    ({"arch": "resnet49"}, "resnet44 and resnet56"),
    ({"arch": "resnet2"}, "the nearest are resnet8$"),
    ({"in_channels": 0}, "in_channels=0"),
    ({"num_classes": 1}, "num_classes=1"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(**{"arch": "resnet8", "in_channels": 3, "image_size": 32, "num_classes": 10, **change})


def test_a_name_is_taken_once() -> None:
    with pytest.raises(InputError, match="architecture 'lenet' is registered already"):
        ARCHITECTURES.add("lenet", Architecture(build, min_size=1))  # type: ignore[arg-type]
