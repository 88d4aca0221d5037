"""A base classifier in int8: another classifier, calibrated on noisy training images."""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth import data, models
from randsmooth.atomic import make_folder
from randsmooth.certificates import CertificationSettings
from randsmooth.certification.backends import BACKENDS, make_backend, usual_backend
from randsmooth.certification.int8_graph import write_int8_graph
from randsmooth.certification.opening import trained_noise
from randsmooth.certification.run import READING, Inputs, RunSpec
from randsmooth.data import Images, InputOptions
from randsmooth.errors import BadValue, Problem, WrongModel, article, check_known
from randsmooth.extras import needs
from randsmooth.models import BaseClassifier, GraphFile
from randsmooth.noise import Noise, Stream, address_of, spelled
from randsmooth.progress import Progress, Reporter, chosen_progress

# How many images both models classify at once when they are compared.
COMPARISON_BATCH = 128


@dataclass(frozen=True)
class Agreement:
    """How two classifiers answer the same noisy images: paired counts.

    Attributes:
        images: how many images were compared, one noisy copy each.
        same: how many of them get the same class from both classifiers.
        both, only_before, only_after: how many of them are classified rightly by both,
            by the original alone, by the int8 model alone; None where images have no
            labels.
        split: the split of the images. In "train" they are images that the int8 model
            was not calibrated on.

    Example:
        >>> agreement = Agreement(
        ...     images=100, same=97, both=90, only_before=2, only_after=1, split="test"
        ... )
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
    **reading: Unpack[InputOptions],
) -> Agreement | None:
    """Write a base classifier in 8-bit integers, as an OpenVINO IR.

    Its weights and its activations are integers. It is another base classifier than the
    original: certificates of the one say nothing of the other.

    The ranges of its activations are taken from training images under the noise that it
    is to be certified under, since noise widens them. The ranges are fixed from then on
    (static post-training quantisation), so that the answer for an image depends on no
    other image.

    Args:
        model: the original, as in `load_model`, or the model itself: torch modules,
            ONNX files and IRs.
        dataset: the data set to calibrate on, by its training split, in any form that
            `data.load` takes; default: the data set that the model was trained on, by
            its name.
        out: `NET.xml`, an OpenVINO IR with its weights in NET.bin, made by NNCF. Files
            that exist are replaced.
        sigma: the sigma of Gaussian noise.
        noise: another noise in its place. Without either, it is the noise that the
            model was trained with.
        images: how many training images to calibrate on, evenly spread.
        compare: on how many images to compare both models afterwards, of the test split
            if there is one; 0: on none.
        seed: the seed of the noise on the images.
        model_args: arguments of what opens or makes the model that is named (see
            `load_model`).
        progress: see `certify`.
        reading: `image_column`, `label_column`, `resize` and `crop`, as for
            `data.load`.

    Returns:
        How the answers of both models agree on noisy images; None where there was no
        image to compare them on.

    Raises:
        Problem: a package is missing, there are no training images, the model cannot be
            quantised or is quantised already, or `out` names another kind of file.

    Example:
        >>> network = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> quantise(network, "digits", out="net.pt", sigma=0.5)
        Traceback (most recent call last):
        randsmooth.errors.BadValue: net.pt must end in .xml: int8 models are OpenVINO IRs
    """
    path = Path(out)
    show = chosen_progress(progress)
    if path.suffix != ".xml":
        raise BadValue(
            f"{path} must end in .xml: int8 models are OpenVINO IRs",
            field="out",
            value=out,
            file=path,
        )
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
    _check_quantisable(base)
    if images < 1:
        raise BadValue(
            field="images", value=images, expected="must be at least 1; 300 is usual"
        )
    inputs = spec.open_inputs(base)
    calibration = _spread(inputs.images, images)
    # Tried here, before any work: `write_int8_graph` needs both.
    with needs("quantising"):
        import nncf  # noqa: F401
        import openvino  # noqa: F401

    noise_of_copies = _noise_under(spec.settings, base, calibration)
    record = _record(base, calibration, noise_of_copies, seed)
    make_folder(path.parent)
    with (
        show(f"quantise {path.name}", len(calibration), "images") as reporter,
        tempfile.TemporaryDirectory(dir=path.parent, prefix=".quantise-") as folder,
    ):
        batches = _calibration_batches(base, calibration, noise_of_copies, seed)
        # The files are put in place once they are whole: the graph after its weights.
        for file in write_int8_graph(base, batches, record, Path(folder) / path.name):
            file.replace(path.with_suffix(file.suffix))
        reporter.advance(len(calibration))

    if not compare:
        return None
    others = _other_images(inputs, calibration, compare)
    if others is None:
        return None
    in_int8 = models.adapt(models.open_source(path))
    stream = Stream(seed, "compare")
    with show(f"compare {path.name}", len(others), "images") as reporter:
        return _agreement(base, in_int8, others, noise_of_copies, stream, reporter)


def _noise_under(
    settings: CertificationSettings, base: BaseClassifier, images: Images
) -> Noise:
    """Return the noise that the settings ask for, or else that of the training, for
    inputs like these images.
    """
    if settings.noise is None:
        noise = trained_noise(models.provenance_of(base))
        settings = settings.replace(noise=noise)
    return settings.of(images.spec.shape).known_noise()


def _record(
    base: BaseClassifier, calibration: Images, noise: Noise, seed: int
) -> dict[str, Any]:
    """Return what the IR records of its origin: how the original was trained, and how
    it was quantised.

    Certification reads both again, under the keys "trained" and "quantised".
    """
    dataset = calibration.spec.name
    # Gaussian noise has the entry sigma, any other noise the entry noise.
    noise_facts = spelled(noise)
    quantised = {
        "bits": 8,
        "of": models.weights_hash(base),
        "by": f"nncf {version('nncf')}",
        "images": len(calibration),
        "dataset": dataset,
        "seed": seed,
    }
    # Where the model does not say its data set, the calibration images stand for it. The
    # noise is always that of the calibration: the int8 model is meant to be certified
    # under no other.
    trained = {"dataset": dataset} | models.provenance_of(base) | noise_facts
    return {"trained": trained, "quantised": quantised | noise_facts}


def _check_quantisable(base: BaseClassifier) -> None:
    """Raise WrongModel for a model that cannot be quantised."""
    if models.provenance_of(base).get("quantised"):
        raise WrongModel(
            "the model is in int8 already: quantise the one that it was made of"
        )
    if BACKENDS["openvino"].accepts(base):
        return
    if isinstance(base, nn.Module):
        kind = "module with a part that is not a torch module"
    else:
        kind = base.kind
    raise WrongModel(
        f"the model is {article(kind)}; only torch modules, ONNX files and IRs can be "
        "quantised"
    )


def _spread(images: Images, number: int) -> Images:
    """Return `number` of the images, evenly spread; all of them where they are fewer."""
    return images.subset(data.take(len(images), min(number, len(images))))


def _other_images(inputs: Inputs, calibration: Images, number: int) -> Images | None:
    """Return at most `number` images that are not in the `calibration`; None where
    there is no such image.

    They are of the test split if there is one, and else of the training split.
    """
    try:
        images = inputs.split("test")
    except Problem:
        images = inputs.images
    # One image at a time is in memory. An address is a hash of its pixels.
    one_by_one = torch.arange(len(calibration)).split(1)
    calibrated_on = {address_of(x[0]) for x, _ in calibration.batches(one_by_one)}

    # Of so many images, at least `number` were not calibrated on, if all differ.
    enough = min(number + len(calibrated_on), len(images))
    candidates = data.take(len(images), enough)
    is_other = [
        address_of(x[0]) not in calibrated_on
        for x, _ in images.batches(candidates.split(1))
    ]
    if not any(is_other):
        return None
    return _spread(images.subset(candidates[is_other]), number)


def noisy_batches(
    images: Images, noise: Noise, stream: Stream, size: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield one noisy copy of each image, in batches, and the labels.

    The noise of an image depends on the stream and its pixels only.

    Args:
        images: the images.
        noise: the noise of the copies.
        stream: the stream of the noise, with its seed and its purpose.
        size: how many images a batch has; the last batch may have fewer.

    Yields:
        (B, *seen) float32 copies and (B,) labels.

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
) -> list[NDArray[np.float32]]:
    """Return noisy calibration images as the model's graph takes them.

    Batches have one image, or as many as the model's file fixes. Images that do not
    fill such a batch are left out.
    """
    graph = base if isinstance(base, GraphFile) else None
    size = 1
    if graph is not None and graph.batch is not None:
        size = graph.batch
    stream = Stream(seed, "calibrate")
    noisy = [x.numpy() for x, _ in noisy_batches(images, noise, stream, size)]
    full = [x for x in noisy if len(x) == size]
    if not full:
        raise BadValue(
            field="images",
            value=len(images),
            expected=f"do not fill one batch of {size}, which the model's file fixes",
        )
    if graph is None:
        return full
    return [graph.prepared(x) for x in full]


@torch.inference_mode()
def _agreement(
    original: BaseClassifier,
    in_int8: BaseClassifier,
    images: Images,
    noise: Noise,
    stream: Stream,
    reporter: Reporter,
) -> Agreement:
    """Return how the two models answer one noisy copy of each of the images."""
    backends = [
        make_backend(
            usual_backend(model), model, device=torch.device("cpu"), precision="32"
        )
        for model in (original, in_int8)
    ]
    same = 0
    both = 0
    only_before = 0
    only_after = 0
    for noisy, y in noisy_batches(images, noise, stream, COMPARISON_BATCH):
        before, after = [
            backend.logits(noisy).argmax(dim=1).cpu() for backend in backends
        ]
        was_right = before == y
        is_right = after == y
        same += int((before == after).sum())
        both += int((was_right & is_right).sum())
        only_before += int((was_right & ~is_right).sum())
        only_after += int((~was_right & is_right).sum())
        reporter.advance(len(y))
    labelled = images.labelled
    return Agreement(
        images=len(images),
        same=same,
        both=both if labelled else None,
        only_before=only_before if labelled else None,
        only_after=only_after if labelled else None,
        split=images.split,
    )
