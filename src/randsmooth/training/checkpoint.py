"""The checkpoint of a training run: written atomically, with a digest, and read without executing pickled code."""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict, cast

import torch
from pydantic import ValidationError
from torch import Tensor, nn

from randsmooth.atomic import write_atomically
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models.torch_file import check_archive, check_tensor
from randsmooth.training.recipe import DENOISER, DenoiserRecipe, Recipe

# torch writes a zip file. Such a file may end with a comment, preceded by its length; the digest is that comment.
TAG = b"randsmooth sha256:"
TAIL = len(TAG) + 64
UNCOMMENTED = b"\x00\x00"  # the end of a zip file without a comment

MOST_VALUES = 10**6  # numbers, texts and containers outside tensors; a thousand epochs need some ten thousand
MOST_DEPTH = 8
LONGEST_TEXT = 10_000

CALLED = {"sgd": "SGD with momentum", "adam": "Adam"}
KEPT = {"sgd": {"momentum_buffer"}, "adam": {"step", "exp_avg", "exp_avg_sq"}}  # about a parameter


class Checkpoint(TypedDict):
    """All that a resumed run needs. `epoch` is the number of finished epochs."""

    recipe: dict[str, Any]
    epoch: int
    model: dict[str, torch.Tensor]
    optimizer: dict[str, Any]
    schedule: dict[str, Any]
    history: list[dict[str, float]]


def save(checkpoint: Checkpoint, path: Path) -> None:
    """Write `checkpoint` so that after a crash `path` holds either it or the previous one, complete."""
    buffer = io.BytesIO()
    torch.save(checkpoint, buffer)
    write_atomically(path, _signed(buffer.getvalue()))


def load(path: Path) -> Checkpoint:
    """The checkpoint at `path`, on the CPU.

    Raises:
        InputError: the file is damaged, or is not a checkpoint of randsmooth.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _damaged(path, error) from None
    if content[-TAIL:] != _tail(memoryview(content)[:-TAIL]):
        raise _damaged(path, "it is not as it was written: its digest is missing or differs")
    try:
        check_archive(io.BytesIO(content), len(content))
    except InputError as error:
        raise _damaged(path, error) from None
    try:
        raw = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # from damaged bytes, unpickling may raise anything
        raise _damaged(path, error) from error
    _check_values(path, raw)
    return _checked(path, raw)


def check(path: Path) -> str:
    """What was verified about the checkpoint at `path`, in one sentence. Raises InputError as `load` does."""
    checkpoint = load(path)
    what = f"checkpoint: {checkpoint['recipe'].get('method')} after {checkpoint['epoch']} epochs, all numbers finite"
    return f"{what}; it is as it was written"


def check_like(path: Path, what: str, expected: Tensor, found: object) -> None:
    """Raise InputError unless `found` is a tensor of the type and shape of `expected`."""
    if not isinstance(found, Tensor) or (found.dtype, found.shape) != (expected.dtype, expected.shape):
        kind = f"{found.dtype} {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
        raise InputError(f"{path} does not fit: {what} is {kind}, not {expected.dtype} {tuple(expected.shape)}")


def checked_state(
    path: Path, recipe: Recipe, parameters: list[nn.Parameter], stored: dict[str, Any]
) -> dict[int, dict[str, Tensor | None]]:
    """The optimiser's `stored` state in the checkpoint at `path`: number of a parameter -> what is kept about it.

    Raises:
        InputError: it is no such state, or that of another optimiser or network.
    """
    state = stored.get("state")
    if not isinstance(state, dict) or not set(state) <= set(range(len(parameters))):
        raise InputError(f"{path} does not fit: its optimiser's state is not a dictionary by parameter")
    for i, each in state.items():
        if not isinstance(each, dict) or each.keys() != KEPT[recipe.optimiser]:
            raise InputError(f"{path} does not fit: its optimiser is not {CALLED[recipe.optimiser]}")
        for name, value in each.items():
            like = torch.zeros(()) if name == "step" else parameters[i]
            if value is not None or recipe.optimiser != "sgd":  # SGD without momentum keeps None
                check_like(path, f"the {name.removesuffix('_buffer')} of parameter {i}", like, value)
    return state


def _signed(archive: bytes) -> bytes:
    """The zip file `archive` with a comment that holds the digest of everything before it."""
    head = archive[: -len(UNCOMMENTED)] + struct.pack("<H", TAIL)
    return head + _tail(head)


def _tail(head: bytes | memoryview) -> bytes:
    return TAG + hashlib.sha256(head).hexdigest().encode()


def _check_values(path: Path, raw: object) -> None:
    """Raise InputError unless `raw` holds only finite tensors and plain values, not too many or too deeply nested."""
    for number, (value, depth) in enumerate(_walked(raw)):
        if number > MOST_VALUES or depth > MOST_DEPTH:
            raise _damaged(path, f"it holds more than {MOST_VALUES:,} values, or is nested deeper than {MOST_DEPTH}")
        if isinstance(value, Tensor):
            try:
                check_tensor(value)
            except InputError as error:
                raise _damaged(path, error) from None
        elif isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise _damaged(path, f"it holds a text of {len(value):,} characters")
        elif not isinstance(value, dict | list | tuple | str | int | float | None):
            raise _damaged(path, f"it holds a {type(value).__name__}")


def _walked(value: object, depth: int = 0) -> Iterator[tuple[object, int]]:
    yield value, depth
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [*value, *value.values()]
    elif isinstance(value, list | tuple):
        parts = [*value]
    for part in parts:
        yield from _walked(part, depth + 1)


def _checked(path: Path, raw: object) -> Checkpoint:
    """`raw` as a checkpoint; InputError names the first field that is missing or malformed."""
    missing = Checkpoint.__required_keys__ - set(raw if isinstance(raw, dict) else ())
    if not isinstance(raw, dict) or missing:
        raise InputError(f"{path} is no checkpoint of randsmooth: it lacks {', '.join(sorted(missing))}")
    for field in ("recipe", "model", "optimizer", "schedule"):
        if not isinstance(raw[field], dict) or not all(isinstance(key, str) for key in raw[field]):
            raise _damaged(path, f"its {field} is not a dictionary with text keys")
    if not all(isinstance(tensor, Tensor) for tensor in raw["model"].values()):
        raise _damaged(path, "its model holds something other than tensors")
    if type(raw["epoch"]) is not int or not _is_history(raw["history"], raw["epoch"]):
        raise _damaged(path, f"epoch={shown(raw['epoch'])} is not the number of epochs in its history")
    try:
        kind = DenoiserRecipe if raw["recipe"].get("method") == DENOISER else Recipe
        kind.model_validate(raw["recipe"])
    except ValidationError as error:
        first = error.errors()[0]
        raise _damaged(path, f"recipe: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    # A plain dict of weights, without attributes that a pickle may have added.
    return cast(Checkpoint, raw | {"model": dict(raw["model"])})


def _is_history(history: object, epochs: int) -> bool:
    """Whether `history` has for each of `epochs` a row of numbers by name."""
    return (
        isinstance(history, list)
        and len(history) == epochs
        and all(isinstance(row, dict) for row in history)
        and all(isinstance(name, str) and type(value) in (int, float) for row in history for name, value in row.items())
    )


def _damaged(path: Path, reason: object) -> InputError:
    return InputError(f"{path} is damaged or no checkpoint ({shown(reason)}); use --overwrite to start anew")
