"""A base classifier as an ONNX file or a program of torch.export, read back and compared with the original."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from randsmooth import models
from randsmooth.atomic import make_folder
from randsmooth.certification.backends import fold_batch_norm, make_backend, own_copy, usual_backend
from randsmooth.certification.opening import check_eval_mode
from randsmooth.documents import shown
from randsmooth.errors import InputError, article
from randsmooth.extras import needs
from randsmooth.models.adapters.programs import Program
from randsmooth.noise import Stream, draw, noise_said

COMPARED = 61  # noisy images: a number that is no multiple of the batch that the model is exported with
EXAMPLE = 2
CPU = torch.device("cpu")
ONLY = "only torch modules in Python can be exported"


def export_model(
    model: object,
    *,
    onnx: Path | str | None = None,
    torch_export: Path | str | None = None,
    shape: Sequence[int] | None = None,
    fold: bool = True,
    sigma: float = 0.5,
    tolerance: float = 1e-4,
) -> dict[Path, float]:
    """Write a torch module as an ONNX file, as a program of `torch.export`, or both, for batches of any size.

    What was written is read back and run on noisy images. A file whose logits differ from the model's is not kept.

    Args:
        model: the torch module, or its name (see `load_model`).
        onnx, torch_export: the files to write; one that exists is replaced.
        shape: (C, H, W) of what it takes, where the model does not say it.
        fold: whether to make each batch normalisation a part of the convolution before it.
        sigma: of the noise on the images that are compared.
        tolerance: how far a logit may be from the model's, as a share of the largest logit in magnitude (or of 1).

    Returns:
        The files, and how far the logits of each are from the model's, as such a share.

    Raises:
        InputError: the model is of another kind or cannot be exported, its shape is unknown, no file is asked for, or
            the logits differ by more than `tolerance`.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = export_model(model, torch_export=f"{folder}/net.pt2", shape=(1, 8, 8))
        >>> [path.name for path in written], max(written.values()) < 1e-4
        (['net.pt2'], True)
    """
    writers = ((onnx, partial(_write_onnx, optimize=fold)), (torch_export, torch.export.save))
    wanted = {Path(path): write for path, write in writers if path}
    if not wanted:
        raise InputError("nothing to write: give onnx=FILE.onnx or torch_export=FILE.pt2")
    module = _module(models.open_source(model) if isinstance(model, str | Path) else model)
    shape = _shape_taken(module) or shape
    if shape is None:
        raise InputError("the model does not say what images it takes: give shape=(C, H, W) (--dataset NAME)")
    if onnx is not None:
        with needs("export to ONNX"):
            import onnxruntime  # noqa: F401
            import onnxscript  # noqa: F401
    whole = fold_batch_norm(own_copy(module)) if fold else own_copy(module)
    program = _program(nn.Sequential(OrderedDict(classifier=whole)).eval(), shape)  # no tensor is called as an operator
    noisy = torch.rand(COMPARED, *shape, generator=torch.Generator().manual_seed(0))
    noisy += draw(noisy.shape, sigma, stream=Stream(0, "export"))
    with torch.inference_mode():
        return {path: _written(path, write, program, noisy, module(noisy), tolerance) for path, write in wanted.items()}


def _shape_taken(module: nn.Module) -> tuple[int, ...] | None:
    """What a module says that it takes: of an image what the noise shows that it was trained under."""
    shape, noise = getattr(module, "shape", None), noise_said(models.provenance_of(module))
    return tuple(noise.shape(shape)) if shape is not None and noise is not None else shape


def _module(model: object) -> nn.Module:
    """A float32 copy of the model on the CPU. InputError where it, or a part of it, is no torch module in Python."""
    base = models.adapt(model)
    if not isinstance(base, nn.Module):
        raise InputError(f"the model is {article(base.kind)}; {ONLY}")
    if any(isinstance(module, models.Ensemble) and module.consensus is not None for module in base.modules()):
        raise InputError("it asks some members only where the first ones differ: leave out consensus to export it")
    foreign, scripts = models.foreign_parts(base), (Program, torch.jit.ScriptModule)
    for name, module in base.named_modules():
        if module in foreign or isinstance(module, scripts):
            kind = "a program of torch.export or TorchScript" if isinstance(module, scripts) else article(module.kind)
            raise InputError(f"{f'the part {name} of the model' if name else 'the model'} is {kind}; {ONLY}")
    check_eval_mode(base)
    return own_copy(base).to(CPU, torch.float32)


def _program(module: nn.Module, shape: Sequence[int]) -> Any:
    batch = ({0: torch.export.Dim("batch")},)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns of its own parts
        try:
            return torch.export.export(module, (torch.rand(EXAMPLE, *shape),), dynamic_shapes=batch)
        except Exception as error:  # a model's own code may do anything with symbols
            raise InputError(f"torch.export cannot export it ({type(error).__name__}: {shown(error)})") from error


def _write_onnx(program: Any, path: Path, *, optimize: bool) -> None:
    """Write an ONNX file; optimising it folds batch normalisations, too."""
    how: dict[str, Any] = {"input_names": ["images"], "output_names": ["logits"], "optimize": optimize}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # or it says that torchvision is missing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(program, (), path, dynamo=True, verbose=False, external_data=False, **how)


def _written(path: Path, write: Any, program: Any, noisy: Tensor, expected: Tensor, tolerance: float) -> float:
    """Write, read back and compare; the file is put in place where it agrees. How far its logits are off."""
    make_folder(path.parent)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".export-") as folder:
        made = Path(folder) / path.name
        write(program, made)
        base = models.adapt(models.open_source(made))
        found = make_backend(usual_backend(base), base, CPU, "32").logits(noisy)
        apart = float((found - expected).abs().max() / expected.abs().max().clamp(min=1.0))
        if not apart <= tolerance:
            raise InputError(
                f"{path} is not kept: its logits differ by {apart:.2g} of the largest one, tolerance={tolerance:g} "
                "allows less. Try fold=False (--no-fold)"
            )
        made.replace(path)
    return apart
