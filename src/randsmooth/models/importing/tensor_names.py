"""The names of tensors in a state dict, without those of the modules that were put around a network."""

from __future__ import annotations

import re
from typing import NamedTuple

import torch
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import InputError

ANYWHERE = {"module", "_orig_mod"}  # nn.DataParallel and torch.compile
OUTSIDE = {"1", "model", "net", "network"}  # the network in nn.Sequential(normalisation, network), and in rs4a
LAYER = re.compile(r"(?:0|norm|normalize|normalise|normalizer)\.(mu|means?|sds?|std|sigma|log_sig)")
LOGARITHM = "log_sig"


class Stored(NamedTuple):
    """The tensors of a network by the names that it gives them, and the normalisation that was stored beside them.

    `mean` and `std` are one number a channel, of pixels in [0, 1]; None where nothing is stored.
    """

    network: dict[str, Tensor]
    mean: list[float] | None
    std: list[float] | None


def unwrapped_names(state: dict[str, Tensor]) -> Stored:
    """The state dict `state` without the names of wrappers.

    Raises:
        InputError: two tensors would have one name, or what is stored of the normalisation cannot be used.

    Example:
        >>> state = {"norm.module.mu": torch.zeros(3, 1, 1), "model.module.fc.weight": torch.ones(2, 4)}
        >>> stored = unwrapped_names(state)
        >>> list(stored.network), stored.mean
        (['fc.weight'], [0.0, 0.0, 0.0])
    """
    names = {name: ".".join(part for part in name.split(".") if part not in ANYWHERE) for name in state}
    layer = {match[1]: state[name] for name, short in names.items() if (match := LAYER.fullmatch(short))}
    inside = {name: short for name, short in names.items() if not LAYER.fullmatch(short)}
    while len(outer := {short.partition(".")[0] for short in inside.values()}) == 1 and outer <= OUTSIDE:
        inside = {name: short.partition(".")[2] for name, short in inside.items()}
    if len({*inside.values()}) < len(inside):
        raise InputError(f"several tensors have one name without those of wrappers, among {shown(', '.join(inside))}")
    mean, std = _normalisation(layer)
    return Stored({short: state[name] for name, short in inside.items()}, mean, std)


def _normalisation(layer: dict[str, Tensor]) -> tuple[list[float] | None, list[float] | None]:
    """Mean and standard deviation that a normalisation layer keeps, whatever it calls them."""
    means = [tensor for name, tensor in layer.items() if name in ("mu", "mean", "means")]
    stds = [tensor.exp() if name == LOGARITHM else tensor for name, tensor in layer.items() if name[0] in "sl"]
    if not layer:
        return None, None
    if len(means) != 1 or len(stds) > 1:
        raise InputError(f"the stored normalisation is {shown(', '.join(layer))}; expected one mean and one deviation")
    mean: list[float] = means[0].flatten().tolist()
    std: list[float] = (stds[0] if stds else torch.ones_like(means[0])).flatten().tolist()
    return mean, std
