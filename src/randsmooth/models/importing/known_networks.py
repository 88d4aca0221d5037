"""Networks of the field's repositories: which architecture of ours each is, by its name and by its tensors."""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown
from randsmooth.models.registry import ARCHITECTURES, FAMILIES, build

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
WAY_ON = (
    f"known are cifar_resnetN, cifar100_resnetN, imagenet32_resnetN, {', '.join(NAMES)}. If it is one of ours by "
    "another name, give that (arch=, --arch), one of `randsmooth train --arch` or of another package "
    "(randsmooth.architectures); any other network can be certified from Python: rs.certify(model, ...)"
)
COUNTER = "num_batches_tracked"  # of a batch norm that has a momentum, it changes nothing; torch before 0.4.1 had none
LENET = {"conv1": "0", "conv2": "3", "fc1": "7", "fc2": "9"}  # the authors' layers -> places in our nn.Sequential


def our_name(arch: str) -> str | None:
    """The architecture of ours that the authors call `arch`; None for one that is not known here.

    Example:
        >>> our_name("cifar_resnet110"), our_name("cifar_resnet50"), our_name("VGG16")
        ('resnet110', 'cifar-resnet50', None)
    """
    match = OF_DEPTH.fullmatch(arch)
    return NAMES.get(arch, match[1] if match else None)


def chosen_arch(asked: str | None, stated: str | None, state: State) -> str:
    """The architecture of ours that a checkpoint is for: the one asked for, else that which its tensors show.

    Args:
        asked: what a user asks for, by our name or the authors'; None: nothing.
        stated: the name that the file gives, in its authors' words, which must agree with its tensors; None: none.
        state: its tensors, by the names of the network.

    Raises:
        InputError: a name cannot be built here, the tensors are of no network that is known here, or the two differ.
    """
    if asked is not None:
        ours = our_name(asked) or asked
        if ours not in ARCHITECTURES and not any(re.fullmatch(family, ours) for family in FAMILIES):
            raise unknown("architecture", shown(asked), [*ARCHITECTURES, *NAMES])
        return ours
    shows, says = arch_of(state), our_name(stated) if stated else None
    if stated and says is None:
        raise InputError(f"the file is of the architecture {shown(repr(stated))}, which cannot be built here; {WAY_ON}")
    if shows and says and shows != says:
        raise InputError(
            f"the file says that it is of the architecture {stated!r}, but its tensors are those of {shows}: which is "
            f"right? arch={shows!r} (--arch {shows}) goes by the tensors"
        )
    found = says or shows
    if found is None:
        raise InputError(
            f"the file names no architecture, and its {len(state)} tensors ({shown(', '.join(list(state)[:4]))}, ...) "
            f"are those of no network that is known here; {WAY_ON}"
        )
    return found


def arch_of(state: State) -> str | None:
    """The architecture of ours that has these tensors, by the authors' names; None if it is not known here.

    Compared are the names of all and the shapes of kernels, but for the number of channels of images.
    """
    for arch in _guesses(state):
        with torch.device("meta"):
            expected = build(arch, in_channels=3, image_size=32, num_classes=10).state_dict()
        if _kernels(expected) == _kernels(our_tensors(arch, state)):
            return arch
    return None


def _guesses(state: State) -> Iterator[str]:
    """Architectures that the numbers of blocks and channels allow."""
    yield from ("lenet", "densenet40", "resnet50")
    blocks, groups = (_count(state, prefix) for prefix in ("layer1.", "block1.layer."))
    if 0 < blocks < 1000:
        yield "cifar-resnet50" if blocks == 8 else f"resnet{6 * blocks + 2}"
    channels = len(state.get("block1.layer.0.conv1.weight", ()))
    if 0 < groups < 1000 and 16 <= channels < 1600:
        yield f"wrn{6 * groups + 4}-{channels // 16}"


def _count(state: State, prefix: str) -> int:
    """How many numbered modules there are below `prefix`."""
    return len({name[len(prefix) :].partition(".")[0] for name in state if name.startswith(prefix)})


def _kernels(state: State) -> dict[str, tuple[int, ...]]:
    """The names of tensors other than counters, with the shape of each kernel; of the first one without its inputs."""
    shapes = {name: tuple(each.shape) if each.dim() == 4 else () for name, each in state.items() if COUNTER not in name}
    first = next((name for name, shape in shapes.items() if shape), None)
    return shapes if first is None else shapes | {first: (shapes[first][0], *shapes[first][2:])}


def our_tensors(arch: str, state: State) -> State:
    """The tensors under the names of our `arch`."""
    layers = {name.partition(".")[0] for name in state}
    if arch != "lenet" or layers != LENET.keys():
        return state
    split = [name.partition(".") for name in state]
    return {f"{LENET[layer]}.{rest}": state[f"{layer}.{rest}"] for layer, _, rest in split}


def is_denoiser(state: State) -> bool:
    """Whether these are the tensors of a DnCNN, as Salman et al. 2020 released them."""
    return all(name.startswith("dncnn.") for name in state)


def denoiser_size(state: State) -> tuple[int, str]:
    """The image channels of a DnCNN, and our name for one of its depth and width.

    Raises:
        InputError: it does not begin with a convolution.
    """
    first = state.get("dncnn.0.weight")
    if first is None or first.dim() != 4 or not is_denoiser(state):
        raise InputError("the file holds no DnCNN, whose tensors are called dncnn.0.weight and so on")
    depth = sum(tensor.dim() == 4 for tensor in state.values())
    return first.shape[1], f"dncnn-{depth}x{first.shape[0]}"
