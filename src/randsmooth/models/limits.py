"""Limits on files that may be damaged or malicious, checked before their content is used."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable, Sequence
from typing import IO, Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from randsmooth.errors import InputError

# The functions by which layers get memory; none of it is used before its size is known.
MAKERS = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn)
SPARE = 2**20  # numbers that a network may have besides its weights


class SizeLimit(TorchFunctionMode):
    """A context in which at most about `numbers` elements of tensors may be made: a file may describe any network.

    Raises:
        InputError: at the first tensor that exceeds the limit.
    """

    def __init__(self, numbers: int) -> None:
        super().__init__()
        self.numbers = numbers
        self.left = numbers + SPARE

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if func in MAKERS:
            self.left -= made.numel()
            if self.left < 0:
                raise InputError(f"the network it describes is far larger than the {self.numbers:,} numbers stored")
        return made


def check_archive(file: IO[bytes], size: int) -> list[str]:
    """The names in a zip file of `size` bytes that does not unpack to more than that: torch compresses nothing.

    Raises:
        InputError: it would, or it is no zip file.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, OverflowError) as error:
        raise InputError(str(error)) from None
    packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
    if packed or sum(entry.file_size for entry in entries) > size:
        raise InputError("what it holds is larger than the file")
    return [entry.filename for entry in entries]


def check_tensor(tensor: Tensor) -> None:
    """Check that a tensor that was read is plain, on the CPU, no larger than the memory it refers to, and finite.

    Raises:
        InputError: it is not.
    """
    plain = tensor.layout == torch.strided and tensor.device.type == "cpu" and not tensor.is_quantized
    if not plain or tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise InputError(f"a tensor of shape {tuple(tensor.shape)} that is not stored whole")
    if not bool(tensor.isfinite().all()):
        raise InputError(f"a tensor of shape {tuple(tensor.shape)} holds NaN or infinity")
