"""The base classifier that a user means, opened, and the images that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from torch import nn

from randsmooth import data, models
from randsmooth.certification.refusals import refusal_name, with_refusal
from randsmooth.certification.trying_out import check_eval_mode
from randsmooth.data import DatasetSpec, InputOptions
from randsmooth.data.dataset_spec import spec_of_own_data
from randsmooth.data.image_size import Fit
from randsmooth.errors import BadValue, MissingValue, Setting, WrongModel
from randsmooth.models.around import declining
from randsmooth.noise import Noise, recorded_noise

# How many class names are made up for an ONNX file that does not say how many classes
# it has.
MOST_CLASSES = 100_000


def opened(
    model: object,
    model_args: Mapping[str, Any],
    num_classes: int | None,
    refusal: str | None = None,
) -> models.BaseClassifier:
    """Return the base classifier that `model` names, or is.

    Args:
        model: a name, as in `load_model`, or any object that `models.adapt` accepts.
        model_args: arguments of what opens a model that is named.
        num_classes: K, for a function that answers with labels.
        refusal: the class that stands for declined answers, as for `certify`.

    Raises:
        Problem: it cannot be opened, arguments are given for an object, or a module is
            in train mode or holds numbers that are not finite.
    """
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
    name = refusal_name(refusal)
    return base if name is None else declining(base, name)


def dataset_of(dataset: Any, trained: Mapping[str, Any]) -> Any:
    """Return `dataset`, or where it is None the registered one that the model was
    `trained` on.

    Raises:
        Problem: `dataset` is None, and the model names none or one that is not
            registered.
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
        trained: the provenance of the model.
        called: the name for it in errors.

    Raises:
        Problem: it does not say one.

    Example:
        >>> trained_noise({"noise": {"name": "uniform", "lam": 0.6}})
        Uniform(lam=0.6)
        >>> trained_noise({"sigma": 0.5})
        Gaussian(sigma=0.5)
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
    """Return the base classifier that `source` names.

    | `source` | the model |
    | --- | --- |
    | `FOLDER`, `user/name` | a model folder, here or on the Hugging Face hub |
    | `demo`, `demo-amplify` | one of digits that comes with randsmooth, where no model folder has that name |
    | `NET.onnx`, `NET.xml` | an ONNX file, an OpenVINO IR; arguments: `output`, `layout` (see `models.OnnxModel`) |
    | `NET.pt2`, `NET.pt` | what `torch.export.save` or `torch.jit.save` wrote |
    | `package.module:NAME`, `file.py:NAME` | a function that returns any model, called with `model_args`; or a model |

    `NET.pt2`, `NET.pt` and the last row are code, which is run: open only what you
    trust.

    Args:
        source: written as in the table.
        model_args: arguments of what opens or makes the model.

    Raises:
        Problem: there is no such thing, or it cannot be opened; the message lists the
            forms of the table.

    Example:
        >>> import tempfile
        >>> classes = ["cat", "dog"]
        >>> shape = [1, 8, 8]
        >>> model = models.Classifier(arch="small-cnn", classes=classes, shape=shape)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     models.save(model, folder)
        ...     load_model(folder).classes
        ['cat', 'dog']
    """
    return models.adapt(models.open_source(source, **model_args))


def reading_of(model: object, dataset: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return how images are read: as `asked`, and of the size that the model was
    trained with where neither resize nor crop is asked for.

    Only data that are named get that size: whoever gives arrays has brought them to
    size.

    Args:
        model: the model that is to take the images.
        dataset: the name of a data set, or the data.
        asked: the arguments of `data.load` that a user gave, by name.

    Example:
        >>> model = models.Classifier(
        ...     arch="small-cnn",
        ...     classes=["a", "b"],
        ...     shape=[1, 8, 8],
        ...     provenance={"resize": "32x32", "crop": None},
        ... )
        >>> reading_of(model, "photos", {"label_column": "y"})
        {'label_column': 'y', 'resize': '32x32', 'crop': None}
        >>> reading_of(model, "photos", {"resize": 64})
        {'resize': 64}
    """
    is_named = isinstance(dataset, str | Path)
    has_size = asked.get("resize") is not None or asked.get("crop") is not None
    if has_size or not is_named:
        return dict(asked)
    trained = models.provenance_of(model)
    return {**asked, "resize": trained.get("resize"), "crop": trained.get("crop")}


def images_taken(
    model: models.BaseClassifier,
    called: object,
    dataset: str | None = None,
    num_classes: int | None = None,
    refusal: str | None = None,
    **reading: Unpack[InputOptions],
) -> DatasetSpec:
    """Return the spec of the images that a model takes.

    It is the spec of `dataset`, or else of the registered data set that the model
    names. Where there is none, it is made from the model's shape.

    Args:
        model: a model of any kind.
        called: the name for it in errors.
        dataset: name or folder of the data set that it is for.
        num_classes: K, for a function that answers with labels.
        refusal: the class that stands for declined answers, as for `certify`, which is
            among the classes of the spec then.
        reading: how its images are read and brought to size, as for `reading_of`.

    Raises:
        Problem: nothing says what the images are.

    Example:
        >>> from randsmooth.models import Classifier
        >>> classes = ["cat", "dog"]
        >>> model = Classifier(arch="small-cnn", classes=classes, shape=[1, 8, 8])
        >>> spec = images_taken(model, "the model")
        >>> spec.shape, spec.classes
        ((1, 8, 8), ('cat', 'dog'))
    """
    recorded = getattr(model, "provenance", {}).get("dataset")
    sized = reading_of(model, dataset or str(recorded), reading)
    if dataset is None and isinstance(recorded, str) and recorded in data.DATASETS:
        dataset = recorded
    if dataset is not None:
        return _with_refusal(data.describe(dataset, **sized), refusal)

    # The images come later: a split of one stands for them.
    spec = spec_of_own_data(
        str(recorded or "the model's images"),
        {"test": 1},
        _image_shape(model, called),
        _classes_of(model, num_classes),
        named=True,
        fit=Fit.of(sized.get("resize"), sized.get("crop")),
    )
    spec = replace(spec, arch=getattr(model, "arch", ""))
    return _with_refusal(spec, refusal)


def _with_refusal(spec: DatasetSpec, refusal: str | None) -> DatasetSpec:
    """Return the spec, with the class of declined answers among its classes."""
    name = refusal_name(refusal)
    if name is None:
        return spec
    return replace(spec, classes=with_refusal(spec.classes, name))


def _image_shape(model: models.BaseClassifier, called: object) -> tuple[int, ...]:
    """Return the shape of images that the model itself says.

    Raises:
        Problem: it says none, or one of other inputs than images.
    """
    shape = getattr(model, "shape", None)
    if not isinstance(shape, tuple):
        raise MissingValue(
            f"{called} does not describe its images",
            field="dataset",
            fix=("name the data set that it is for, ", Setting("dataset")),
        )
    if not data.is_image(shape):
        raise WrongModel(
            f"{called} takes inputs of shape {shape}, no images (C, H, W): "
            "certify arrays or a table"
        )
    return shape


def _classes_of(
    model: models.BaseClassifier, num_classes: int | None
) -> tuple[str, ...]:
    """Return the names of classes that the model says, or else numbers."""
    names = getattr(model, "classes", None)
    if names:
        return tuple(names)
    number = num_classes or getattr(model, "num_classes", None) or MOST_CLASSES
    return tuple(str(k) for k in range(number))
