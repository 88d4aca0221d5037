"""What a training run keeps for the time after a kill: files written atomically, with a digest, and read without
executing pickled code; the checkpoint above all.
"""

import hashlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from randsmooth.atomic import write_atomically
from randsmooth.documents import shown
from randsmooth.errors import OVERWRITE, Problem, WrongFile, about
from randsmooth.models.torch_files import load_plain
from randsmooth.models.weights import check_tensor
from randsmooth.training.recipe import DENOISER, DenoiserRecipe, Recipe

TAG = b"randsmooth sha256:"
TAIL = len(TAG) + 64

# What torch and a schedule raise where they are given another run's state.
UNFIT = (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError)


class Stored(BaseModel):
    """What a file of `write_signed` holds."""

    model_config = ConfigDict(
        strict=True, arbitrary_types_allowed=True, protected_namespaces=()
    )


S = TypeVar("S", bound=Stored)


class Checkpoint(Stored):
    """All that a resumed run needs."""

    recipe: dict[str, Any]
    model: dict[str, Tensor]
    optimizer: dict[str, Any]
    schedule: dict[str, Any]
    history: list[dict[str, int | float]]

    @property
    def epoch(self) -> int:
        """How many epochs are finished."""
        return len(self.history)


def write_signed(path: Path, content: Mapping[str, Any]) -> None:
    """Write tensors and plain values so that after a crash `path` holds either them or what it held, complete."""
    buffer = io.BytesIO()
    torch.save(dict(content), buffer)
    write_atomically(path, signed(buffer.getvalue()))


def read_signed(path: Path, kind: type[S]) -> S:
    """What `write_signed` wrote to `path`, on the CPU, if it is of this kind; its tensors are plain and finite.

    Raises:
        FileNotFoundError: there is no such file.
        Problem: it is damaged, or is none of ours.
    """
    content = path.read_bytes()
    try:
        if content != signed(content[:-TAIL]):
            raise WrongFile(
                "it is not as it was written: its digest is missing or differs"
            )
        raw = load_plain(content)
        for tensor in _tensors(raw):
            check_tensor(tensor)
        return kind.model_validate(raw)
    except Exception as error:  # from damaged bytes, unpickling may raise anything
        raise WrongFile(
            f"{path} is damaged, or none of ours ({shown(error)})"
        ) from error


def load(path: Path) -> Checkpoint:
    """The checkpoint at `path`, on the CPU. Problem where the file is damaged, or is no checkpoint of randsmooth."""
    try:
        checkpoint = read_signed(path, Checkpoint)
        recipe = (
            DenoiserRecipe if checkpoint.recipe.get("method") == DENOISER else Recipe
        )(**checkpoint.recipe)
        if checkpoint.epoch > recipe.epochs:
            raise WrongFile(
                f"{path} is damaged: it has a history of {checkpoint.epoch} epochs of {recipe.epochs}"
            )
    except Problem as error:
        raise WrongFile(
            about(path, error), fix=(OVERWRITE, " starts anew"), file=path
        ) from None
    return checkpoint


def check(path: Path) -> str:
    """What was verified about the checkpoint at `path`, in one sentence. Raises Problem as `load` does."""
    checkpoint = load(path)
    what = f"checkpoint: {checkpoint.recipe.get('method')} after {checkpoint.epoch} epochs, all numbers finite"
    return f"{what}; it is as it was written"


def signed(archive: bytes) -> bytes:
    """The zip file `archive`, and after it a digest, which torch does not read."""
    return archive + TAG + hashlib.sha256(archive).hexdigest().encode()


def _tensors(value: Any) -> Iterator[Tensor]:
    """All tensors in nested containers."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors(part)
