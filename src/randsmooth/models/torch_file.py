"""Limits on files of `torch.save` that may be damaged or malicious, checked before their content is used."""

from __future__ import annotations

import struct
import zipfile
from typing import IO

import torch
from torch import Tensor

from randsmooth.errors import InputError


def check_archive(file: IO[bytes], size: int) -> None:
    """Check that a zip file of `size` bytes does not unpack to more than that: torch compresses nothing.

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
