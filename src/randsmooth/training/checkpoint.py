"""What a training run keeps for the time after a kill, the checkpoint above all.

Its files are written atomically, with a digest, and read without executing pickled
code.
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
# Bytes of a digest in hexadecimal.
DIGEST_BYTES = 64
# Bytes that `signed` appends.
TAIL = len(TAG) + DIGEST_BYTES

# What torch and a schedule raise where they are given another run's state.
ERRORS_OF_ANOTHER_RUN = (
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    AttributeError,
    RuntimeError,
)


class Stored(BaseModel):
    """The content of a file of `write_signed`."""

    model_config = ConfigDict(
        strict=True, arbitrary_types_allowed=True, protected_namespaces=()
    )


S = TypeVar("S", bound=Stored)


class Checkpoint(Stored):
    """All that a resumed run needs.

    Attributes:
        recipe: dumped.
        model: the weights.
        optimizer: the state of the optimiser.
        schedule: the state of the method's schedule.
        history: a row for each epoch that is finished.
    """

    recipe: dict[str, Any]
    model: dict[str, Tensor]
    optimizer: dict[str, Any]
    schedule: dict[str, Any]
    history: list[dict[str, int | float]]

    @property
    def epoch(self) -> int:
        """Count the epochs that are finished."""
        return len(self.history)


def write_signed(path: Path, content: Mapping[str, Any]) -> None:
    """Write tensors and plain values to `path`.

    After a crash it holds either them or what it held before, complete.
    """
    buffer = io.BytesIO()
    torch.save(dict(content), buffer)
    write_atomically(path, signed(buffer.getvalue()))


def read_signed(path: Path, kind: type[S]) -> S:
    """Return what `write_signed` wrote to `path`, on the CPU; checked.

    Its tensors are plain and finite.

    Raises:
        FileNotFoundError: there is no such file.
        Problem: it is damaged, of another kind, or none of ours.
    """
    content = path.read_bytes()
    try:
        if content != signed(content[:-TAIL]):
            raise WrongFile(
                "it is not as it was written: its digest is missing or differs"
            )
        fields = load_plain(content)
        for tensor in _tensors(fields):
            check_tensor(tensor)
        return kind.model_validate(fields)
    # From damaged bytes, unpickling may raise anything.
    except Exception as error:
        raise WrongFile(
            f"{path} is damaged, or none of ours ({shown(error)})", file=path
        ) from error


def load(path: Path) -> Checkpoint:
    """Return the checkpoint at `path`, on the CPU.

    Raises:
        Problem: the file is damaged, or is no checkpoint of randsmooth.
    """
    try:
        checkpoint = read_signed(path, Checkpoint)
        kind: type[Recipe] = Recipe
        if checkpoint.recipe.get("method") == DENOISER:
            kind = DenoiserRecipe
        recipe = kind(**checkpoint.recipe)
        if checkpoint.epoch > recipe.epochs:
            raise WrongFile(
                f"{path} is damaged: it has a history of {checkpoint.epoch} epochs of "
                f"{recipe.epochs}",
                file=path,
            )
    except Problem as error:
        raise WrongFile(
            str(about(path, error)), fix=(OVERWRITE, " starts anew"), file=path
        ) from None
    return checkpoint


def check(path: Path) -> str:
    """Return the verified facts about the checkpoint at `path`, in one sentence.

    Raises:
        Problem: in the cases of `load`.
    """
    checkpoint = load(path)
    method = checkpoint.recipe.get("method")
    return (
        f"checkpoint: {method} after {checkpoint.epoch} epochs, all numbers finite; it "
        "is as it was written"
    )


def signed(archive: bytes) -> bytes:
    """Return the zip file `archive` and a digest, which torch does not read."""
    digest = hashlib.sha256(archive).hexdigest()
    return archive + TAG + digest.encode()


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield all tensors in nested containers."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)
