"""Files that hold a program of torch's, which can run code: TorchScript, and what torch.export saves."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import torch

from randsmooth.documents import shown
from randsmooth.errors import InputError

MOST_CONFIG = 2**24  # bytes of a JSON file in an archive that are looked at


def scripted(source: Path | str) -> torch.jit.ScriptModule:
    """The TorchScript module in the file `source`, in the mode in which it was saved.

    Raises:
        InputError: it holds something else, such as a checkpoint, or is damaged.
    """
    names = _names(source)
    if not any("/code/" in name for name in names):
        raise InputError(
            f"{source} is no TorchScript file (it has no code): torch.jit.script(model).save(...) writes one. Of a "
            "checkpoint, `randsmooth import` makes a model folder; a pickled module has to be saved anew"
        )
    try:
        module: torch.jit.ScriptModule = torch.jit.load(str(source), map_location="cpu")
        return module
    except (RuntimeError, ValueError) as error:
        raise InputError(f"{source} is no TorchScript file that can be run ({_last_line(error)})") from error


def exported(source: Path | str) -> Any:
    """The program of `torch.export.save` in the file `source`.

    Raises:
        InputError: it holds something else, keeps tensors as pickle, or is damaged.
    """
    import torch.export

    names = _names(source)
    if any("aotinductor" in name for name in names):
        raise InputError(f"{source} is compiled by AOTInductor: give the program that torch.export.save wrote")
    if not any("/models/" in name or name.endswith("serialized_exported_program.json") for name in names):
        raise InputError(f"{source} is no exported program: torch.export.save(program, ...) writes one")
    _check_plain(source, names)
    try:
        return torch.export.load(str(source))
    except Exception as error:  # the reader raises whatever a damaged part makes it
        raise InputError(f"{source} is no exported program that can be run ({_last_line(error)})") from error


def _names(source: Path | str) -> list[str]:
    try:
        with zipfile.ZipFile(source) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        raise InputError(f"{source} is no file that torch has saved a program in: it is no zip archive") from None


def _check_plain(source: Path | str, names: list[str]) -> None:
    """Raise InputError where an archive's weights or constants are pickled objects."""
    with zipfile.ZipFile(source) as archive:
        for name in names:
            if name.endswith("_config.json") and archive.getinfo(name).file_size <= MOST_CONFIG:
                config = json.loads(archive.read(name)).get("config", {})
                pickled = [key for key, value in config.items() if value.get("use_pickle")]
                if pickled:
                    raise InputError(f"{source} keeps {shown(pickled[0])} as pickle, which is never loaded")


def _last_line(error: Exception) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return shown(lines[-1]) if lines else type(error).__name__
