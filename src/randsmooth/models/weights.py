"""The weights of a model: the hash by which it is known, and checks of tensors."""

import hashlib
from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.errors import WrongModel
from randsmooth.models.adapters.foreign_model import ForeignModel

# The name of the buffer in which a batch norm counts batches. The count changes an answer
# only in train mode, and only of a batch norm without a momentum.
COUNTER = "num_batches_tracked"

# What torch.compile puts before the names of the module that it wraps.
COMPILED = "_orig_mod"


def weights_hash(model: nn.Module | ForeignModel) -> str:
    """Return SHA-256 over names, types, shapes and raw bytes of the state dict.

    The entries are hashed in the order of their names. Equal weights have equal hashes on
    any device, in any memory format, compiled or not. Whatever else a model holds, such as
    its normalisation, is not part of the hash. A model that is no torch module decides
    itself what is hashed.

    Returns:
        "sha256:" and 64 hexadecimal digits.

    Raises:
        WrongModel: a tensor holds no numbers (meta or lazy).

    Example:
        >>> import copy
        >>> model = nn.Linear(2, 2)
        >>> weights_hash(model) == weights_hash(copy.deepcopy(model))
        True
        >>> weights_hash(model)[:7]
        'sha256:'
    """
    if isinstance(model, ForeignModel):
        return model.weights_hash()
    hashed = hashlib.sha256()
    for name, value in sorted(_state(model).items()):
        _add(hashed, name, value)
    return f"sha256:{hashed.hexdigest()}"


def check_numbers(model: nn.Module) -> None:
    """Raise WrongModel where a parameter or a buffer of `model` holds no numbers.

    Example:
        >>> check_numbers(nn.Linear(2, 2))
        >>> check_numbers(nn.Linear(2, 2, device="meta"))
        Traceback (most recent call last):
        randsmooth.errors.WrongModel: weight is a tensor without numbers (meta or ...
    """
    for name, parameter in model.named_parameters():
        _check_has_numbers(name, parameter)
    for name, buffer in model.named_buffers():
        _check_has_numbers(name, buffer)


def _check_has_numbers(name: str, tensor: Tensor) -> None:
    """Raise WrongModel for a tensor that was not given values yet."""
    if tensor.is_meta or torch.nn.parameter.is_lazy(tensor):
        raise WrongModel(
            f"{name} is a tensor without numbers (meta or lazy)",
            fix="load or initialise it first",
        )


def unwrapped(module: nn.Module) -> nn.Module:
    """Return the module that `torch.compile` has wrapped, or `module` if it is not wrapped.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> unwrapped(torch.compile(model)) is model
        True
    """
    # The type is compared by its name, since importing it takes a second.
    while type(module).__name__ == "OptimizedModule":
        module = module.get_submodule(COMPILED)
    return module


def lacks_weights(model: nn.Module | ForeignModel) -> str:
    """Return why a model cannot be recognised by its weights; empty where it can be.

    The user has to give such a model a name.

    Example:
        >>> lacks_weights(nn.Linear(2, 2)), lacks_weights(nn.Flatten())
        ('', 'the model (Flatten) holds no weights that it could be known by')
    """
    if isinstance(model, ForeignModel):
        # Its user may have named it already.
        return "" if model.called else model.unreadable

    # A module may have parts that are no torch modules: `ForeignPart` holds them as `model`.
    for module in model.modules():
        part = getattr(module, "model", None)
        reason = lacks_weights(part) if isinstance(part, ForeignModel) else ""
        if reason:
            return reason
    if _state(model):
        return ""
    name = type(model).__qualname__
    return f"the model ({name}) holds no weights that it could be known by"


def _state(model: nn.Module) -> dict[str, Any]:
    """Return the state dict of a model, with the names from before it was compiled."""
    state = {
        name.replace(f"{COMPILED}.", ""): value
        for name, value in model.state_dict().items()
    }
    if state or not isinstance(model, torch.jit.ScriptModule):
        return state
    # A frozen script has its weights among the constants of its code. Only one with a
    # `forward` has code.
    if hasattr(model, "forward"):
        _, constants = model.code_with_constants
        return dict(constants.const_mapping)
    return state


def _add(hashed: Any, name: str, value: object) -> None:
    """Add an entry of a state dict to a hash.

    Args:
        hashed: the hash, an object of hashlib.
        name: the name of the entry.
        value: a tensor, or a value that quantised layers and extra states keep beside
            tensors.
    """
    if isinstance(value, dict):
        for key, part in value.items():
            _add(hashed, f"{name}.{key}", part)
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            _add(hashed, f"{name}.{place}", part)
    elif isinstance(value, Tensor):
        _add_tensor(hashed, name, value)
    elif isinstance(value, str | bytes | int | float | torch.dtype | None):
        hashed.update(f"{name} {value!r}\n".encode())
    else:
        # Only the type: the text of any other object may hold its address in memory, which
        # differs between runs.
        hashed.update(f"{name} {type(value).__qualname__}\n".encode())


def _add_tensor(hashed: Any, name: str, tensor: Tensor) -> None:
    """Add the name, type, shape and bytes of a tensor to a hash."""
    _check_has_numbers(name, tensor)
    tensor = tensor.detach()
    hashed.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
    plain = tensor.dequantize() if tensor.is_quantized else tensor.to_dense()
    # torch may only note that numbers are to be conjugated or negated; here it does it.
    plain = plain.cpu().resolve_conj().resolve_neg()
    # NumPy has no bfloat16, so it is shown bytes.
    hashed.update(plain.reshape(-1).view(torch.uint8).numpy().data)


def check_tensor(tensor: Tensor) -> None:
    """Check that a tensor that was read from a file can be used.

    Raises:
        WrongModel: the tensor is sparse or quantised, not on the CPU, larger than the
            memory that it refers to, or not finite.
    """
    shape = tuple(tensor.shape)
    is_plain = (
        tensor.layout == torch.strided
        and tensor.device.type == "cpu"
        and not tensor.is_quantized
    )
    # A tensor with strides of 0 repeats one number: a small file may claim any shape.
    if not is_plain or _bytes_of(tensor) > tensor.untyped_storage().nbytes():
        raise WrongModel(f"a tensor of shape {shape} that is not stored whole")
    if not bool(tensor.isfinite().all()):
        raise WrongModel(f"a tensor of shape {shape} with NaN or infinity in it")


def _bytes_of(tensor: Tensor) -> int:
    """Return how many bytes all elements take, each counted by itself."""
    return tensor.numel() * tensor.element_size()
