"""The field's networks in eval mode, written plainly from their state dicts in the authors' names: a check of ours."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

State = dict[str, Tensor]


def norm(state: State, name: str, x: Tensor) -> Tensor:
    mean, var = state[f"{name}.running_mean"], state[f"{name}.running_var"]
    return F.batch_norm(x, mean, var, state[f"{name}.weight"], state[f"{name}.bias"])


def cifar_resnet(state: State, x: Tensor, blocks: int) -> Tensor:
    """He et al. 2016, with the shortcuts of locuslab/smoothing: 1x1 convolutions where the shape changes."""
    x = F.relu(norm(state, "bn1", F.conv2d(x, state["conv1.weight"], padding=1)))
    for stage in (1, 2, 3):
        for block in range(blocks):
            at, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            hidden = F.relu(
                norm(
                    state,
                    f"{at}.bn1",
                    F.conv2d(x, state[f"{at}.conv1.weight"], None, stride, 1),
                )
            )
            hidden = norm(
                state,
                f"{at}.bn2",
                F.conv2d(hidden, state[f"{at}.conv2.weight"], padding=1),
            )
            if f"{at}.downsample.0.weight" in state:
                shortcut = F.conv2d(x, state[f"{at}.downsample.0.weight"], None, stride)
                x = norm(state, f"{at}.downsample.1", shortcut)
            x = F.relu(hidden + x)
    return F.linear(x.mean((2, 3)), state["fc.weight"], state["fc.bias"])


def wide_resnet(state: State, x: Tensor, blocks: int) -> Tensor:
    """Zagoruyko & Komodakis 2016, as xternalz/WideResNet-pytorch: the shortcut convolution sees the activated input."""
    x = F.conv2d(x, state["conv1.weight"], padding=1)
    for group in (1, 2, 3):
        for block in range(blocks):
            at, stride = (
                f"block{group}.layer.{block}",
                2 if group > 1 and block == 0 else 1,
            )
            activated = F.relu(norm(state, f"{at}.bn1", x))
            hidden = F.conv2d(activated, state[f"{at}.conv1.weight"], None, stride, 1)
            hidden = F.conv2d(
                F.relu(norm(state, f"{at}.bn2", hidden)),
                state[f"{at}.conv2.weight"],
                padding=1,
            )
            if f"{at}.convShortcut.weight" in state:
                x = F.conv2d(
                    activated, state[f"{at}.convShortcut.weight"], None, stride
                )
            x = hidden + x
    x = F.avg_pool2d(F.relu(norm(state, "bn1", x)), 8)
    return F.linear(x.flatten(1), state["fc.weight"], state["fc.bias"])


def densenet40(state: State, x: Tensor) -> Tensor:
    """Huang et al. 2017, as jh-jeong/smoothing-consistency: bottlenecks, and transitions that only pool."""
    x = F.conv2d(x, state["features.conv0.weight"], padding=1)
    for block in (1, 2, 3):
        for layer in range(1, 7):
            at = f"features.block{block}.layer{layer}"
            hidden = F.conv2d(
                F.relu(norm(state, f"{at}.brc_1.norm", x)),
                state[f"{at}.brc_1.conv.weight"],
            )
            hidden = F.relu(norm(state, f"{at}.brc_2.norm", hidden))
            x = torch.cat(
                [x, F.conv2d(hidden, state[f"{at}.brc_2.conv.weight"], padding=1)], 1
            )
        if block < 3:
            x = F.avg_pool2d(x, 2)
    x = F.avg_pool2d(F.relu(norm(state, "features.norm_last", x)), 8)
    return F.linear(x.flatten(1), state["classifier.weight"], state["classifier.bias"])


def lenet(state: State, x: Tensor) -> Tensor:
    """MACER's LeNet."""
    x = F.max_pool2d(F.relu(F.conv2d(x, state["conv1.weight"], state["conv1.bias"])), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, state["conv2.weight"], state["conv2.bias"])), 2)
    x = F.relu(F.linear(x.flatten(1), state["fc1.weight"], state["fc1.bias"]))
    return F.linear(x, state["fc2.weight"], state["fc2.bias"])


def dncnn(state: State, x: Tensor, depth: int) -> Tensor:
    """Zhang et al. 2017, as microsoft/denoised-smoothing: the network predicts the noise."""
    hidden = F.relu(
        F.conv2d(x, state["dncnn.0.weight"], state["dncnn.0.bias"], padding=1)
    )
    for place in range(2, 2 + 3 * (depth - 2), 3):
        hidden = F.conv2d(hidden, state[f"dncnn.{place}.weight"], padding=1)
        at = f"dncnn.{place + 1}"
        mean, var = state[f"{at}.running_mean"], state[f"{at}.running_var"]
        hidden = F.relu(
            F.batch_norm(
                hidden, mean, var, state[f"{at}.weight"], state[f"{at}.bias"], eps=1e-4
            )
        )
    return x - F.conv2d(hidden, state[f"dncnn.{3 * depth - 4}.weight"], padding=1)


# The authors' name, our architecture, how many classes, and the network.
PLAIN: list[tuple[str, str, int, Callable[[State, Tensor], Tensor]]] = [
    ("cifar_resnet20", "resnet20", 10, lambda state, x: cifar_resnet(state, x, 3)),
    (
        "cifar_resnet50",
        "cifar-resnet50",
        10,
        lambda state, x: cifar_resnet(state, x, 8),
    ),
    ("cifar_resnet110", "resnet110", 10, lambda state, x: cifar_resnet(state, x, 18)),
    (
        "cifar100_resnet110",
        "resnet110",
        100,
        lambda state, x: cifar_resnet(state, x, 18),
    ),
    (
        "imagenet32_resnet110",
        "resnet110",
        1000,
        lambda state, x: cifar_resnet(state, x, 18),
    ),
    ("cifar_wrn", "wrn28-10", 10, lambda state, x: wide_resnet(state, x, 4)),
    ("cifar_densenet40", "densenet40", 10, densenet40),
    ("lenet", "lenet", 10, lenet),
]
