"""A limit on the memory that building a network may take, since a file may describe an absurdly large one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from randsmooth.errors import InputError

# The functions by which layers get memory; none of it is used before its size is known.
MAKERS = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn)
SPARE = 2**20  # numbers that a network may have besides its weights


class SizeLimit(TorchFunctionMode):
    """A context in which at most about `numbers` elements of tensors may be made.

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
