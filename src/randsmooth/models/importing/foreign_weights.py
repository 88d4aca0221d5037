"""Files in which other projects keep weights, known as networks of ours.

They are read without running anything.
"""

import hashlib
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor

from randsmooth.contents import check_no_placeholder, what_it_is
from randsmooth.documents import shown
from randsmooth.errors import NotFound, Problem, WrongFile
from randsmooth.models.registry import build
from randsmooth.models.torch_files import load_plain
from randsmooth.models.weights import COUNTER, check_tensor

State = dict[str, Tensor]
PerChannel = tuple[float, ...]

# Keys under which scripts keep a state dict: locuslab/smoothing and those that follow it,
# MACER, and tutorials.
STATE_KEYS = ("state_dict", "net", "model_state_dict", "model")

# The most tensors that a state dict may have; the deepest of ours has fewer than 10,000.
MOST_TENSORS = 100_000

# Parts that nn.DataParallel and torch.compile put into names of tensors, at any place.
ANYWHERE = {"module", "_orig_mod"}

# Parts with which all names of a network's tensors may begin, as the network is a part of
# something: "1" in nn.Sequential(normalisation, network), the others in rs4a and similar.
OUTSIDE = {"1", "model", "net", "network"}

# A tensor of the layer before the network: its mean, its deviation, or the logarithm of that.
LAYER = re.compile(
    r"(?:0|norm|normalize|normalise|normalizer)\."
    r"(?:(?P<mean>mu|means?)|(?P<std>sds?|std|sigma)|(?P<log_std>log_sig))"
)

EXPECTED = (
    "expected tensors and plain values alone, with a state dict under "
    f"{', '.join(STATE_KEYS)} or nothing else"
)
WAY_OUT = (
    f"{EXPECTED}. A pickle can run anything, and nothing is run here: if you trust the "
    "file, open it with the code that wrote it, "
    "and save torch.save({'state_dict': model.state_dict()}, 'weights.pth')"
)
WAY_ON = (
    "known are the CIFAR ResNets, ResNet-50, wide ResNets, DenseNet-40 and MACER's LeNet. "
    "An architecture of another package (randsmooth.architectures) is given by its name "
    "(arch); any other network can be certified from Python: rs.certify(model, ...), or "
    "opened by the lines that `randsmooth assess` of this file prints"
)

# The layers of the authors' LeNet -> their places in our nn.Sequential.
LENET = {"conv1": "0", "conv2": "3", "fc1": "7", "fc2": "9"}


class NoWeights(WrongFile):
    """What a file holds is read, and is no state dict of finite numbers."""


class ForeignCheckpoint(NamedTuple):
    """What a file of another project holds.

    Attributes:
        path: the path of the file.
        origin: where the weights come from, for the provenance of a model: the file and its
            hash, what was found in it, the name of the network in the words of its authors
            (None: not said), how many epochs it was trained.
        network: the tensors by the names that the network itself gives them; floats as
            float32.
        mean: the mean of the normalisation that is stored beside the network, a number a
            channel; None where the file stores no normalisation.
        std: the standard deviation of the same, or None.
    """

    path: Path
    origin: dict[str, Any]
    network: State
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None


def read_checkpoint(path: Path) -> ForeignCheckpoint:
    """Return what a file of `torch.save` or safetensors says of a network.

    Raises:
        NotFound: there is no such file.
        WrongFile: the file is damaged, holds code, or holds no state dict.
    """
    if not path.is_file():
        raise NotFound(
            f"no checkpoint at {path}: give a file that torch.save or safetensors wrote",
            file=path,
        )
    check_no_placeholder(path)
    try:
        content = _content(path)
        key, state = _state_dict(content)
        tensors = {name: _plain(name, tensor) for name, tensor in state.items()}
        network, layer = _parted(_without_wrappers(tensors))
        mean, std = _mean_and_std(layer)
    except Exception as error:
        # Damaged bytes may make unpickling raise anything.
        raise _unreadable(path, error) from error
    # Without a key the content is the state dict itself, and has no facts beside it.
    facts = content if key else {}
    origin = _origin(path, key, facts)
    return ForeignCheckpoint(path, origin, network, mean, std)


def _content(path: Path) -> Any:
    """Return the contents of a file, which are tensors and plain values only.

    Raises:
        WrongFile: the file holds something else; the message is the reason alone.
    """
    if path.suffix == ".safetensors":
        return load_file(path)
    # Files from before torch 1.6 are pickles without an archive around them.
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if any(name.endswith("/constants.pkl") for name in archive.namelist()):
                raise WrongFile(
                    "it is a TorchScript module, which `randsmooth certify` takes as it is"
                )
    return load_plain(path)


def _unreadable(path: Path, error: Exception) -> WrongFile:
    """Return the error for a file that cannot be imported.

    It says what the file is, where its first bytes tell that; else the reason.

    Args:
        path: the path of the file.
        error: what reading the file raised.
    """
    kind = what_it_is(path)
    if kind:
        return WrongFile(
            f"{path} {kind}; expected a file of torch.save or safetensors", file=path
        )
    reason = str(error).strip().partition("\n")[0]
    if isinstance(error, NoWeights):
        return WrongFile(f"{path} {shown(reason)}: {EXPECTED}", file=path)
    reason = shown(reason or type(error).__name__)
    return WrongFile(f"{path} cannot be imported ({reason}): {WAY_OUT}", file=path)


def _origin(path: Path, key: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return where weights come from, as `ForeignCheckpoint.origin`.

    Args:
        path: the path of the file.
        key: the key under which the file holds their state dict; "" for a bare one.
        facts: the values under all keys of the file; empty for a bare state dict.
    """
    container = "bare state dict"
    if key:
        container = f"state dict under {key!r} beside {', '.join(map(shown, facts))}"
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    arch = facts.get("arch")
    origin: dict[str, Any] = {
        "file": path.name,
        "sha256": sha256,
        "container": container,
        "arch": arch if isinstance(arch, str) else None,
    }
    epoch = facts.get("epoch")
    if type(epoch) is int:
        origin["epoch"] = epoch
    return origin


def _state_dict(content: Any) -> tuple[str, Mapping[str, Tensor]]:
    """Return the key under which a file holds a state dict, and the state dict.

    The key is empty where the whole content is the state dict.

    Raises:
        NoWeights: the content has no state dict.
    """
    if not isinstance(content, Mapping):
        raise NoWeights(f"holds a {type(content).__name__}, and no state dict")
    for key in STATE_KEYS:
        if key in content and _is_state_dict(content[key]):
            return key, content[key]
    if _is_state_dict(content):
        return "", content
    keys = ", ".join(map(repr, list(content)[:8]))
    raise NoWeights(f"holds a {type(content).__name__} with {keys}, and no state dict")


def _is_state_dict(content: Any) -> bool:
    """Return whether something holds tensors by names, and nothing else."""
    if not isinstance(content, Mapping) or not 0 < len(content) <= MOST_TENSORS:
        return False
    return all(
        isinstance(name, str) and isinstance(tensor, Tensor)
        for name, tensor in content.items()
    )


def _plain(name: str, tensor: Tensor) -> Tensor:
    """Return a tensor of a state dict without gradients, and floats as float32.

    Raises:
        NoWeights: it is not stored whole, or has NaN or infinity, perhaps only in float32.
    """
    try:
        check_tensor(tensor)
        plain = tensor.detach()
        if plain.is_floating_point():
            plain = plain.float()
            # A number that is finite in float64 may be too large for float32.
            check_tensor(plain)
        return plain
    except Problem as error:
        raise NoWeights(f"holds under {name}, in float32, {error}") from None


def _without_wrappers(state: State) -> list[tuple[str, Tensor]]:
    """Return the tensors with their names, from which the parts in ANYWHERE are removed."""
    tensors = []
    for name, tensor in state.items():
        parts = [part for part in name.split(".") if part not in ANYWHERE]
        tensors.append((".".join(parts), tensor))
    return tensors


def _parted(tensors: Sequence[tuple[str, Tensor]]) -> tuple[State, State]:
    """Return the tensors of the network, and those of the layer before it.

    From the names of the network's tensors, all first parts that are in OUTSIDE are removed.

    Raises:
        WrongFile: two tensors of the network then have the same name.
    """
    layer = {name: tensor for name, tensor in tensors if LAYER.fullmatch(name)}
    inside = [(name, tensor) for name, tensor in tensors if name not in layer]
    # Several of them may be nested, as in "model.1.conv1.weight".
    while True:
        first_parts = {name.partition(".")[0] for name, _ in inside}
        if len(first_parts) != 1 or not first_parts <= OUTSIDE:
            break
        inside = [(name.partition(".")[2], tensor) for name, tensor in inside]
    network = dict(inside)
    if len(network) < len(inside):
        raise WrongFile(
            "several of its tensors have the same name once the names of wrappers are removed"
        )
    return network, layer


def _mean_and_std(layer: State) -> tuple[PerChannel | None, PerChannel | None]:
    """Return the mean and the deviation of the layer before a network.

    Both are None where the file stores no such layer. A deviation that is not stored is 1.

    Args:
        layer: the tensors whose names LAYER matches.

    Raises:
        WrongFile: there is no mean, or there is more than a mean and a deviation.
    """
    if not layer:
        return None, None
    by_group: dict[str | None, Tensor] = {}
    for name, tensor in layer.items():
        match = LAYER.fullmatch(name)
        assert match is not None
        # The group of LAYER that matched: "mean", "std" or "log_std".
        by_group[match.lastgroup] = tensor
    has_two_of_a_group = len(by_group) < len(layer)
    if has_two_of_a_group or "mean" not in by_group or len(by_group) > 2:
        raise WrongFile(
            f"its normalisation is {', '.join(layer)}; expected one mean and one deviation"
        )
    mean = by_group["mean"]
    std = by_group.get("std", torch.ones_like(mean))
    if "log_std" in by_group:
        std = by_group["log_std"].exp()
    return tuple(mean.flatten().tolist()), tuple(std.flatten().tolist())


def arch_of(state: State, stated: str | None = None) -> str:
    """Return our name of the architecture that has these tensors.

    The names of all tensors are compared, and the shapes of all kernels. Only the number of
    channels of the images may differ.

    Args:
        state: the tensors by the authors' names.
        stated: the authors' own name of the architecture, as the file gives it, which is
            repeated in the error; None: the file gives none.

    Raises:
        WrongFile: the tensors are of no network that is known here.
    """
    for arch in _guesses(state):
        try:
            # Only names and shapes are needed. Those of kernels depend neither on the size of
            # the images nor on the number of classes.
            with torch.device("meta"):
                network = build(arch, in_channels=3, image_size=32, num_classes=10)
        except Problem:
            # The name is guessed from a number of blocks that no network has.
            continue
        if _kernels(network.state_dict()) == _kernels(our_tensors(arch, state)):
            return arch
    of_arch = f" of the architecture {shown(repr(stated))}" if stated else ""
    first_names = shown(", ".join(list(state)[:4]))
    raise WrongFile(
        f"the {len(state)} tensors{of_arch} ({first_names}, ...) are those of no network "
        f"that is known here; {WAY_ON}"
    )


def _guesses(state: State) -> list[str]:
    """Return the architectures that tensors may be of, by how many blocks they have.

    A guess may be a name that no network has, such as resnet2.
    """
    # The blocks of the first stage, of a ResNet and of a wide ResNet.
    blocks = len({_part(name, 1) for name in state if name.startswith("layer1.")})
    wide_blocks = len(
        {_part(name, 2) for name in state if name.startswith("block1.layer.")}
    )
    guesses = ["lenet", "densenet40", "resnet50"]
    # resnet50 is ImageNet's, so the one of CIFAR with 50 layers has another name.
    guesses.append("cifar-resnet50" if blocks == 8 else f"resnet{6 * blocks + 2}")
    if wide_blocks:
        # The length of a kernel is the number of its outputs: 16 k.
        channels = len(state.get("block1.layer.0.conv1.weight", ()))
        if channels >= 16:
            guesses.append(f"wrn{6 * wide_blocks + 4}-{channels // 16}")
    return guesses


def _part(name: str, index: int) -> str:
    """Return one of the parts of a tensor's name, which are separated by points."""
    return name.split(".")[index]


def _kernels(state: State) -> dict[str, tuple[int, ...]]:
    """Return the names of all tensors but counters, with the shape of each kernel.

    A kernel is that of a convolution; other tensors get an empty shape. The shape of the
    first kernel lacks the number of its inputs, which are the channels of the images.
    """
    shapes = {}
    is_first = True
    for name, tensor in state.items():
        if COUNTER in name:
            continue
        shape: tuple[int, ...] = ()
        if tensor.dim() == 4:
            shape = tuple(tensor.shape)
            if is_first:
                shape = (shape[0], *shape[2:])
                is_first = False
        shapes[name] = shape
    return shapes


def our_tensors(arch: str, state: State) -> State:
    """Return the tensors by the names that they have in our `arch`.

    Only LeNet has other names here than its authors gave it.
    """
    if arch != "lenet" or {_part(name, 0) for name in state} != LENET.keys():
        return state
    renamed = {}
    for name, tensor in state.items():
        layer, _, rest = name.partition(".")
        renamed[f"{LENET[layer]}.{rest}"] = tensor
    return renamed


def denoiser_size(state: State) -> tuple[int, str] | None:
    """Return the channels of the images of a DnCNN, and our name for its size.

    The answer is None for tensors that are not those of a DnCNN as Salman et al. 2020
    released them.
    """
    first = state.get("dncnn.0.weight")
    if first is None or first.dim() != 4:
        return None
    if not all(name.startswith("dncnn.") for name in state):
        return None
    # The kernel of the first convolution is (width, channels, 3, 3).
    width, channels = first.shape[:2]
    # Of all tensors, the kernels alone have four axes: one for each convolution.
    depth = sum(tensor.dim() == 4 for tensor in state.values())
    return channels, f"dncnn-{depth}x{width}"
