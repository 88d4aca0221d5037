"""Networks of the field's repositories: which architecture of ours each is, by its name and by its tensors."""

from __future__ import annotations

import re
from collections.abc import Callable

from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown
from randsmooth.models.registry import ARCHITECTURES

State = dict[str, Tensor]

# The authors' names -> ours. acr-weakness's cifar_resnet50 is the CIFAR network of that depth.
NAMES = {
    "cifar_resnet50": "cifar-resnet50",
    "cifar_wrn": "wrn28-10",
    "cifar_wrn40": "wrn40-10",
    "imagenet32_wrn": "wrn28-10",
    "cifar_densenet40": "densenet40",
    "lenet": "lenet",
    "resnet50": "resnet50",
}
OF_DEPTH = re.compile(r"(?:cifar|cifar10|cifar100|imagenet32|svhn)_(resnet[0-9]+)")
WRITTEN = "cifar_resnetN, cifar100_resnetN, imagenet32_resnetN, " + ", ".join(NAMES)
WAY_ON = (
    "Our names are those of `randsmooth train --arch`, and another package can add one (randsmooth.architectures); any "
    "other network can be certified from Python, where you build it: rs.certify(model, ...)"
)
LENET = {"conv1": "0", "conv2": "3", "fc1": "7", "fc2": "9"}  # the authors' layers -> places in our nn.Sequential


def our_name(arch: str) -> str | None:
    """The architecture of ours that the authors call `arch`; None for one that is not known here.

    Example:
        >>> our_name("cifar_resnet110"), our_name("cifar_resnet50"), our_name("VGG16")
        ('resnet110', 'cifar-resnet50', None)
    """
    if arch in NAMES:
        return NAMES[arch]
    match = OF_DEPTH.fullmatch(arch)
    return match[1] if match else None


def chosen_arch(asked: str) -> str:
    """The architecture of ours that a user asks for, by our name or the authors'.

    Raises:
        InputError: neither knows it.
    """
    ours = our_name(asked) or asked
    if ours not in ARCHITECTURES and not re.fullmatch(r"resnet[0-9]{1,4}|wrn[0-9]{1,4}-[0-9]{1,2}", ours):
        raise unknown("architecture", shown(asked), [*ARCHITECTURES, *NAMES])
    return ours


def recognised(stated: str | None, state: State) -> str:
    """The architecture of ours that a checkpoint is for: the one that its tensors show, which must be the `stated` one.

    Args:
        stated: the name that the file gives, in its authors' words; None where it gives none.
        state: its tensors, by the names of the network.

    Raises:
        InputError: the name cannot be built here, the tensors are of no network that is known here, or the two differ.
    """
    shows = arch_of(state)
    if stated is None:
        if shows is None:
            first = ", ".join(list(state)[:4])
            raise InputError(
                f"the file names no architecture, and its {len(state)} tensors ({shown(first)}, ...) are those of no "
                f"network that is known here: say which it is (arch=, --arch). {WAY_ON}"
            )
        return shows
    ours = our_name(stated)
    if ours is None:
        raise InputError(
            f"the file is of the architecture {shown(repr(stated))}, which cannot be built here; known are {WRITTEN}. "
            f"If it is one of ours by another name, give that (arch=, --arch). {WAY_ON}"
        )
    if shows is not None and shows != ours:
        raise InputError(
            f"the file says that it is of the architecture {stated!r}, but its tensors are those of {shows}: which is "
            f"right? arch={shows!r} (--arch {shows}) goes by the tensors"
        )
    return ours


def arch_of(state: State) -> str | None:
    """The architecture of ours whose tensors `state` has, by the authors' names; None if it is not known here."""
    return next((arch for shows in FAMILIES if (arch := shows(state)) is not None), None)


def our_tensors(arch: str, state: State) -> State:
    """The tensors under the names of our `arch`, with a count of batches where an old file has none."""
    if arch == "lenet" and LENET.keys() == {name.partition(".")[0] for name in state}:
        return {".".join([LENET[layer], rest]): state[f"{layer}.{rest}"] for layer, rest in _split(state)}
    return state


def is_denoiser(state: State) -> bool:
    """Whether these are the tensors of a DnCNN, as Salman et al. 2020 released them."""
    return all(name.startswith("dncnn.") for name in state)


def denoiser_size(state: State) -> tuple[int, str]:
    """The image channels of a DnCNN, and our name for one of its depth and width.

    Raises:
        InputError: it does not begin with a convolution.
    """
    first = _shape(state, "dncnn.0.weight")
    if len(first) != 4:
        raise InputError("the file has the names of a DnCNN, but its dncnn.0.weight is no kernel of a convolution")
    depth = sum(tensor.dim() == 4 for tensor in state.values())
    return first[1], f"dncnn-{depth}x{first[0]}"


def outputs_and_channels(state: State) -> tuple[int | None, int | None]:
    """The number of logits, from the last matrix, and of image channels, from the first kernel; None where none is."""
    matrices = [len(tensor) for tensor in state.values() if tensor.dim() == 2]
    kernels = [tensor.shape[1] for tensor in state.values() if tensor.dim() == 4]
    return (matrices[-1] if matrices else None), (kernels[0] if kernels else None)


def _split(state: State) -> list[tuple[str, str]]:
    return [(layer, rest) for name in state for layer, _, rest in [name.partition(".")]]


def _shape(state: State, name: str) -> tuple[int, ...]:
    return tuple(state[name].shape) if name in state else ()


def _count(state: State, prefix: str) -> int:
    """How many numbered modules there are below `prefix`."""
    return len({name[len(prefix) :].partition(".")[0] for name in state if name.startswith(prefix)})


def _lenet(state: State) -> str | None:
    expected = {f"{layer}.{kind}" for layer in LENET for kind in ("weight", "bias")}
    kernels = (_shape(state, "conv1.weight")[:1], _shape(state, "conv2.weight"))
    return "lenet" if state.keys() == expected and kernels == ((20,), (50, 20, 5, 5)) else None


def _cifar_resnet(state: State) -> str | None:
    """Basic blocks in three equal stages after a 3x3 convolution to 16 channels; 1x1 convolutions as shortcuts."""
    stages = [_count(state, f"layer{stage}.") for stage in (1, 2, 3, 4)]
    begins = _shape(state, "conv1.weight")
    basic = "layer1.0.conv3.weight" not in state and "layer2.0.downsample.0.weight" in state
    if stages[0] == 0 or stages != [stages[0]] * 3 + [0] or begins[:1] + begins[2:] != (16, 3, 3) or not basic:
        return None
    depth = 6 * stages[0] + 2
    return "cifar-resnet50" if depth == 50 else f"resnet{depth}"


def _resnet50(state: State) -> str | None:
    """Bottlenecks after a 7x7 convolution."""
    stages = [_count(state, f"layer{stage}.") for stage in (1, 2, 3, 4)]
    begins = _shape(state, "conv1.weight")
    bottleneck = _shape(state, "layer1.0.conv3.weight") == (256, 64, 1, 1)
    return "resnet50" if stages == [3, 4, 6, 3] and begins[2:] == (7, 7) and bottleneck else None


def _wide_resnet(state: State) -> str | None:
    groups = [_count(state, f"block{group}.layer.") for group in (1, 2, 3)]
    channels = _shape(state, "block1.layer.0.conv1.weight")[:1]
    if groups[0] == 0 or len({*groups}) > 1 or not channels or channels[0] % 16:
        return None
    return f"wrn{6 * groups[0] + 4}-{channels[0] // 16}"


def _densenet40(state: State) -> str | None:
    blocks = [_count(state, f"features.block{block}.layer") for block in (1, 2, 3, 4)]
    grows = _shape(state, "features.block1.layer1.brc_2.conv.weight")
    pooled = "features.trans1.brc.conv.weight" not in state
    return "densenet40" if blocks == [6, 6, 6, 0] and grows == (12, 48, 3, 3) and pooled else None


FAMILIES: tuple[Callable[[State], str | None], ...] = (_lenet, _cifar_resnet, _resnet50, _wide_resnet, _densenet40)
