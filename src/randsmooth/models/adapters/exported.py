"""Programs of `torch.export` as torch modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, fx, nn

from randsmooth.errors import InputError

if TYPE_CHECKING:
    from torch.export import ExportedProgram

MODE = ("training", "train")  # what operators call their argument for train mode
IMAGES = 4  # axes of a batch of images


class Program(nn.Module):
    """An exported program, which takes batches of the sizes that it was exported for; others are cut or filled up.

    Attributes:
        shape: (C, H, W) of the images that it takes; None where it takes any.
        smallest, largest: images in a batch that it takes; largest is None without a limit.
    """

    keeps_layout = True  # its graph may rely on contiguous memory

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        whole = program.module(check_guards=False)
        self.graph = fx.GraphModule(whole, whole.graph)  # without the hooks and methods that torch.export adds
        axes = _input_axes(program)
        self.smallest, self.largest = _limits(axes[0], program)
        sides = [side if isinstance(side, int) else None for side in axes[1:]]
        self.shape = None if None in sides else tuple(sides)
        for module in self.modules():
            module.training = False  # the mode was decided at the export; see `_check_mode`

    def forward(self, x: Tensor) -> Any:
        """Logits (B, K) of images (B, C, H, W)."""
        if self.shape is not None and tuple(x.shape[1:]) != self.shape:
            raise RuntimeError(f"it was exported for images of shape {self.shape}")
        x, size = x.contiguous(), self.largest or len(x)
        answers = [self._part(x[start : start + size]) for start in range(0, len(x), size)]
        return answers[0] if len(answers) == 1 or not isinstance(answers[0], Tensor) else torch.cat(answers)

    def _part(self, x: Tensor) -> Any:
        """Of at most `largest` images; below `smallest`, black ones are added and their answers thrown away."""
        missing = max(0, self.smallest - len(x))
        if not missing:
            return self.graph(x)
        answer = self.graph(torch.cat([x, x.new_zeros(missing, *x.shape[1:])]))
        return answer[: len(x)] if isinstance(answer, Tensor) else answer


def recognises(model: object) -> bool:
    """Whether it is a `torch.export.ExportedProgram`; torch.export is not imported for this."""
    there = sys.modules.get("torch.export")
    return there is not None and isinstance(model, there.ExportedProgram)


def adapt(program: ExportedProgram) -> Program:
    """The program as a module.

    Raises:
        InputError: it takes something else than one batch of images, or it was exported in train mode.
    """
    _check_mode(program)
    return Program(program)


def _input_axes(program: ExportedProgram) -> list[Any]:
    """Lengths of the axes of the only input: integers, or symbols where they are free."""
    taken = [_value(program, name) for name in program.graph_signature.user_inputs]
    if len(taken) != 1 or not isinstance(taken[0], Tensor) or taken[0].dim() != IMAGES:
        got = ", ".join(str(tuple(t.shape)) if isinstance(t, Tensor) else type(t).__name__ for t in taken)
        raise InputError(f"the exported program takes {got or 'nothing'}; expected one batch of images (B, C, H, W)")
    return list(taken[0].shape)


def _value(program: ExportedProgram, name: Any) -> Any:
    return next(node.meta.get("val") for node in program.graph.nodes if node.name == name)


def _limits(batch: Any, program: ExportedProgram) -> tuple[int, int | None]:
    """The fewest and the most images in a batch; None for no limit."""
    if isinstance(batch, int):
        return batch, batch
    known = program.range_constraints.get(batch.node.expr)
    if known is None:
        return 1, None
    most = int(known.upper) if known.upper.is_finite and known.upper < sys.maxsize - 1 else None
    return max(1, int(known.lower)), most


def _check_mode(program: ExportedProgram) -> None:
    """Raise InputError where an operator was exported in train mode, in which answers are random or of the batch."""
    for node in program.graph.nodes:
        if node.op == "call_function" and any(_arguments(node)):
            raise InputError(
                f"the program was exported in train mode (its {node.name} is); a certificate is about fixed answers: "
                "call model.eval() before torch.export.export"
            )


def _arguments(node: fx.Node) -> Iterator[bool]:
    """The values of a node's arguments that stand for train mode."""
    schema = getattr(node.target, "_schema", None)
    for place, argument in enumerate(schema.arguments if schema is not None else ()):
        if argument.name in MODE:
            given = node.args[place] if place < len(node.args) else node.kwargs.get(argument.name, False)
            yield given is True
