"""A base classifier in int8, calibrated on noisy training images: a file, and so a base classifier of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from randsmooth import models
from randsmooth.certificates import CertificationSettings
from randsmooth.certification.backends import Backend, make_backend, usual_backend
from randsmooth.certification.checks import check_fit
from randsmooth.certification.conversion.calibration import (
    Agreement,
    compared,
    noisy_batches,
    other_images,
    training_images,
)
from randsmooth.certification.conversion.int8_files import WRITERS, Calibration
from randsmooth.certification.opening import completed, opened
from randsmooth.data import Images
from randsmooth.errors import InputError
from randsmooth.models import BaseClassifier, GraphFile
from randsmooth.noise import Stream
from randsmooth.progress import Progress, chosen_progress

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Quantised:
    """What `quantise` made.

    Attributes:
        path: the file.
        agreement: how its answers differ from the original's on noisy images; None where none were compared.
        split: of which these images are; "train": training images that it was not calibrated on.

    Example:
        >>> Quantised(Path("net.xml"), Agreement(10, 10, 9, 0, 0), "test").agreement.difference
        0.0
    """

    path: Path
    agreement: Agreement | None
    split: str


def quantise(
    model: object,
    dataset: Any = None,
    *,
    out: Path | str,
    sigma: float | None = None,
    images: int = 300,
    compare: int = 2000,
    split: str = "train",
    image_column: str | None = None,
    label_column: str | None = None,
    resize: Any = None,
    crop: Any = None,
    seed: int = 0,
    model_args: Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
) -> Quantised:
    """Write a base classifier whose weights and activations are 8-bit integers, as an OpenVINO IR or an ONNX file.

    It is another base classifier than the original: certificates of the one say nothing of the other. The ranges of its
    activations are those that noisy training images give at the sigma it is to be certified at, since noise widens
    them. This is post-training quantisation, static, so that the answer for an image depends on no other.

    Args:
        model: the original, as in `load_model`, or the model itself: torch modules, ONNX files, for an IR also IRs.
        dataset: whose training split to calibrate on, in any form that `data.load` takes; default: the one that the
            model was trained on, by its name.
        out: `NET.xml`, an OpenVINO IR with its weights in NET.bin, made by NNCF; or `NET.onnx`, with QuantizeLinear and
            DequantizeLinear around each layer, made by ONNX Runtime. What exists is replaced.
        sigma: of the noise; default: the one that the model was trained with.
        images: how many training images to calibrate on, evenly spread.
        compare: how many images, of the test split if there is one, both models classify afterwards; 0: none.
        split: "train"; any other is refused.
        image_column, label_column, resize, crop: as for `data.load`.
        seed: of the noise on the images.
        model_args: arguments of what opens or makes the model that is named (see `load_model`).
        progress: as for `certify`.

    Raises:
        InputError: a package is missing, there are no training images, the model cannot be quantised or is quantised
            already, or `out` names another kind of file.

    Example:
        >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> quantise(network, "digits", out="net.onnx", sigma=0.5, split="test")
        Traceback (most recent call last):
        randsmooth.errors.InputError: split='test': an int8 model is calibrated on training images, since ...
    """
    path, show = Path(out), chosen_progress(progress)
    if path.suffix not in WRITERS:
        raise InputError(f"{path} must end in .xml (for an OpenVINO IR) or .onnx")
    writer = WRITERS[path.suffix]
    base = opened(model, model_args or {}, None)
    writer.check(base)
    trained = models.provenance_of(base)
    dataset, settings = completed(dataset, CertificationSettings(sigma=sigma), trained)
    sigma = settings.known_sigma
    columns = {"image_column": image_column, "label_column": label_column, "resize": resize, "crop": crop}
    calibration = training_images(dataset, split, images, **columns)
    check_fit(base, calibration.spec)
    facts = {"bits": 8, "of": models.weights_hash(base), "by": writer.made_by(), "images": len(calibration)}
    facts |= {"dataset": calibration.spec.name, "sigma": sigma, "seed": seed}
    record = {"trained": {"dataset": calibration.spec.name} | trained | {"sigma": sigma}, "quantised": facts}
    prepared = _prepared(base, calibration, sigma, seed)
    with show(f"quantise {path.name}", len(calibration), "images") as reporter, _beside(path) as made:
        writer.write(base, Calibration(prepared, reporter), record, made)
        writer.put(made, path)
    others = other_images(dataset, calibration, compare, **columns) if compare else None
    if others is None:
        return Quantised(path, None, "")
    with show(f"compare {path.name}", len(others), "images") as reporter:
        sides = _usual(base), _usual(models.adapt(models.open_source(path)))
        return Quantised(path, compared(*sides, others, sigma, seed, reporter), others.split)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A path of the same name in a folder beside `path`, which is removed afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".quantise-") as folder:
        yield Path(folder) / path.name


def _prepared(base: BaseClassifier, images: Images, sigma: float, seed: int) -> list[np.ndarray]:
    """Noisy calibration images as the model's graph takes them: one by one, or as many as its file fixes."""
    graph, found = base if isinstance(base, GraphFile) else None, []
    size = graph.batch or 1 if graph is not None else 1
    for noisy, _ in noisy_batches(images, sigma, Stream(seed, "calibrate"), size):
        if len(noisy) == size:
            found.append(noisy.numpy() if graph is None else graph.input.prepared(noisy.numpy()))
    if not found:
        raise InputError(f"images={len(images)} do not fill one batch of {size}, which the model's file fixes")
    return found


def _usual(base: BaseClassifier) -> Backend:
    """The backend that answers for a model if none is named."""
    return make_backend(usual_backend(base), base, CPU, "32")
