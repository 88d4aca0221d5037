"""The identity of a network's weights."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor, nn

from randsmooth.models.onnx_model import OnnxModel


def weights_hash(model: nn.Module | OnnxModel) -> str:
    """sha256 over names, types, shapes and raw bytes of the state dict, in the order of the names.

    Equal weights hash the same on any device, in any memory format, compiled or not. Normalisation is no
    part of it: it belongs to a classifier's configuration. Of an ONNX file, sha256 of its bytes.

    Returns:
        "sha256:" and 64 hexadecimal digits.
    """
    if isinstance(model, OnnxModel):
        return model.weights_hash()
    state = {name.replace("_orig_mod.", ""): tensor for name, tensor in model.state_dict().items()}
    digest = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(_raw(tensor))
    return f"sha256:{digest.hexdigest()}"


def _raw(tensor: Tensor) -> bytes:
    """The bytes in logical (row-major) order, whatever the strides."""
    return tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes()
