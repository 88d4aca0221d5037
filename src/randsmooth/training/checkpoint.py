"""A training run on disk: written atomically, read without pickle."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any, TypedDict, cast

import torch

from randsmooth.atomic import write_atomically
from randsmooth.errors import InputError


class Checkpoint(TypedDict):
    """All that a resumed run needs. `epoch` is the number of epochs finished."""

    recipe: dict[str, Any]
    epoch: int
    model: dict[str, torch.Tensor]
    optimizer: dict[str, Any]
    schedule: dict[str, Any]
    history: list[dict[str, float]]


def save(checkpoint: Checkpoint, path: Path) -> None:
    """Write so that a crash leaves the previous checkpoint or this one, whole."""
    buffer = io.BytesIO()
    torch.save(checkpoint, buffer)
    write_atomically(path, buffer.getvalue())


def load(path: Path) -> Checkpoint:
    """The checkpoint at `path`, on the CPU.

    Raises:
        InputError: the file is truncated, or is not a checkpoint of randsmooth.
    """
    try:
        raw = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, EOFError, RuntimeError, ValueError, KeyError, pickle.UnpicklingError) as error:
        reason = str(error).split("\n", 1)[0]
        raise InputError(f"{path} is damaged or no checkpoint ({reason}); use --overwrite to start anew") from error
    missing = Checkpoint.__required_keys__ - set(raw if isinstance(raw, dict) else ())
    if missing:
        raise InputError(f"{path} is no checkpoint of randsmooth: it lacks {', '.join(sorted(missing))}")
    return cast(Checkpoint, raw)
