"""The hash of a network's weights."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor, nn

from randsmooth.models.adapters.foreign_model import ForeignModel
from randsmooth.models.canonical import Reader, Unreadable, raw


def weights_hash(model: nn.Module | ForeignModel) -> str:
    """SHA-256 over names, types, shapes and raw bytes of the state dict, in the order of the names.

    Equal weights have equal hashes on any device, in any memory format, compiled or not. Whatever else a model holds,
    such as its normalisation, is not included (see `identity_of`). Models of other kinds say what is
    hashed of them.

    Returns:
        "sha256:" and 64 hexadecimal digits.

    Example:
        >>> import copy
        >>> model = nn.Linear(2, 2)
        >>> weights_hash(model) == weights_hash(copy.deepcopy(model)), weights_hash(model)[:7]
        (True, 'sha256:')
    """
    if isinstance(model, ForeignModel):
        return model.weights_hash()
    state = {name.replace("_orig_mod.", ""): value for name, value in model.state_dict().items()}
    digest = hashlib.sha256()
    for name in sorted(state):
        value = state[name]
        if isinstance(value, Tensor) and value.layout == torch.strided and not value.is_quantized:
            digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
            digest.update(raw(value))
        else:
            digest.update(f"{name} {type(value).__qualname__}\n".encode())
            digest.update(_other(value, name))
    return f"sha256:{digest.hexdigest()}"


def _other(value: object, name: str) -> bytes:
    """The bytes of a value that is no plain tensor, such as packed parameters; none where it cannot be read."""
    try:
        return Reader().read(value, name)
    except Unreadable:
        return b""
