"""Programs of torch's, which can run code: TorchScript files, and what torch.export makes and saves."""

from __future__ import annotations

import json
import logging
import sys
import warnings
import zipfile
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

MODE = ("training", "train")  # what operators call their argument for train mode


class Program(nn.Module):
    """An exported program, which takes batches of the sizes that it was exported for; others are cut or filled up.

    Args:
        program: of `torch.export`.

    Attributes:
        shape: that of the inputs that it takes, such as (C, H, W); None where it takes any.
        smallest, largest: images in a batch that it takes; largest is None without a limit.

    Raises:
        Problem: it takes something else than one batch of images, or it was exported in train mode.
    """

    keeps_layout = True  # its graph may rely on contiguous memory

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        _check_mode(program)
        axes = _input_axes(program)
        whole = program.module(check_guards=False)
        self.graph = fx.GraphModule(
            whole, whole.graph
        )  # without the hooks and methods that torch.export adds
        self.smallest, self.largest = _limits(axes[0], program)
        self.shape = (
            tuple(axes[1:]) if all(isinstance(side, int) for side in axes[1:]) else None
        )
        for module in self.modules():
            module.training = (
                False  # the mode was decided at the export; see `_check_mode`
            )

    def forward(self, x: Tensor) -> Any:
        """Logits (B, K) of images (B, C, H, W). Below `smallest`, black ones are added, and their answers dropped."""
        if self.shape is not None and tuple(x.shape[1:]) != self.shape:
            raise RuntimeError(f"it was exported for inputs of shape {self.shape}")
        answers = []
        for part in x.contiguous().split(self.largest or len(x)):
            missing = max(0, self.smallest - len(part))
            answer = self.graph(
                torch.cat([part, part.new_zeros(missing, *part.shape[1:])])
                if missing
                else part
            )
            answers.append(
                answer[: len(part)]
                if missing and isinstance(answer, Tensor)
                else answer
            )
        return (
            answers[0]
            if len(answers) == 1 or not isinstance(answers[0], Tensor)
            else torch.cat(answers)
        )


def is_program(model: object) -> bool:
    """Whether it is a `torch.export.ExportedProgram`; torch.export is not imported for this."""
    there = sys.modules.get("torch.export")
    return there is not None and isinstance(model, there.ExportedProgram)


def scripted(source: Path | str) -> torch.jit.ScriptModule:
    """The TorchScript module in the file `source`, in the mode in which it was saved.

    Raises:
        Problem: it holds something else, such as a checkpoint, or is damaged.
    """
    _check_script(Path(source))
    try:
        with warnings.catch_warnings(
            action="ignore"
        ):  # that TorchScript is no longer developed
            module: torch.jit.ScriptModule = torch.jit.load(
                str(source), map_location="cpu"
            )
        return module
    except Exception as error:  # the reader raises whatever a damaged part makes it
        why = f"it is no TorchScript file that can be run, as torch.jit.script(model).save writes: {_last_line(error)}"
        raise no_model(source, f" ({why})") from error


def _check_script(path: Path) -> None:
    """Raise Problem where a zip file swells or is damaged: torch does not look, and damage may end the process."""
    try:
        if not zipfile.is_zipfile(path):  # which torch says
            return
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            check_archive(file, path.stat().st_size, packed="code")
            damaged = archive.testzip()
    except Exception as error:  # of damaged parts Python's reader raises whatever comes
        raise WrongFile(
            f"{path} is damaged ({_last_line(error)}): copy or download it again",
            file=path,
        ) from error
    if damaged is not None:
        raise Conflict(
            f"{path} is damaged, the checksum of its part {shown(damaged)} differs: download it again",
            file=path,
        )


def exported(source: Path | str) -> Any:
    """The program of `torch.export.save` in the file `source`.

    Raises:
        Problem: it holds something else, keeps tensors as pickle, or is damaged.
    """
    import torch.export

    kind = what_it_is(Path(source))
    if kind and kind != PROGRAM:
        raise WrongFile(f"{source} {kind}; expected a program of torch.export.save")
    logging.getLogger("torch.export").setLevel(
        logging.ERROR
    )  # or it says with a traceback why it fails
    try:
        _check_plain(source)
        return torch.export.load(str(source))
    except Exception as error:  # the reader raises whatever a damaged part makes it
        way = "torch.export.save(program, ...) writes one"
        raise WrongFile(
            f"{source} is no exported program that can be run ({_last_line(error)}): {way}"
        ) from error


def _check_plain(source: Path | str) -> None:
    """Raise Problem where an archive's weights or constants are pickled objects, or compiled code."""
    with Path(source).open("rb") as file, zipfile.ZipFile(file) as archive:
        check_archive(file, Path(source).stat().st_size)
        if not any(map(is_of_program, archive.namelist())):
            raise WrongFile("it holds tensors alone, as torch.save writes them")
        for name in archive.namelist():
            if "aotinductor" in name:
                raise WrongFile(
                    "it is compiled by AOTInductor: give the program itself"
                )
            if name.endswith("_config.json"):
                config = json.loads(archive.read(name)).get("config", {})
                if pickled := [
                    key for key, value in config.items() if value.get("use_pickle")
                ]:
                    raise WrongFile(
                        f"it keeps {shown(pickled[0])} as pickle, which is never loaded"
                    )


def _last_line(error: Exception) -> str:
    return shown((str(error).strip() or type(error).__name__).splitlines()[-1])


def _input_axes(program: ExportedProgram) -> list[Any]:
    """Lengths of the axes of the only input: integers, or symbols where they are free."""
    inputs = program.graph_signature.user_inputs
    taken = [
        node.meta.get("val") for node in program.graph.nodes if node.name in inputs
    ]
    if len(taken) != 1 or not isinstance(taken[0], Tensor) or taken[0].dim() < 2:
        got = ", ".join(
            str(tuple(t.shape)) if isinstance(t, Tensor) else type(t).__name__
            for t in taken
        )
        raise WrongFile(
            f"the exported program takes {got or 'nothing'}; expected one batch, as images (B, C, H, W)"
        )
    return list(taken[0].shape)


def _limits(batch: Any, program: ExportedProgram) -> tuple[int, int | None]:
    """The fewest and the most images in a batch; None for no limit."""
    if isinstance(batch, int):
        return batch, batch
    known = program.range_constraints.get(batch.node.expr)
    if known is None:
        return 1, None
    most = (
        int(known.upper)
        if known.upper.is_finite and known.upper < sys.maxsize - 1
        else None
    )
    return max(1, int(known.lower)), most


def _check_mode(program: ExportedProgram) -> None:
    """Raise Problem where an operator was exported in train mode, in which answers are random or of the batch."""
    for node in program.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        for place, argument in enumerate(
            schema.arguments if schema is not None else ()
        ):
            given = (
                node.args[place]
                if place < len(node.args)
                else node.kwargs.get(argument.name, False)
            )
            if argument.name in MODE and given is True:
                way = "call model.eval() before torch.export.export"
                raise WrongModel(
                    f"the program was exported in train mode (its {node.name} is): {way}"
                )
