"""Programs that torch wrote into files: TorchScript, and those of torch.export.

Such files hold code, so they are checked before torch opens them.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, fx, nn

from randsmooth.contents import PROGRAM, is_of_program, what_it_is
from randsmooth.documents import shown
from randsmooth.errors import Conflict, WrongFile, WrongModel
from randsmooth.models.archives import check_archive
from randsmooth.models.not_models import no_model

if TYPE_CHECKING:
    from torch.export import ExportedProgram

# The names that operators give their argument for train mode.
TRAIN_MODE = ("training", "train")


class Program(nn.Module):
    """A program of `torch.export` as a torch module.

    A program takes only batches of the sizes that it was exported for. This module takes
    any: larger batches are cut, and smaller ones filled up.

    Args:
        program: the program that `torch.export` made.

    Attributes:
        shape: the shape of the inputs that the program takes, such as (C, H, W); None where
            it takes several.
        smallest: the fewest images that it takes in a batch.
        largest: the most images that it takes in a batch; None without a limit.
        keeps_layout: tells the torch backend to leave batches in contiguous memory.

    Raises:
        WrongFile: the program takes something else than one batch of images.
        WrongModel: it was exported in train mode.
    """

    # The graph may rely on contiguous memory.
    keeps_layout = True

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        _check_mode(program)
        batch, *sides = _input_axes(program)
        self.smallest, self.largest = _limits(batch, program)
        # A side that the program leaves free is a symbol.
        self.shape: tuple[int, ...] | None = None
        if all(isinstance(side, int) for side in sides):
            self.shape = tuple(sides)

        # The module is made anew, without the hooks and methods that torch.export adds.
        module = program.module(check_guards=False)
        self.graph = fx.GraphModule(module, module.graph)
        for part in self.modules():
            # The export decided the mode, and `_check_mode` has found it to be eval mode.
            part.training = False

    def forward(self, x: Tensor) -> Any:
        """Return logits (B, K) of images (B, C, H, W)."""
        if self.shape is not None and tuple(x.shape[1:]) != self.shape:
            raise RuntimeError(f"it was exported for inputs of shape {self.shape}")
        parts = x.contiguous().split(self.largest or len(x))
        answers = [self._answer(part) for part in parts]
        # An answer that is no tensor is refused later, whatever its batch.
        if len(answers) == 1 or not isinstance(answers[0], Tensor):
            return answers[0]
        return torch.cat(answers)

    def _answer(self, images: Tensor) -> Any:
        """Return the answers to a batch of at most `largest` images.

        A batch of fewer than `smallest` is filled up with black images, whose answers are
        dropped.
        """
        missing = self.smallest - len(images)
        if missing <= 0:
            return self.graph(images)
        black = images.new_zeros(missing, *images.shape[1:])
        answer = self.graph(torch.cat([images, black]))
        return answer[: len(images)] if isinstance(answer, Tensor) else answer


def is_program(model: object) -> bool:
    """Return whether `model` is a `torch.export.ExportedProgram`."""
    # Importing torch.export takes long. Where nobody has imported it, there is no program.
    export = sys.modules.get("torch.export")
    return export is not None and isinstance(model, export.ExportedProgram)


def scripted(source: Path | str) -> torch.jit.ScriptModule:
    """Return the TorchScript module in a file, in the mode in which it was saved.

    Raises:
        Problem: the file holds something else, such as a checkpoint, or is damaged.
    """
    _check_script(Path(source))
    try:
        # torch warns that TorchScript is no longer developed.
        with warnings.catch_warnings(action="ignore"):
            module: torch.jit.ScriptModule = torch.jit.load(
                str(source), map_location="cpu"
            )
        return module
    # A damaged part may make the reader raise anything.
    except Exception as error:
        reason = (
            "torch cannot run it as a TorchScript file, which "
            f"torch.jit.script(model).save writes: {_last_line(error)}"
        )
        raise no_model(source, reason=f" ({reason})") from error


def _check_script(path: Path) -> None:
    """Check that a TorchScript file is whole, and not larger once it is decompressed.

    torch itself does not check this, and a damaged file may end the process.

    Raises:
        WrongFile: it is damaged, or would make more than it holds.
        Conflict: the checksum of a part differs.
    """
    try:
        # torch.jit.load raises an error for a file that is no zip file.
        if not zipfile.is_zipfile(path):
            return
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            check_archive(file, path.stat().st_size, packed="code")
            damaged = archive.testzip()
    # A damaged part may make Python's reader raise anything.
    except Exception as error:
        raise WrongFile(
            f"{path} is damaged ({_last_line(error)}): copy or download it again",
            file=path,
        ) from error
    if damaged is not None:
        raise Conflict(
            f"{path} is damaged, the checksum of its part {shown(damaged)} differs: "
            "download it again",
            file=path,
        )


def exported(source: Path | str) -> Any:
    """Return the program of `torch.export.save` in the file `source`.

    Raises:
        WrongFile: the file holds something else, keeps tensors as pickle, or is damaged.
    """
    # It takes long to load.
    import torch.export

    kind = what_it_is(Path(source))
    if kind and kind != PROGRAM:
        raise WrongFile(f"{source} {kind}; expected a program of torch.export.save")
    # Its logger would print a traceback of the failure, which is told below.
    logging.getLogger("torch.export").setLevel(logging.ERROR)
    try:
        _check_plain(source)
        return torch.export.load(str(source))
    # A damaged part may make the reader raise anything.
    except Exception as error:
        raise WrongFile(
            f"{source} is not an exported program that torch can run ({_last_line(error)}): "
            "torch.export.save(program, ...) writes one"
        ) from error


def _check_plain(source: Path | str) -> None:
    """Check that a program holds no compiled code, and no weights or constants as pickle.

    Raises:
        WrongFile: it does, or it is no program. The message is the reason alone.
    """
    with Path(source).open("rb") as file, zipfile.ZipFile(file) as archive:
        check_archive(file, Path(source).stat().st_size)
        if not any(map(is_of_program, archive.namelist())):
            raise WrongFile("it holds only tensors, written by torch.save")
        for name in archive.namelist():
            if "aotinductor" in name:
                raise WrongFile(
                    "it is compiled by AOTInductor: give the program itself"
                )
            # Such a part lists the weights or the constants, and how each is kept.
            if name.endswith("_config.json"):
                _check_config(json.loads(archive.read(name)).get("config", {}))


def _check_config(config: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that no tensor is kept as pickle.

    Args:
        config: the name of each tensor -> how the archive keeps it.

    Raises:
        WrongFile: one is.
    """
    for key, value in config.items():
        if value.get("use_pickle"):
            raise WrongFile(f"it keeps {shown(key)} as pickle, which is never loaded")


def _last_line(error: Exception) -> str:
    """Return the last line of an error, in which torch names the fault."""
    words = str(error).strip() or type(error).__name__
    return shown(words.splitlines()[-1])


def _input_axes(program: ExportedProgram) -> list[Any]:
    """Return the lengths of the axes of the only input, which is a batch.

    A length is an integer, or a symbol where the program leaves it free.

    Raises:
        WrongFile: the program takes something else than one batch.
    """
    names = program.graph_signature.user_inputs
    nodes = [node for node in program.graph.nodes if node.name in names]
    # "val" is an example of the input: for a tensor, one without values.
    inputs = [node.meta.get("val") for node in nodes]
    if len(inputs) == 1:
        (batch,) = inputs
        if isinstance(batch, Tensor) and batch.dim() >= 2:
            return list(batch.shape)
    kinds = [
        str(tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__
        for value in inputs
    ]
    raise WrongFile(
        f"the exported program takes {', '.join(kinds) or 'nothing'}; expected one batch, "
        "as images (B, C, H, W)"
    )


def _limits(batch: Any, program: ExportedProgram) -> tuple[int, int | None]:
    """Return the fewest and the most images in a batch; None for no limit.

    Args:
        batch: the length of the first axis, an integer or a symbol.
        program: the program, which knows the limits of its symbols.
    """
    if isinstance(batch, int):
        return batch, batch
    limits = program.range_constraints.get(batch.node.expr)
    if limits is None:
        return 1, None
    # A batch of 0 images is never asked about.
    fewest = max(1, int(limits.lower))
    # torch writes no limit as infinity, or as the largest number.
    if not limits.upper.is_finite or limits.upper >= sys.maxsize - 1:
        return fewest, None
    return fewest, int(limits.upper)


def _check_mode(program: ExportedProgram) -> None:
    """Check that no operator was exported in train mode.

    In train mode, answers are random or depend on the other images of a batch.

    Raises:
        WrongModel: one was.
    """
    for node in program.graph.nodes:
        # torch has no public name for the list of an operator's arguments.
        schema = getattr(node.target, "_schema", None)
        arguments = schema.arguments if schema is not None else ()
        for index, argument in enumerate(arguments):
            # The value is given by name, or by position, or left out.
            value = node.kwargs.get(argument.name, False)
            if index < len(node.args):
                value = node.args[index]
            if argument.name in TRAIN_MODE and value is True:
                raise WrongModel(
                    f"the program was exported in train mode (its {node.name} is): call "
                    "model.eval() before torch.export.export"
                )
