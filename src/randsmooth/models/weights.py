"""Weights: the hash by which a model is known, and limits on files that hold some, which may be damaged or hostile."""

import hashlib
from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.errors import WrongModel
from randsmooth.models.adapters.foreign_model import ForeignModel

COUNTER = "num_batches_tracked"  # of a batch norm; where it has a momentum, this changes nothing


def weights_hash(model: nn.Module | ForeignModel) -> str:
    """SHA-256 over names, types, shapes and raw bytes of the state dict, in the order of the names.

    Equal weights have equal hashes on any device, in any memory format, compiled or not. Whatever else a model holds,
    such as its normalisation, is not included: its answers tell. Models of other kinds say what is hashed of them.

    Returns:
        "sha256:" and 64 hexadecimal digits.

    Raises:
        Problem: a tensor holds no numbers (meta or lazy).

    Example:
        >>> import copy
        >>> model = nn.Linear(2, 2)
        >>> weights_hash(model) == weights_hash(copy.deepcopy(model)), weights_hash(model)[:7]
        (True, 'sha256:')
    """
    if isinstance(model, ForeignModel):
        return model.weights_hash()
    hashed = hashlib.sha256()
    for name, value in sorted(_state(model).items()):
        _add(hashed, name, value)
    return f"sha256:{hashed.hexdigest()}"


def check_numbers(model: nn.Module) -> None:
    """Raise Problem where a parameter or a buffer holds no numbers (meta or lazy).

    Example:
        >>> check_numbers(nn.Linear(2, 2))
        >>> check_numbers(nn.Linear(2, 2, device="meta"))
        Traceback (most recent call last):
        randsmooth.errors.WrongModel: weight is a tensor without numbers (meta or lazy): load or initialise it first
    """
    for named in (model.named_parameters(), model.named_buffers()):
        for name, tensor in named:
            _check_number(name, tensor)


def _check_number(name: str, tensor: Tensor) -> None:
    if tensor.is_meta or torch.nn.parameter.is_lazy(tensor):
        raise WrongModel(
            f"{name} is a tensor without numbers (meta or lazy): load or initialise it first"
        )


def unwrapped(module: nn.Module) -> nn.Module:
    """The module itself, where `torch.compile` has wrapped it.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> unwrapped(torch.compile(model)) is model
        True
    """
    while (
        type(module).__name__ == "OptimizedModule"
    ):  # importing the type to compare with takes a second
        module = module.get_submodule("_orig_mod")
    return module


def lacks_weights(model: nn.Module | ForeignModel) -> str:
    """Why a model cannot be known by its weights, so that its user has to name it; empty where it can.

    Example:
        >>> lacks_weights(nn.Linear(2, 2)), lacks_weights(nn.Flatten())
        ('', 'the model (Flatten) holds no weights that it could be known by')
    """
    if isinstance(model, ForeignModel):
        return "" if model.called else model.unreadable
    parts = [getattr(module, "model", None) for module in model.modules()]
    if found := [
        why
        for part in parts
        if isinstance(part, ForeignModel) and (why := lacks_weights(part))
    ]:
        return found[0]
    return (
        ""
        if _state(model)
        else f"the model ({type(model).__qualname__}) holds no weights that it could be known by"
    )


def _state(model: nn.Module) -> dict[str, Any]:
    state = {
        name.replace("_orig_mod.", ""): value
        for name, value in model.state_dict().items()
    }
    if (
        not state
        and isinstance(model, torch.jit.ScriptModule)
        and hasattr(model, "forward")
    ):
        return dict(model.code_with_constants[1].const_mapping)  # of a frozen script
    return state


def _add(hashed: Any, name: str, value: object) -> None:
    """Hash an entry of a state dict: a tensor, or what quantised layers and extra states keep beside tensors."""
    if isinstance(value, dict | list | tuple):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            _add(hashed, f"{name}.{key}", part)
        return
    if isinstance(value, Tensor):
        _check_number(name, value)
        value = value.detach()
        plain = value.dequantize() if value.is_quantized else value.to_dense()
        hashed.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        hashed.update(
            plain.cpu()
            .resolve_conj()
            .resolve_neg()
            .reshape(-1)
            .view(torch.uint8)
            .numpy()
            .data
        )
        return
    known = isinstance(value, str | bytes | int | float | torch.dtype | None)
    hashed.update(
        f"{name} {value!r}\n".encode()
        if known
        else f"{name} {type(value).__qualname__}\n".encode()
    )


def check_tensor(tensor: Tensor) -> None:
    """Check that a tensor that was read is plain, on the CPU, no larger than the memory it refers to, and finite.

    Raises:
        Problem: it is not.
    """
    plain = (
        tensor.layout == torch.strided
        and tensor.device.type == "cpu"
        and not tensor.is_quantized
    )
    if (
        not plain
        or tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes()
    ):
        raise WrongModel(
            f"a tensor of shape {tuple(tensor.shape)} that is not stored whole"
        )
    if not bool(tensor.isfinite().all()):
        raise WrongModel(
            f"a tensor of shape {tuple(tensor.shape)} with NaN or infinity in it"
        )
