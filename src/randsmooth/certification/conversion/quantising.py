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
from torch import Tensor

from randsmooth import data, models
from randsmooth.certificates import CertificationSettings
from randsmooth.certification.backends import Backend, make_backend, usual_backend
from randsmooth.certification.checks import check_fit
from randsmooth.certification.conversion.int8_files import WRITERS, Calibration
from randsmooth.certification.opening import completed, opened
from randsmooth.data import Images
from randsmooth.errors import InputError
from randsmooth.models import BaseClassifier, GraphFile
from randsmooth.noise import Gaussian, Stream, address_of
from randsmooth.progress import Progress, Reporter, chosen_progress

CPU = torch.device("cpu")
TOGETHER = 128  # images that are answered at once


@dataclass(frozen=True)
class Agreement:
    """How two classifiers answer the same noisy images: paired counts.

    Attributes:
        images: how many were compared, one noisy copy each.
        same: with equal answers.
        both, only_before, only_after: answered rightly by both, by the original alone, by the int8 model alone; None
            where the images have no labels.

    Example:
        >>> Agreement(images=100, same=97, both=90, only_before=2, only_after=1).difference
        -0.01
    """

    images: int
    same: int
    both: int | None
    only_before: int | None
    only_after: int | None

    @property
    def difference(self) -> float | None:
        """The int8 model's accuracy on noisy images minus the original's; None without labels."""
        if self.only_before is None or self.only_after is None:
            return None
        return (self.only_after - self.only_before) / self.images


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
        randsmooth.errors.InputError: split='test': an int8 model is calibrated on training images alone; ...
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
        for file in writer.write(base, Calibration(prepared, reporter), record, made):
            file.replace(path.with_suffix(file.suffix))
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


def training_images(dataset: Any, split: str, number: int, **columns: Any) -> Images:
    """`number` images of the training split, evenly spread; all of them where it has fewer.

    Raises:
        InputError: another split is asked for, or there is no training split.

    Example:
        >>> len(training_images("digits", "train", 100))
        100
    """
    if split != "train":
        raise InputError(f"split={split!r}: an int8 model is calibrated on training images alone; leave out --split")
    if number < 1:
        raise InputError(f"images={number} must be at least 1; 300 is usual")
    try:
        images = data.load(dataset, "train", stream=True, **columns)
    except InputError as error:
        raise InputError(f"there are no training images to calibrate on: {error}") from error
    return images.subset(data.take(len(images), min(number, len(images))))


def other_images(dataset: Any, calibration: Images, number: int, **columns: Any) -> Images | None:
    """`number` images that have no part in the `calibration`: of the test split, or of training where there is none.

    None where every image has. All of them where there are fewer.

    Example:
        >>> len(other_images("digits", training_images("digits", "train", 100), 50))
        50
    """
    try:
        images = data.load(dataset, "test", stream=True, **columns)
    except InputError:
        images = data.load(dataset, "train", stream=True, **columns)
    used = {address_of(x[0]) for x, _ in calibration.batches(torch.arange(len(calibration)).split(1))}
    chosen = data.take(len(images), min(number + len(used), len(images)))
    fresh = [place for place in chosen.tolist() if address_of(images.batch(torch.tensor([place]))[0][0]) not in used]
    return images.subset(torch.tensor(fresh)[data.take(len(fresh), min(number, len(fresh)))]) if fresh else None


def noisy_batches(images: Images, sigma: float, stream: Stream, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """One noisy copy of each image, (B, C, H, W) float32 in batches of `size`, and the labels (B,).

    An image's noise depends on the stream and its pixels only.

    Example:
        >>> images = data.load("digits", "test")
        >>> x, y = next(noisy_batches(images, 0.5, Stream(0, "example"), 16))
        >>> x.shape, y.shape
        (torch.Size([16, 1, 8, 8]), torch.Size([16]))
    """
    for x, y in images.batches(torch.arange(len(images)).split(size)):
        noisy = torch.empty(x.shape)
        for out, image in zip(noisy.split(1), x, strict=True):
            Gaussian(sigma).draw(out, image, stream.at(address_of(image)))
        yield noisy, y


def compared(before: Backend, after: Backend, images: Images, sigma: float, seed: int, reporter: Reporter) -> Agreement:
    """Both backends' answers to one noisy copy of each of `images`."""
    same = both = only_before = only_after = 0
    for noisy, y in noisy_batches(images, sigma, Stream(seed, "compare"), TOGETHER):
        one, other = (torch.inference_mode()(backend.logits)(noisy).argmax(1).cpu() for backend in (before, after))
        same += int((one == other).sum())
        both += int(((one == y) & (other == y)).sum())
        only_before += int(((one == y) & (other != y)).sum())
        only_after += int(((one != y) & (other == y)).sum())
        reporter.advance(len(y))
    right = (both, only_before, only_after) if images.labelled else (None, None, None)
    return Agreement(len(images), same, *right)
