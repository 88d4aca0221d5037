"""The base classifier that a user names, or means by an object: opened, checked, and the images that it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from randsmooth import data, models
from randsmooth.certification.backends import Backend
from randsmooth.data import DatasetSpec, Images, ReadingOptions
from randsmooth.data.dataset_spec import spec_of_own_data
from randsmooth.data.image_size import Fit
from randsmooth.documents import shown
from randsmooth.errors import (
    BadValue,
    MissingValue,
    Problem,
    Setting,
    WrongData,
    WrongModel,
)
from randsmooth.models import Classifier, Denoised, ForeignModel, GraphFile
from randsmooth.noise import Noise, Stream, recorded_noise

MOST_CLASSES = 100_000  # class names to have ready for an ONNX file that does not say how many classes it has
IMAGES = 8  # that are made up
MOST_CHANGED = (
    0.05  # share of answers that rounding changes where classes are nearly tied
)
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
QUANTISED = ("torch.ao.nn.quantized.", "torch.ao.nn.intrinsic.quantized.")


def opened(
    model: object, model_args: Mapping[str, Any], num_classes: int | None
) -> models.BaseClassifier:
    """The base classifier that is named, or is meant by an object; modules are in eval mode."""
    if isinstance(model, str | Path):
        model = load_model(model, **model_args)
    elif model_args:
        raise BadValue(
            field="model_args",
            value=model_args,
            expected=f"are for a model that is named; got a {type(model).__name__}",
        )
    base = models.adapt(model, num_classes=num_classes)
    if isinstance(base, nn.Module):
        models.check_numbers(base)
        check_eval_mode(base)
    return base


def dataset_of(dataset: Any, trained: Mapping[str, Any]) -> Any:
    """Return `dataset`, or where it is None the registered one that the model was `trained` on.

    Raises:
        Problem: nor does the model say one, or one that is not registered.
    """
    if dataset is not None:
        return dataset
    if trained.get("dataset") is None:
        raise MissingValue(
            "the model does not say its dataset",
            field="dataset",
            fix=("give ", Setting("dataset")),
        )
    return data.registered(trained["dataset"], "the model")


def trained_noise(trained: Mapping[str, Any], called: str = "the model") -> Noise:
    """Return the noise that a model was `trained` under.

    Args:
        trained: its provenance.
        called: what errors call it.

    Raises:
        Problem: it does not say one.

    Example:
        >>> trained_noise({"noise": {"name": "uniform", "lam": 0.6}}), trained_noise({"sigma": 0.5})
        (Uniform(lam=0.6), Gaussian(sigma=0.5))
    """
    noise = recorded_noise(trained)
    if noise is None:
        raise MissingValue(
            f"{called} does not say which sigma it was trained with",
            field="sigma",
            fix=("give ", Setting("sigma"), " or ", Setting("noise")),
        )
    return noise


def load_model(source: Path | str, **model_args: Any) -> models.BaseClassifier:
    """The base classifier that is named: a folder, `user/name` on the hub, a file, or code that makes it.

    | written | what it is |
    | --- | --- |
    | `FOLDER`, `user/name` | a model folder, here or on the Hugging Face hub |
    | `demo`, `demo-amplify` | one of digits that comes with randsmooth, where there is no model folder of that name |
    | `NET.onnx`, `NET.xml` | an ONNX file, an OpenVINO IR; arguments: `output`, `layout` (see `models.OnnxModel`) |
    | `NET.pt2`, `NET.pt` | what `torch.export.save` or `torch.jit.save` wrote |
    | `package.module:NAME`, `file.py:NAME` | a function that returns any model, called with `model_args`; or a model |

    `NET.pt2`, `NET.pt` and the last row are code, which is run: open only what you trust.

    Args:
        source: written as in the table.
        model_args: for what opens or makes the model.

    Raises:
        Problem: there is no such thing, or it cannot be opened; the message lists the forms.

    Example:
        >>> import tempfile
        >>> model = models.Classifier(arch="small-cnn", classes=["cat", "dog"], shape=[1, 8, 8])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     models.save(model, folder)
        ...     load_model(folder).classes
        ['cat', 'dog']
    """
    return models.adapt(models.open_source(source, **model_args))


def reading_of(model: object, dataset: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    """`asked`, arguments of `data.load`; where neither resize nor crop is given, with those of the model's training.

    Of data that are named, that is: whoever gives arrays has brought them to size.

    Example:
        >>> trained = {"resize": "32x32", "crop": None}
        >>> model = Classifier(arch="small-cnn", classes=["a", "b"], shape=[1, 8, 8], provenance=trained)
        >>> reading_of(model, "photos", {"label_column": "y"}), reading_of(model, "photos", {"resize": 64})
        ({'label_column': 'y', 'resize': '32x32', 'crop': None}, {'resize': 64})
    """
    if not isinstance(dataset, str | Path) or any(
        asked.get(name) is not None for name in ("resize", "crop")
    ):
        return dict(asked)
    trained = models.provenance_of(model)
    return {**asked, "resize": trained.get("resize"), "crop": trained.get("crop")}


def images_taken(
    model: models.BaseClassifier,
    called: object,
    dataset: str | None = None,
    num_classes: int | None = None,
    **reading: Unpack[ReadingOptions],
) -> DatasetSpec:
    """The spec of `dataset` or of the registered one that the model names, else one made from the model's shape.

    Args:
        model: of any kind.
        called: what to call it in the error.
        dataset: name or folder of the data set that it is for.
        num_classes: K, for a function that answers with labels.
        reading: how its images are read and brought to size, as for `reading_of`.

    Raises:
        Problem: nothing says what the images are.

    Example:
        >>> from randsmooth.models import Classifier
        >>> model = Classifier(arch="small-cnn", classes=["cat", "dog"], shape=[1, 8, 8])
        >>> spec = images_taken(model, "the model")
        >>> spec.shape, spec.classes
        ((1, 8, 8), ('cat', 'dog'))
    """
    recorded = getattr(model, "provenance", {}).get("dataset")
    sized = reading_of(model, dataset or str(recorded), reading)
    if dataset is None and isinstance(recorded, str) and recorded in data.DATASETS:
        dataset = recorded
    if dataset is not None:
        return data.describe(dataset, **sized)
    shape = getattr(model, "shape", None)
    if isinstance(shape, tuple) and not data.is_image(shape):
        raise WrongModel(
            f"{called} takes inputs of shape {shape}, no images (C, H, W): certify arrays or a table"
        )
    if not isinstance(shape, tuple):
        raise MissingValue(
            f"{called} does not say what images it takes",
            field="dataset",
            fix=("name the data set that it is for, ", Setting("dataset")),
        )
    numbers = map(
        str, range(num_classes or getattr(model, "num_classes", None) or MOST_CLASSES)
    )
    known = tuple(getattr(model, "classes", None) or numbers)
    fit = Fit.of(sized.get("resize"), sized.get("crop"))
    spec = spec_of_own_data(
        str(recorded or "the model's images"),
        {"test": 1},
        shape,
        known,
        named=True,
        fit=fit,
    )
    return replace(spec, arch=getattr(model, "arch", ""))


def check_eval_mode(model: nn.Module) -> None:
    """Raise Problem if any module is in train mode, in which dropout is random and batch norm depends on the batch.

    So it does in eval mode where it keeps no running statistics, which is refused, too.

    Example:
        >>> check_eval_mode(nn.Sequential(nn.Linear(4, 2)).eval())
        >>> check_eval_mode(nn.Sequential(nn.Linear(4, 2)))
        Traceback (most recent call last):
        ...
        randsmooth.errors.WrongModel: the model is in train mode; ...: call model.eval()
    """
    for place, module in (
        (name or "the model", module) for name, module in model.named_modules()
    ):
        # torch makes quantised layers in train mode, although they know no other
        if module.training and not type(module).__module__.startswith(QUANTISED):
            raise WrongModel(
                f"{place} is in train mode; a certificate is about fixed answers: call model.eval()"
            )
        scripted = str(
            getattr(module, "original_name", "")
        )  # of TorchScript's modules, which have no classes
        norm = isinstance(module, BATCH_NORMS) or "BatchNorm" in scripted
        if norm and getattr(module, "running_mean", None) is None:
            said = f"{place} is a batch norm without running statistics, so that an image's answer depends on others"
            raise WrongModel(f"{said}: train with track_running_stats=True")


def check_repeats(backend: Backend, noisy: Tensor) -> Tensor:
    """The logits of `noisy` (B, C, H, W). Problem if a second call gives different ones."""
    first, again = backend.logits(noisy).clone(), backend.logits(noisy)
    if torch.equal(torch.nan_to_num(first), torch.nan_to_num(again)):
        return first
    raise WrongModel(
        "the model answers the same images differently from call to call: make every layer deterministic"
    )


def rows_stand_alone(backend: Backend, noisy: Tensor, logits: Tensor) -> bool:
    """Whether images may share a batch: no row of `logits`, the outputs for `noisy`, depends on the other rows.

    A row must stay the same, to the last bit, at another place in the batch, beside rows of one image alone (`noisy`
    holds several, one after the other, see `made_up`), and beside nothing but itself. The first fails for kernels that
    treat the last rows of a batch differently, the second for layers that scale a batch by its extremes, as dynamic
    quantisation does, the third for answers that a batch votes on.

    Raises:
        Problem: the class of many rows depends on the others, as where a layer computes statistics of the batch.
    """
    images = [
        part for part in torch.arange(len(noisy)).tensor_split(IMAGES) if len(part)
    ]
    one_image = [
        part.repeat(len(noisy))[: len(noisy)] for part in (images[0], images[-1])
    ]
    one_row = [part[:1].expand(len(noisy)) for part in images]
    equal = True
    for rows in (torch.arange(len(noisy)).roll(1), *one_image, *one_row):
        again, before = backend.logits(noisy[rows]), logits[rows]
        if torch.equal(again, before):
            continue
        equal, changed = False, int((again.argmax(dim=1) != before.argmax(dim=1)).sum())
        if changed > MOST_CHANGED * len(rows):
            said = f"the model gives {changed} of {len(rows)} noisy images another class beside other images"
            raise WrongModel(
                f"{said} in the batch: make every layer treat each by itself"
            )
    return equal


def made_up(shape: tuple[int, ...]) -> list[Tensor]:
    """IMAGES images of `shape` (C, H, W), on the grid k/255: black, grey, white, gradients, checks and noise.

    Features of another `shape` are those of an image of one row.
    """
    if not data.is_image(shape):
        return [row.reshape(shape) for row in made_up((1, 1, math.prod(shape)))]
    channels, height, width = shape
    down, across = torch.arange(height)[:, None], torch.arange(width)[None]
    checks = 255 * ((down + across) % 2)
    planes = [0 * checks, 0 * checks + 128, 0 * checks + 255, checks]
    planes += [255 * down // max(1, height - 1), 255 * across // max(1, width - 1)]
    rolled = (
        planes[-1] + 64 * torch.arange(channels)[:, None, None]
    )  # differs from channel to channel
    noise = torch.from_numpy(Stream(0, "behaviour").numpy().integers(0, 256, shape))
    return [
        image.expand(shape).float() / 255.0 for image in (*planes, rolled % 256, noise)
    ]


def check_fit(model: object, spec: DatasetSpec, noise: Noise | None = None) -> None:
    """Raise Problem unless the model takes the images of `spec` and knows their classes, numbered alike.

    It may also take what `noise` makes of them, such as images with a channel more.

    Modules from elsewhere do not say what they take; the engine finds out when it tries the model.

    Example:
        >>> from randsmooth import data
        >>> parity = Classifier(arch="small-cnn", classes=["even", "odd"], shape=[1, 8, 8])
        >>> check_fit(parity, data.describe("digits"))
        Traceback (most recent call last):
        ...
        randsmooth.errors.WrongModel: the model has 2 classes and digits has 10: ...
    """
    width, shape = _known(model, "num_classes"), _known(model, "shape")
    more = spec.open_ended and width is not None and width >= spec.num_classes
    way = f"give images of its own data set ({models.provenance_of(model).get('dataset', 'not recorded')})"
    if width not in (None, spec.num_classes) and not more:
        raise WrongModel(
            f"the model has {width} classes and {spec.name} has {spec.num_classes}: {way}"
        )
    taken = {
        tuple(spec.shape),
        tuple(spec.shape if noise is None else noise.shape(spec.shape)),
    }
    if shape is not None and len(shape) == 1 and data.is_image(spec.shape):
        raise _takes_rows(model, shape[0], spec)
    if shape is not None and tuple(shape) not in taken:
        raise WrongData(
            f"the model takes inputs of shape {tuple(shape)}, and {spec.name}'s are {spec.shape}: {way}"
        )
    own = {name: place for place, name in enumerate(_known(model, "classes") or ())}
    for place, name in enumerate(() if spec.open_ended else spec.classes):
        if own.get(name, place) != place:
            said = f"class {place} of {spec.name} is {shown(repr(name))}, which the model numbers {own[name]}"
            numbers = shown(", ".join(f"{k} {each}" for each, k in own.items()))
            raise WrongData(
                f"{said}: give the labels as the model's numbers ({numbers})"
            )


def _takes_rows(model: object, length: int, spec: DatasetSpec) -> Problem:
    """The error for a model of rows of `length` numbers that is asked about the images of `spec`."""
    numbers, way = (
        math.prod(spec.shape),
        "give a model for images, or rows of its own data",
    )
    if numbers == length:
        named = (
            "the argument layout=rows"
            if isinstance(model, GraphFile)
            else "rs.wrap(model, layout='rows')"
        )
        way = f"{named} takes the numbers of an image, by channel, row and column, for a row"
    said = f"the model takes rows of {length} numbers, and {spec.name} has images {spec.shape}, of {numbers} numbers"
    return WrongModel(f"{said}: {way}")


def _known(model: object, name: str) -> Any:
    """What a model of ours, or one that was adapted, says of itself; another's attribute may mean something else."""
    value = getattr(model, name, None)
    if isinstance(model, Classifier | ForeignModel | Denoised):
        return value
    return (
        value
        if name == "shape"
        and isinstance(value, tuple)
        and all(type(side) is int for side in value)
        else None
    )


def class_names(
    model: object, width: int, images: Images, indices: Sequence[int]
) -> tuple[str, ...]:
    """The names of the K = `width` classes that the model answers with; its own where the data only number theirs.

    Raises:
        Problem: it is not for the classes of the images.
    """
    spec = images.spec
    if not spec.open_ended:
        if width != spec.num_classes:
            raise WrongModel(
                f"the model gives {width} logits; {spec.name} has {spec.num_classes} classes"
            )
        return spec.classes
    labels = images.labels_at(torch.tensor(indices))
    beyond = (labels >= width).nonzero().flatten()
    if len(beyond):
        first = int(beyond[0])
        label, image = int(labels[first]), f"image {indices[first]} of {spec.name}"
        raise WrongData(
            f"label {label} of {image} is not in 0..{width - 1}: the model gives {width} logits"
        )
    own = _known(model, "classes")
    return (
        tuple(own)
        if own is not None and len(own) == width
        else tuple(map(str, range(width)))
    )
