"""A base classifier as another file: an ONNX file or a program of torch.export, which answer alike; a model in int8.

The last is a base classifier of its own, calibrated on noisy training images. Its weights have seven bits. Processors
without VNNI add two products of 8-bit numbers in 16 bits, which 8 bits overflow: logits were 6% to 10% off there. With
seven, sums are exact, and so are the same everywhere.
"""

import json
import logging
import tempfile
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from randsmooth import data, models
from randsmooth.atomic import make_folder
from randsmooth.certification.backends import (
    BACKENDS,
    fold_batch_norm,
    make_backend,
    own_copy,
    usual_backend,
)
from randsmooth.certification.backends.file_backends import OpenVINO
from randsmooth.certification.opening import check_eval_mode, under_noise
from randsmooth.certification.run import READING, Inputs, RunSpec
from randsmooth.data import Images, ReadingOptions
from randsmooth.documents import shown
from randsmooth.errors import (
    BadValue,
    MissingValue,
    Problem,
    Setting,
    WrongModel,
    article,
    check_known,
)
from randsmooth.extras import needs
from randsmooth.models import BaseClassifier, GraphFile
from randsmooth.models.adapters.graph_file import KEY, WEIGHTS, hash_of
from randsmooth.models.adapters.torch_program import Program
from randsmooth.noise import Noise, Stream, address_of, draw, noise_said
from randsmooth.progress import Progress, Reporter, chosen_progress

COMPARED = 61  # noisy images: a number that is no multiple of the batch that the model is exported with
EXAMPLE = 2
TOGETHER = 128  # images that are answered at once
CPU = torch.device("cpu")
ONLY = "only torch modules in Python can be exported"


def export_model(
    model: object,
    *,
    onnx: Path | str | None = None,
    torch_export: Path | str | None = None,
    shape: Sequence[int] | None = None,
    fold: bool = True,
    tolerance: float = 1e-4,
) -> dict[Path, float]:
    """Write a torch module as an ONNX file, as a program of `torch.export`, or both, for batches of any size.

    What was written is read back and run on noisy images. A file whose logits differ from the model's is not kept.

    Args:
        model: the torch module, or its name (see `load_model`).
        onnx, torch_export: the files to write; one that exists is replaced.
        shape: (C, H, W) of what it takes, where the model does not say it.
        fold: whether to make each batch normalisation a part of the convolution before it.
        tolerance: how far a logit may be from the model's, as a share of the largest logit in magnitude (or of 1).

    Returns:
        The files, and how far the logits of each are from the model's, as such a share.

    Raises:
        Problem: the model is of another kind or cannot be exported, its shape is unknown, no file is asked for, or
            the logits differ by more than `tolerance`.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = export_model(model, torch_export=f"{folder}/net.pt2", shape=(1, 8, 8))
        >>> [path.name for path in written], max(written.values()) < 1e-4
        (['net.pt2'], True)
    """
    writers = (
        (onnx, partial(_write_onnx, optimize=fold)),
        (torch_export, torch.export.save),
    )
    wanted = {Path(path): write for path, write in writers if path}
    if not wanted:
        raise MissingValue(
            "nothing to write: give onnx=FILE.onnx or torch_export=FILE.pt2"
        )
    module = _module(
        models.open_source(model) if isinstance(model, str | Path) else model
    )
    shape = _shape_taken(module) or shape
    if shape is None:
        raise MissingValue(
            "the model does not say what images it takes",
            fix=("give shape=(C, H, W), or the ", Setting("dataset")),
        )
    if onnx is not None:
        with needs("export to ONNX"):
            import onnxruntime  # noqa: F401
            import onnxscript  # noqa: F401
    whole = fold_batch_norm(own_copy(module)) if fold else own_copy(module)
    program = _program(
        nn.Sequential(OrderedDict(classifier=whole)).eval(), shape
    )  # no tensor is called as an operator
    noisy = torch.rand(COMPARED, *shape, generator=torch.Generator().manual_seed(0))
    noisy += draw(noisy.shape, 0.5, stream=Stream(0, "export"))
    with torch.inference_mode():
        return {
            path: _written(path, write, program, noisy, module(noisy), tolerance)
            for path, write in wanted.items()
        }


def _shape_taken(module: nn.Module) -> tuple[int, ...] | None:
    """What a module says that it takes: of an image what the noise shows that it was trained under."""
    shape, noise = (
        getattr(module, "shape", None),
        noise_said(models.provenance_of(module)),
    )
    return (
        tuple(noise.shape(shape)) if shape is not None and noise is not None else shape
    )


def _module(model: object) -> nn.Module:
    """A float32 copy of the model on the CPU. Problem where it, or a part of it, is no torch module in Python."""
    base = models.adapt(model)
    if not isinstance(base, nn.Module):
        raise WrongModel(f"the model is {article(base.kind)}; {ONLY}")
    if isinstance(base, Program | torch.jit.ScriptModule):
        raise WrongModel(
            f"the model is a program of torch.export or TorchScript; {ONLY}"
        )
    models.check_numbers(base)
    check_eval_mode(base)
    return own_copy(base).to(CPU, torch.float32)


def _program(module: nn.Module, shape: Sequence[int]) -> Any:
    batch = ({0: torch.export.Dim("batch")},)
    with warnings.catch_warnings(
        action="ignore"
    ):  # the exporter warns of its own parts
        try:
            return torch.export.export(
                module, (torch.rand(EXAMPLE, *shape),), dynamic_shapes=batch
            )
        except Exception as error:  # a model's own code may do anything with symbols
            raise WrongModel(
                f"torch.export cannot export it ({type(error).__name__}: {shown(error)})"
            ) from error


def _write_onnx(program: Any, path: Path, *, optimize: bool) -> None:
    """Write an ONNX file; optimising it folds batch normalisations, too."""
    how: dict[str, Any] = {
        "input_names": ["images"],
        "output_names": ["logits"],
        "optimize": optimize,
    }
    logging.getLogger("torch.onnx").setLevel(
        logging.ERROR
    )  # or it says that torchvision is missing
    with warnings.catch_warnings(action="ignore"):
        torch.onnx.export(
            program, (), path, dynamo=True, verbose=False, external_data=False, **how
        )


def _written(
    path: Path,
    write: Any,
    program: Any,
    noisy: Tensor,
    expected: Tensor,
    tolerance: float,
) -> float:
    """Write, read back and compare; the file is put in place where it agrees. How far its logits are off."""
    make_folder(path.parent)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".export-") as folder:
        made = Path(folder) / path.name
        write(program, made)
        base = models.adapt(models.open_source(made))
        found = make_backend(usual_backend(base), base, CPU, "32").logits(noisy)
        apart = _distance(found, expected)
        if not apart <= tolerance:
            said = f"its logits differ by {apart:.2g} of the largest one, tolerance={tolerance:g} allows less"
            raise WrongModel(
                f"{path} is not kept: {said}", fix=("try ", Setting("fold", False))
            )
        made.replace(path)
    return apart


def _distance(found: Tensor, expected: Tensor) -> float:
    """The largest difference of logits, as a share of the largest in magnitude, or of 1. Equal infinities are equal."""
    differences = torch.where(found == expected, 0.0, (found - expected).abs())
    finite = torch.where(expected.isfinite(), expected.abs(), 0.0)
    return float(differences.max() / finite.max().clamp(min=1.0))


@dataclass(frozen=True)
class Agreement:
    """How two classifiers answer the same noisy images: paired counts.

    Attributes:
        images: how many were compared, one noisy copy each.
        same: with equal answers.
        both, only_before, only_after: answered rightly by both, by the original alone, by the int8 model alone; None
            where the images have no labels.
        split: of which these images are; "train": training images that it was not calibrated on.

    Example:
        >>> agreement = Agreement(images=100, same=97, both=90, only_before=2, only_after=1, split="test")
        >>> agreement.both + agreement.only_after  # right by the int8 model
        91
    """

    images: int
    same: int
    both: int | None
    only_before: int | None
    only_after: int | None
    split: str


def quantise(
    model: object,
    dataset: Any = None,
    *,
    out: Path | str,
    sigma: float | None = None,
    noise: Noise | str | None = None,
    images: int = 300,
    compare: int = 2000,
    seed: int = 0,
    model_args: Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    **reading: Unpack[ReadingOptions],
) -> Agreement | None:
    """Write a base classifier whose weights and activations are 8-bit integers, as an OpenVINO IR.

    It is another base classifier than the original: certificates of the one say nothing of the other. The ranges of its
    activations are those that noisy training images give under the noise it is to be certified under, since it widens
    them. This is post-training quantisation, static, so that the answer for an image depends on no other.

    Args:
        model: the original, as in `load_model`, or the model itself: torch modules, ONNX files and IRs.
        dataset: whose training split to calibrate on, in any form that `data.load` takes; default: the one that the
            model was trained on, by its name.
        out: `NET.xml`, an OpenVINO IR with its weights in NET.bin, made by NNCF. What exists is replaced.
        sigma: of Gaussian noise, or
        noise: another one; default: the one that the model was trained with.
        images: how many training images to calibrate on, evenly spread.
        compare: how many images, of the test split if there is one, both models classify afterwards; 0: none.
        seed: of the noise on the images.
        model_args: arguments of what opens or makes the model that is named (see `load_model`).
        progress: as for `certify`.
        reading: `image_column`, `label_column`, `resize` and `crop`, as for `data.load`.

    Returns:
        How its answers differ from the original's on noisy images; None where none were compared.

    Raises:
        Problem: a package is missing, there are no training images, the model cannot be quantised or is quantised
            already, or `out` names another kind of file.

    Example:
        >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> quantise(network, "digits", out="net.pt", sigma=0.5)
        Traceback (most recent call last):
        randsmooth.errors.BadValue: net.pt must end in .xml: int8 models are OpenVINO IRs
    """
    path, show = Path(out), chosen_progress(progress)
    if path.suffix != ".xml":
        raise BadValue(f"{path} must end in .xml: int8 models are OpenVINO IRs")
    check_known("setting", READING, *reading)
    spec = RunSpec.of(
        model,
        dataset,
        sigma=sigma,
        noise=noise,
        split="train",
        model_args=model_args,
        **reading,
    )
    base = spec.open_model()
    trained = models.provenance_of(base)
    _check_quantisable(base)
    if images < 1:
        raise BadValue(
            field="images", value=images, expected="must be at least 1; 300 is usual"
        )
    inputs = spec.open_inputs(base)
    calibration = _some(inputs.images, images)
    with needs("quantising"):
        import nncf  # noqa: F401
        import openvino  # noqa: F401
    settings = under_noise(spec.settings, trained).of(calibration.spec.shape)
    under = settings.smoothing
    said = settings.model_dump(include={"sigma", "noise"}, exclude_none=True)
    facts = {
        "bits": 8,
        "of": models.weights_hash(base),
        "by": f"nncf {version('nncf')}",
    }
    facts |= {
        "images": len(calibration),
        "dataset": calibration.spec.name,
        "seed": seed,
    } | said
    record = {
        "trained": {"dataset": calibration.spec.name} | trained | said,
        "quantised": facts,
    }
    make_folder(path.parent)
    with (
        show(f"quantise {path.name}", len(calibration), "images") as reporter,
        tempfile.TemporaryDirectory(dir=path.parent, prefix=".quantise-") as folder,
    ):
        noisy = _calibration_batches(base, calibration, under, seed)
        for file in _write_ir(base, noisy, record, Path(folder) / path.name):
            file.replace(path.with_suffix(file.suffix))
        reporter.advance(len(calibration))
    others = _other_images(inputs, calibration, compare) if compare else None
    if others is None:
        return None
    made = models.adapt(models.open_source(path))
    with show(f"compare {path.name}", len(others), "images") as reporter:
        counts = _compared(
            base,
            made,
            noisy_batches(others, under, Stream(seed, "compare"), TOGETHER),
            reporter,
        )
    both, before, after = counts[1:] if others.labelled else (None, None, None)
    return Agreement(len(others), counts[0], both, before, after, others.split)


def _some(images: Images, number: int) -> Images:
    """`number` of the images, evenly spread; all of them where they are fewer."""
    return images.subset(data.take(len(images), min(number, len(images))))


def _other_images(inputs: Inputs, calibration: Images, number: int) -> Images | None:
    """`number` images that are not in the `calibration`, or as many as there are: of the test split if there is one."""
    try:
        images = inputs.split("test")
    except Problem:
        images = inputs.images
    used = {
        address_of(x[0])
        for x, _ in calibration.batches(torch.arange(len(calibration)).split(1))
    }
    chosen = data.take(len(images), min(number + len(used), len(images)))
    fresh = chosen[
        [address_of(x[0]) not in used for x, _ in images.batches(chosen.split(1))]
    ]
    return _some(images.subset(fresh), number) if len(fresh) else None


def noisy_batches(
    images: Images, noise: Noise, stream: Stream, size: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """One noisy copy of each image, (B, *shape) float32 in batches of `size`, and the labels (B,).

    An image's noise depends on the stream and its pixels only.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> images = data.load("digits", "test")
        >>> x, y = next(noisy_batches(images, Gaussian(0.5), Stream(0, "example"), 16))
        >>> x.shape, y.shape
        (torch.Size([16, 1, 8, 8]), torch.Size([16]))
    """
    for x, y in images.batches(torch.arange(len(images)).split(size)):
        noisy = torch.empty(len(x), *noise.shape(x.shape[1:]))
        for out, image in zip(noisy.split(1), x, strict=True):
            noise.draw(out, image, stream.at(address_of(image)))
        yield noisy, y


def _calibration_batches(
    base: BaseClassifier, images: Images, noise: Noise, seed: int
) -> list[np.ndarray]:
    """Noisy calibration images as the model's graph takes them: one by one, or as many as its file fixes."""
    graph = base if isinstance(base, GraphFile) else None
    size = (graph.batch if graph is not None else None) or 1
    full = [
        x.numpy()
        for x, _ in noisy_batches(images, noise, Stream(seed, "calibrate"), size)
        if len(x) == size
    ]
    if not full:
        raise BadValue(
            field="images",
            value=len(images),
            expected=f"do not fill one batch of {size}, which the model's file fixes",
        )
    return full if graph is None else [graph.prepared(x) for x in full]


@torch.inference_mode()
def _compared(
    original: BaseClassifier,
    made: BaseClassifier,
    noisy_images: Iterable[tuple[Tensor, Tensor]],
    reporter: Reporter,
) -> list[int]:
    """How many answers agree, and how many are right by both models, by the original alone, by the int8 one alone."""
    sides, total = (
        [
            make_backend(usual_backend(each), each, CPU, "32")
            for each in (original, made)
        ],
        np.zeros(4),
    )
    for noisy, y in noisy_images:
        before, after = (backend.logits(noisy).argmax(1).cpu() for backend in sides)
        was, now = before == y, after == y
        total += [
            int(each.sum())
            for each in (before == after, was & now, was & ~now, ~was & now)
        ]
        reporter.advance(len(y))
    return [int(each) for each in total]


def _check_quantisable(base: BaseClassifier) -> None:
    """Raise Problem for a model that cannot be quantised."""
    if models.provenance_of(base).get("quantised"):
        raise WrongModel(
            "the model is in int8 already: quantise the one that it was made of"
        )
    if not BACKENDS["openvino"].accepts(base):
        kind = (
            "module with a part that is no torch module"
            if isinstance(base, nn.Module)
            else base.kind
        )
        raise WrongModel(
            f"the model is {article(kind)}; only torch modules, ONNX files and IRs can be quantised"
        )


def _write_ir(
    base: BaseClassifier, batches: list[np.ndarray], record: dict[str, Any], path: Path
) -> list[Path]:
    """An OpenVINO IR, quantised by NNCF."""
    import nncf
    import openvino

    nncf.set_log_level(logging.ERROR)
    advanced = nncf.AdvancedQuantizationParameters(
        overflow_fix=nncf.OverflowFix.ENABLE
    )  # seven bits everywhere
    graph = OpenVINO(base, CPU, "32").graph_of((-1, *batches[0].shape[1:]))  # type: ignore[arg-type]
    try:
        with redirect_stdout(StringIO()):  # NNCF shows progress of its own
            graph, images = pools_last(graph), nncf.Dataset(batches)
            made = nncf.quantize(
                graph, images, subset_size=len(batches), advanced_parameters=advanced
            )
    except Exception as error:  # NNCF and OpenVINO have no base class in common
        raise WrongModel(
            f"NNCF cannot quantise the model ({type(error).__name__}: {shown(error)})"
        ) from error
    if not any(layer.get_type_name() == "FakeQuantize" for layer in made.get_ops()):
        raise WrongModel(
            "no layer of the model can be quantised: it has no convolution and no known matrix product"
        )
    made.set_friendly_name("int8")
    for place, layer in enumerate(
        made.get_ordered_ops()
    ):  # OpenVINO numbers whatever a process makes
        layer.set_friendly_name(f"{layer.get_type_name()}_{place}")
    weights = path.with_suffix(".bin")
    openvino.save_model(made, path, compress_to_fp16=False)
    made.set_rt_info(
        json.dumps(record | {WEIGHTS: f"sha256:{hash_of(weights)}"}), [KEY]
    )
    openvino.save_model(made, path, compress_to_fp16=False)
    return [weights, path]  # the graph last: it knows the weights that belong to it


def pools_last(graph: Any) -> Any:
    """The graph with max(ReLU(x)) in place of ReLU(max(x)), which is the same: pools then work on integers, too."""
    for relu in [
        layer for layer in graph.get_ordered_ops() if layer.get_type_name() == "Relu"
    ]:
        pooled = relu.input_value(0)
        pool = pooled.get_node()
        if pool.get_type_name() != "MaxPool" or len(pooled.get_target_inputs()) != 1:
            continue
        after = relu.output(0).get_target_inputs()
        relu.input(0).replace_source_output(pool.input_value(0))
        pool.input(0).replace_source_output(relu.output(0))
        for each in after:
            each.replace_source_output(pool.output(0))
    graph.validate_nodes_and_infer_types()
    return graph
