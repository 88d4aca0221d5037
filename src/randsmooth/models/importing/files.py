"""The files in which other projects keep weights: read without running what a pickle asks for, under plain names."""

from __future__ import annotations

import hashlib
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models.limits import check_archive, check_tensor

# Keys under which scripts keep a state dict: locuslab/smoothing and those that follow it, MACER, and tutorials.
STATE_KEYS = ("state_dict", "net", "model_state_dict", "model")
MOST_TENSORS = 100_000
FORBIDDEN = re.compile(r"GLOBAL (\S+)")  # what torch says of a class or function that a pickle asks for
ANYWHERE = {"module", "_orig_mod"}  # in names: nn.DataParallel and torch.compile
OUTSIDE = {"1", "model", "net", "network"}  # the network in nn.Sequential(normalisation, network), and in rs4a
LAYER = re.compile(r"(?:0|norm|normalize|normalise|normalizer)\.(mu|means?|sds?|std|sigma|log_sig)")
WAY_OUT = (
    f"expected tensors and plain values alone, with a state dict under {', '.join(STATE_KEYS)} or nothing else. A "
    "pickle can run anything, and nothing is run here: if you trust the file, open it with the code that wrote it, "
    "and save torch.save({'state_dict': model.state_dict()}, 'weights.pth')"
)


class Checkpoint(NamedTuple):
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
    network: dict[str, Tensor]
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None


def read_checkpoint(path: Path) -> Checkpoint:
    """What the file at `path` holds: that of `torch.save` with a state dict somewhere in it, or of safetensors.

    Raises:
        InputError: there is no such file, it is damaged, it holds code, or no state dict.
    """
    if not path.is_file():
        raise InputError(f"no checkpoint at {path}: give a file that torch.save or safetensors wrote")
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        held = load_file(path) if path.suffix == ".safetensors" else _read_torch(path)
        key, state = _state_dict(held)
        network, mean, std = _unwrapped({name: _plain(name, tensor) for name, tensor in state.items()})
    except Exception as error:  # from damaged bytes, unpickling may raise anything
        asked = FORBIDDEN.search(str(error))
        reason = f"it asks for {asked[1]}, which is code" if asked else str(error).strip().partition("\n")[0]
        raise InputError(f"{path} cannot be imported ({shown(reason or type(error).__name__)}): {WAY_OUT}") from error
    facts = held if key else {}
    arch, epoch = facts.get("arch"), facts.get("epoch")
    container = f"state dict under {key!r} beside {', '.join(map(shown, facts))}" if key else "bare state dict"
    origin: dict[str, Any] = {"file": path.name, "sha256": sha256, "container": container}
    origin["arch"] = arch if isinstance(arch, str) else None
    return Checkpoint(path, origin | ({"epoch": epoch} if type(epoch) is int else {}), network, mean, std)


def _read_torch(path: Path) -> Any:
    if zipfile.is_zipfile(path):  # before torch 1.6 files were pickles without an archive around them
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            if any(name.endswith("/constants.pkl") for name in archive.namelist()):
                raise InputError("it is a TorchScript module, which `randsmooth certify` takes as it is")
            check_archive(file, path.stat().st_size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other pickle protocols; what cannot be read raises
        return torch.load(path, map_location="cpu", weights_only=True)


def _state_dict(held: Any) -> tuple[str, Mapping[str, Tensor]]:
    """The state dict in what a file holds, and the key under which it lies; an empty key for a bare one."""
    if isinstance(held, Mapping):
        for key in STATE_KEYS:
            if _is_state(held.get(key)):
                return key, held[key]
        if _is_state(held):
            return "", held
        raise InputError(f"it holds the keys {', '.join(map(repr, list(held)[:8]))}, and no state dict")
    raise InputError(f"it holds a {type(held).__name__}, and no state dict")


def _is_state(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and 0 < len(value) <= MOST_TENSORS
        and all(isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in value.items())
    )


def _plain(name: str, tensor: Tensor) -> Tensor:
    """A tensor of a state dict; floating point numbers of any length as float32, in which networks are run."""
    try:
        check_tensor(tensor)
        whole = tensor.detach()
        plain = whole.float() if whole.is_floating_point() else whole
        check_tensor(plain)  # float32 may not hold what float64 did
        return plain
    except InputError as error:
        raise InputError(f"under {name} it holds, in float32, {error}") from None


def _unwrapped(
    state: dict[str, Tensor],
) -> tuple[dict[str, Tensor], tuple[float, ...] | None, tuple[float, ...] | None]:
    """The tensors without the names of what was put around the network; mean and deviation of a normalisation layer."""
    names = {name: ".".join(part for part in name.split(".") if part not in ANYWHERE) for name in state}
    layer = {match[1]: state[name] for name, short in names.items() if (match := LAYER.fullmatch(short))}
    inside = {name: short for name, short in names.items() if not LAYER.fullmatch(short)}
    while len(outer := {short.partition(".")[0] for short in inside.values()}) == 1 and outer <= OUTSIDE:
        inside = {name: short.partition(".")[2] for name, short in inside.items()}
    if len({*inside.values()}) < len(inside):
        raise InputError("several tensors have one name without those of wrappers")
    network = {short: state[name] for name, short in inside.items()}
    if not layer:
        return network, None, None
    means = [tensor for name, tensor in layer.items() if name[:2] in ("mu", "me")]
    stds = [tensor.exp() if name == "log_sig" else tensor for name, tensor in layer.items() if name[0] in "sl"]
    if len(means) != 1 or len(stds) > 1:
        raise InputError(f"its normalisation is {', '.join(layer)}, and expected are one mean and one deviation")
    std = stds[0] if stds else torch.ones_like(means[0])
    return network, tuple(means[0].flatten().tolist()), tuple(std.flatten().tolist())
