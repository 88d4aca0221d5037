"""A torch module as an ONNX file, or as a program of torch.export, which answer alike."""

import logging
import tempfile
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from randsmooth import models
from randsmooth.atomic import make_folder
from randsmooth.certification.backends import (
    fold_batch_norm,
    make_backend,
    own_copy,
    usual_backend,
)
from randsmooth.certification.trying_out import check_eval_mode
from randsmooth.documents import shown
from randsmooth.errors import MissingValue, Setting, WrongModel, article
from randsmooth.extras import needs
from randsmooth.models.adapters.torch_program import Program
from randsmooth.noise import Stream, draw, recorded_noise

# The size of the batch that the model is exported with.
EXPORTED_BATCH = 2

# The number of noisy images on which a file is compared with the model. It is no multiple
# of EXPORTED_BATCH, so that a file that takes no other batch is found out.
COMPARED_IMAGES = 61

CPU = torch.device("cpu")
EXPORTABLE = "only torch modules in Python can be exported"

# Writes a program of torch.export into a file.
Writer = Callable[[Any, Path], None]


def export_model(
    model: object,
    *,
    onnx: Path | str | None = None,
    torch_export: Path | str | None = None,
    shape: Sequence[int] | None = None,
    fold: bool = True,
    tolerance: float = 1e-4,
) -> dict[Path, float]:
    """Write a torch module as an ONNX file, as a program of `torch.export`, or both.

    The files take batches of any size. Each is read back and run on noisy images. A
    file whose logits differ from the model's is not kept.

    Args:
        model: the torch module, or its name (see `load_model`).
        onnx, torch_export: the files to write; one that exists is replaced.
        shape: (C, H, W) of the inputs, where the model does not say it.
        fold: whether to make each batch normalisation a part of the convolution before
            it.
        tolerance: how far a logit may be from the model's, as a share of the largest
            logit in magnitude; of 1, where that is smaller.

    Returns:
        File -> how far its logits are from the model's, as such a share.

    Raises:
        Problem: the model is of another kind or cannot be exported, its shape is
            unknown, no file is asked for, or the logits differ by more than
            `tolerance`.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = f"{folder}/net.pt2"
        ...     written = export_model(model, torch_export=file, shape=(1, 8, 8))
        >>> [path.name for path in written], max(written.values()) < 1e-4
        (['net.pt2'], True)
    """
    writers = dict[Path, Writer]()
    if onnx:
        writers[Path(onnx)] = partial(_write_onnx, optimize=fold)
    if torch_export:
        writers[Path(torch_export)] = torch.export.save
    if not writers:
        raise MissingValue(
            "nothing to write",
            field="onnx",
            fix=(
                "give ",
                Setting("onnx", "FILE.onnx"),
                " or ",
                Setting("torch_export", "FILE.pt2"),
            ),
        )
    if isinstance(model, str | Path):
        model = models.open_source(model)
    module = _exportable(model)
    shape = _shape_taken(module) or shape
    if shape is None:
        raise MissingValue(
            "the model does not describe its images",
            field="shape",
            fix=("give shape=(C, H, W), or the ", Setting("dataset")),
        )
    if onnx is not None:
        # Tried here, before any work: the ONNX exporter needs both.
        with needs("export to ONNX"):
            import onnxruntime  # noqa: F401
            import onnxscript  # noqa: F401

    program = _exported(module, shape, fold=fold)
    noisy = _noisy_images(shape)
    with torch.inference_mode():
        expected = module(noisy)
        return {
            path: _written(path, write, program, noisy, expected, tolerance)
            for path, write in writers.items()
        }


def _exportable(model: object) -> nn.Module:
    """Return a float32 copy of the model on the CPU.

    Raises:
        Problem: it, or a part of it, is no torch module in Python.
    """
    base = models.adapt(model)
    if not isinstance(base, nn.Module):
        raise WrongModel(f"the model is {article(base.kind)}; {EXPORTABLE}")
    if isinstance(base, Program | torch.jit.ScriptModule):
        raise WrongModel(
            f"the model is a program of torch.export or TorchScript; {EXPORTABLE}"
        )
    models.check_numbers(base)
    check_eval_mode(base)
    return own_copy(base).to(CPU, torch.float32)


def _shape_taken(module: nn.Module) -> tuple[int, ...] | None:
    """Return the shape of the inputs of a module; None where it does not say it.

    A module says the shape of an image. Its inputs are noisy copies, which may have
    another shape under the noise that it was trained with.
    """
    shape: tuple[int, ...] | None = getattr(module, "shape", None)
    noise = recorded_noise(models.provenance_of(module))
    if shape is None or noise is None:
        return shape
    return tuple(noise.shape(shape))


def _exported(module: nn.Module, shape: Sequence[int], *, fold: bool) -> Any:
    """Return the module as a program of torch.export, for batches of any size."""
    whole = own_copy(module)
    if fold:
        whole = fold_batch_norm(whole)
    # No tensor of the program may have an operator's name: all names get this prefix.
    prefixed = nn.Sequential(OrderedDict(classifier=whole)).eval()
    example = torch.rand(EXPORTED_BATCH, *shape)
    any_batch = ({0: torch.export.Dim("batch")},)
    # The exporter warns of its own parts.
    with warnings.catch_warnings(action="ignore"):
        try:
            return torch.export.export(prefixed, (example,), dynamic_shapes=any_batch)
        # A model's own code may do anything with symbols in place of numbers.
        except Exception as error:
            raise WrongModel(
                f"torch.export cannot export it ({type(error).__name__}: "
                f"{shown(error)})"
            ) from error


def _noisy_images(shape: Sequence[int]) -> Tensor:
    """Return (COMPARED_IMAGES, *shape) random images with noise, always the same."""
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(COMPARED_IMAGES, *shape, generator=generator)
    return images + draw(images.shape, sigma=0.5, stream=Stream(0, "export"))


def _write_onnx(program: Any, path: Path, *, optimize: bool) -> None:
    """Write a program as an ONNX file.

    To `optimize` it also folds its batch normalisations.
    """
    # Else the exporter says that torchvision is missing, which it does not need here.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(action="ignore"):
        torch.onnx.export(
            program,
            (),
            path,
            dynamo=True,
            verbose=False,
            external_data=False,
            input_names=["images"],
            output_names=["logits"],
            optimize=optimize,
        )


def _written(
    path: Path,
    write: Writer,
    program: Any,
    noisy: Tensor,
    expected: Tensor,
    tolerance: float,
) -> float:
    """Write a file, read it back, compare it, and put it in place if it agrees.

    Args:
        path: the path of the file.
        write: writes the program into a file.
        program: the program to write.
        noisy: (N, *shape) images.
        expected: (N, K) the logits that the model gives to them.
        tolerance: how far the logits may be off, see `export_model`.

    Returns:
        How far the logits of the file are off.

    Raises:
        WrongModel: they are off by more than `tolerance`.
    """
    make_folder(path.parent)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".export-") as folder:
        file = Path(folder) / path.name
        write(program, file)
        base = models.adapt(models.open_source(file))
        backend = make_backend(usual_backend(base), base, device=CPU, precision="32")
        distance = _distance(backend.logits(noisy), expected)
        # Written so that a distance of NaN is refused, too.
        if not distance <= tolerance:
            raise WrongModel(
                f"{path} is not kept: its logits differ by {distance:.2g} of the "
                f"largest one, tolerance={tolerance:g} allows less",
                fix=("try ", Setting("fold", False)),
            )
        file.replace(path)
    return distance


def _distance(logits: Tensor, expected: Tensor) -> float:
    """Return the largest difference from the `expected` logits, as a share of the
    largest finite one of these in magnitude, or of 1 where that is larger.

    Equal infinities do not differ.
    """
    differences = torch.where(logits == expected, 0.0, (logits - expected).abs())
    finite = torch.where(expected.isfinite(), expected.abs(), 0.0)
    return float(differences.max() / finite.max().clamp(min=1.0))
