"""The containers in which other projects keep weights: read without running what a pickle asks for."""

from __future__ import annotations

import hashlib
import pickle
import re
import struct
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models.torch_file import check_archive, check_tensor

# Keys under which scripts keep a state dict: locuslab/smoothing and those that follow it, MACER, and tutorials.
STATE_KEYS = ("state_dict", "net", "model_state_dict", "model")
MOST_TENSORS = 100_000
FORBIDDEN = re.compile(r"GLOBAL (\S+)")  # what torch says of a class or function that a pickle asks for


class Checkpoint(NamedTuple):
    """What a file of another project holds.

    Attributes:
        path: of the file.
        sha256: of its bytes.
        container: what was found, in words.
        arch: the name of the network in the words of its authors; None: the file does not say it.
        epoch: how long it was trained, as the file says it.
        state: the tensors by name.
    """

    path: Path
    sha256: str
    container: str
    arch: str | None
    epoch: int | None
    state: dict[str, Tensor]

    @property
    def origin(self) -> dict[str, Any]:
        """Where weights come from, for the provenance of a model."""
        facts = {"file": self.path.name, "sha256": self.sha256, "container": self.container}
        return facts | {"arch": self.arch} | ({} if self.epoch is None else {"epoch": self.epoch})


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
        held = _read_safetensors(path) if path.suffix == ".safetensors" else _read_torch(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({shown(error)})") from None
    key, state = _state_dict(held, path)
    facts = held if key else {}
    arch, epoch = facts.get("arch"), facts.get("epoch")
    names = ", ".join(shown(name) for name in facts)
    return Checkpoint(
        path,
        sha256,
        f"state dict under {key!r} beside {names}" if key else "bare state dict",
        arch if isinstance(arch, str) else None,
        epoch if type(epoch) is int else None,
        {name: _plain(name, tensor, path) for name, tensor in state.items()},
    )


def _read_safetensors(path: Path) -> dict[str, Any]:
    try:
        return dict(load_file(path))
    except SafetensorError as error:
        raise InputError(f"{path} is damaged ({shown(error)}): download it again") from None


def _read_torch(path: Path) -> Any:
    _check_zip(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other pickle protocols; what cannot be read raises
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise _refused(path, str(error)) from None
    except OSError:
        raise
    except Exception as error:  # from damaged bytes, unpickling may raise anything
        raise InputError(
            f"{path} is no checkpoint that torch can read ({shown(_first_line(error))}): give a file that torch.save "
            "wrote, or download it again"
        ) from error


def _check_zip(path: Path) -> None:
    """Raise InputError for an archive that is damaged, or that holds a module of TorchScript."""
    try:
        if not zipfile.is_zipfile(path):  # before torch 1.6 files were pickles without an archive around them
            return
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            scripted = any(name.endswith("/constants.pkl") for name in archive.namelist())
            if not scripted:
                check_archive(file, path.stat().st_size)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, OverflowError) as error:
        raise InputError(f"{path} is damaged or no checkpoint ({shown(error)}): download it again") from None
    if scripted:
        raise InputError(f"{path} is a TorchScript module, which needs no import: give it to `randsmooth certify`")


def _refused(path: Path, said: str) -> InputError:
    """The error for a file from which torch reads no tensors alone."""
    asked = FORBIDDEN.search(said)
    what = f"asks for {shown(asked[1])}, which is code" if asked else "is no pickle of tensors and plain values alone"
    return InputError(
        f"{path} {what}; a pickle can run anything, and only tensors are read here. If you trust the file, open it "
        "with the code that wrote it, and save the weights alone: torch.save({'state_dict': model.state_dict()}, "
        "'weights.pth')"
    )


def _state_dict(held: Any, path: Path) -> tuple[str, Mapping[str, Tensor]]:
    """The state dict in what a file holds, and the key under which it lies; an empty key for a bare one."""
    if isinstance(held, Mapping):
        for key in STATE_KEYS:
            if _is_state(held.get(key)):
                return key, held[key]
        if _is_state(held):
            return "", held
    found = f"the keys {', '.join(map(repr, list(held)[:8]))}" if isinstance(held, dict) else f"a {type(held).__name__}"
    raise InputError(
        f"{path} holds {shown(found)} and no state dict; expected one under {' or '.join(STATE_KEYS)}, or nothing "
        "else: torch.save({'state_dict': model.state_dict()}, 'weights.pth')"
    )


def _is_state(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and 0 < len(value) <= MOST_TENSORS
        and all(isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in value.items())
    )


def _plain(name: str, tensor: Tensor, path: Path) -> Tensor:
    """A tensor of a state dict; floating point numbers of any length as float32."""
    try:
        check_tensor(tensor)
    except InputError as error:
        raise InputError(f"{path} cannot be used: under {shown(name)} it holds {error}") from None
    detached = tensor.detach()
    if not detached.is_floating_point():
        return detached
    short = detached.float()
    if not bool(short.isfinite().all()):
        raise InputError(
            f"{path} cannot be used: under {shown(name)} it holds {float(detached.abs().max()):.3g}, and float32, in "
            f"which networks are run, ends at {torch.finfo(torch.float32).max:.3g}: was the training stable?"
        )
    return short


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
