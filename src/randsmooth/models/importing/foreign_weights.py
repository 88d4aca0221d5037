"""Files in which other projects keep weights: read without running anything, and known as networks of ours."""

import hashlib
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor

from randsmooth.contents import check_itself, what_it_is
from randsmooth.documents import shown
from randsmooth.errors import NotFound, Problem, WrongFile
from randsmooth.models.registry import build
from randsmooth.models.torch_files import load_plain
from randsmooth.models.weights import COUNTER, check_tensor

State = dict[str, Tensor]

# Keys under which scripts keep a state dict: locuslab/smoothing and those that follow it, MACER, and tutorials.
STATE_KEYS = ("state_dict", "net", "model_state_dict", "model")
MOST_TENSORS = 100_000
ANYWHERE = {"module", "_orig_mod"}  # in names: nn.DataParallel and torch.compile
OUTSIDE = {
    "1",
    "model",
    "net",
    "network",
}  # the network in nn.Sequential(normalisation, network), and in rs4a
LAYER = re.compile(
    r"(?:0|norm|normalize|normalise|normalizer)\.(?:(mu|means?)|(sds?|std|sigma)|(log_sig))"
)
EXPECTED = (
    "expected tensors and plain values alone, with a state dict under "
    f"{', '.join(STATE_KEYS)} or nothing else"
)
WAY_OUT = (
    f"{EXPECTED}. A pickle can run anything, and nothing is run here: if you trust the file, "
    "open it with the code that wrote it, "
    "and save torch.save({'state_dict': model.state_dict()}, 'weights.pth')"
)

WAY_ON = (
    "known are the CIFAR ResNets, ResNet-50, wide ResNets, DenseNet-40 and MACER's LeNet. An architecture of another "
    "package (randsmooth.architectures) is given by its name (arch); any other network can be certified from "
    "Python: rs.certify(model, ...), or opened by the lines that `randsmooth assess` of this file prints"
)
LENET = {
    "conv1": "0",
    "conv2": "3",
    "fc1": "7",
    "fc2": "9",
}  # the authors' layers -> places in our nn.Sequential


class NoWeights(WrongFile):
    """What a file holds is read, and is no state dict of finite numbers."""


class ForeignCheckpoint(NamedTuple):
    """What a file of another project holds.

    Attributes:
        path: of the file.
        origin: where the weights come from, for the provenance of a model: the file and its hash, what was found in it,
            the name of the network in the words of its authors (None: not said), how many epochs it was trained.
        network: the tensors by the names that the network itself gives them; floats as float32.
        mean, std: of the normalisation that is stored beside it, a number a channel; None where there is none.
    """

    path: Path
    origin: dict[str, Any]
    network: State
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None


def read_checkpoint(path: Path) -> ForeignCheckpoint:
    """What the file at `path` holds: that of `torch.save` with a state dict somewhere in it, or of safetensors.

    Raises:
        Problem: there is no such file, it is damaged, it holds code, or no state dict.
    """
    if not path.is_file():
        raise NotFound(
            f"no checkpoint at {path}: give a file that torch.save or safetensors wrote",
            file=path,
        )
    check_itself(path)
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        held = load_file(path) if path.suffix == ".safetensors" else _read_torch(path)
        key, state = _state_dict(held)
        network, mean, std = _unwrapped(
            {name: _plain(name, tensor) for name, tensor in state.items()}
        )
    except Exception as error:  # from damaged bytes, unpickling may raise anything
        if kind := what_it_is(path):
            raise WrongFile(
                f"{path} {kind}; expected a file of torch.save or safetensors",
                file=path,
            ) from error
        reason = str(error).strip().partition("\n")[0]
        if isinstance(error, NoWeights):
            raise WrongFile(f"{path} {shown(reason)}: {EXPECTED}", file=path) from error
        raise WrongFile(
            f"{path} cannot be imported ({shown(reason or type(error).__name__)}): {WAY_OUT}",
            file=path,
        ) from error
    facts = held if key else {}
    arch, epoch = facts.get("arch"), facts.get("epoch")
    container = (
        f"state dict under {key!r} beside {', '.join(map(shown, facts))}"
        if key
        else "bare state dict"
    )
    origin: dict[str, Any] = {
        "file": path.name,
        "sha256": sha256,
        "container": container,
    }
    origin["arch"] = arch if isinstance(arch, str) else None
    return ForeignCheckpoint(
        path,
        origin | ({"epoch": epoch} if type(epoch) is int else {}),
        network,
        mean,
        std,
    )


def _read_torch(path: Path) -> Any:
    if zipfile.is_zipfile(
        path
    ):  # before torch 1.6 files were pickles without an archive around them
        with zipfile.ZipFile(path) as archive:
            if any(name.endswith("/constants.pkl") for name in archive.namelist()):
                raise WrongFile(
                    "it is a TorchScript module, which `randsmooth certify` takes as it is"
                )
    return load_plain(path)


def _state_dict(held: Any) -> tuple[str, Mapping[str, Tensor]]:
    """The state dict in what a file holds, and the key under which it lies; an empty key for a bare one."""
    inside = (
        {key: held[key] for key in STATE_KEYS if key in held}
        if isinstance(held, Mapping)
        else {}
    )
    for key, state in (inside | {"": held}).items():
        entries = (
            state.items()
            if isinstance(state, Mapping) and 0 < len(state) <= MOST_TENSORS
            else [(None, None)]
        )
        if all(
            isinstance(name, str) and isinstance(tensor, Tensor)
            for name, tensor in entries
        ):
            return key, state
    keys = (
        f" with {', '.join(map(repr, list(held)[:8]))}"
        if isinstance(held, Mapping)
        else ""
    )
    raise NoWeights(f"holds a {type(held).__name__}{keys}, and no state dict")


def _plain(name: str, tensor: Tensor) -> Tensor:
    """A tensor of a state dict; floating point numbers of any length as float32, in which networks are run."""
    try:
        check_tensor(tensor)
        whole = tensor.detach()
        plain = whole.float() if whole.is_floating_point() else whole
        check_tensor(plain)  # float32 may not hold what float64 did
        return plain
    except Problem as error:
        raise NoWeights(f"holds under {name}, in float32, {error}") from None


def _unwrapped(
    state: State,
) -> tuple[State, tuple[float, ...] | None, tuple[float, ...] | None]:
    """The tensors without the names of what was put around the network; mean and deviation of a normalisation layer."""
    names = {
        name: ".".join(part for part in name.split(".") if part not in ANYWHERE)
        for name in state
    }
    layer = {
        short: state[name] for name, short in names.items() if LAYER.fullmatch(short)
    }
    inside = {name: short for name, short in names.items() if short not in layer}
    while (
        len(outer := {short.partition(".")[0] for short in inside.values()}) == 1
        and outer <= OUTSIDE
    ):
        inside = {name: short.partition(".")[2] for name, short in inside.items()}
    network = {short: state[name] for name, short in inside.items()}
    if len(network) < len(inside):
        raise WrongFile("several tensors have one name without those of wrappers")
    if not layer:
        return network, None, None
    kinds = {
        match.lastindex: tensor
        for name, tensor in layer.items()
        if (match := LAYER.fullmatch(name))
    }
    if len(kinds) < len(layer) or 1 not in kinds or len(kinds) > 2:
        raise WrongFile(
            f"its normalisation is {', '.join(layer)}, and expected are one mean and one deviation"
        )
    std = kinds[3].exp() if 3 in kinds else kinds.get(2, torch.ones_like(kinds[1]))
    return network, tuple(kinds[1].flatten().tolist()), tuple(std.flatten().tolist())


def arch_of(state: State, stated: str | None = None) -> str:
    """The architecture of ours that has these tensors, by the authors' names.

    Compared are the names of all and the shapes of kernels, but for the number of channels of images.

    Args:
        state: tensors by the names of the network.
        stated: the name that the file gives, in its authors' words, for the error; None: none.

    Raises:
        Problem: the tensors are of no network that is known here.
    """
    blocks, groups = (
        len({name.split(".")[depth] for name in state if name.startswith(prefix)})
        for depth, prefix in ((1, "layer1."), (2, "block1.layer."))
    )
    guesses = [
        "lenet",
        "densenet40",
        "resnet50",
        "cifar-resnet50" if blocks == 8 else f"resnet{6 * blocks + 2}",
    ]
    channels = len(state.get("block1.layer.0.conv1.weight", ()))
    guesses += (
        [f"wrn{6 * groups + 4}-{channels // 16}"] if groups and channels >= 16 else []
    )
    for arch in guesses:
        try:
            with torch.device("meta"):
                expected = build(
                    arch, in_channels=3, image_size=32, num_classes=10
                ).state_dict()
        except Problem:  # without blocks, or with too many, it is none
            continue
        if _kernels(expected) == _kernels(our_tensors(arch, state)):
            return arch
    called = f" of the architecture {shown(repr(stated))}" if stated else ""
    some = f"{len(state)} tensors{called} ({shown(', '.join(list(state)[:4]))}, ...)"
    raise WrongFile(f"the {some} are those of no network that is known here; {WAY_ON}")


def _kernels(state: State) -> dict[str, tuple[int, ...]]:
    """The names of tensors other than counters, with the shape of each kernel; of the first one without its inputs."""
    shapes = {
        name: tuple(each.shape) if each.dim() == 4 else ()
        for name, each in state.items()
        if COUNTER not in name
    }
    first = next((name for name, shape in shapes.items() if shape), None)
    return (
        shapes
        if first is None
        else shapes | {first: (shapes[first][0], *shapes[first][2:])}
    )


def our_tensors(arch: str, state: State) -> State:
    """The tensors under the names of our `arch`."""
    if arch != "lenet" or {name.partition(".")[0] for name in state} != LENET.keys():
        return state
    return {
        re.sub(r"\w+", lambda layer: LENET[layer[0]], name, count=1): state[name]
        for name in state
    }


def denoiser_size(state: State) -> tuple[int, str] | None:
    """The image channels of a DnCNN, as Salman et al. 2020 released them, and our name for its size; None: another."""
    first = state.get("dncnn.0.weight")
    if (
        first is None
        or first.dim() != 4
        or not all(name.startswith("dncnn.") for name in state)
    ):
        return None
    return first.shape[
        1
    ], f"dncnn-{sum(tensor.dim() == 4 for tensor in state.values())}x{first.shape[0]}"
