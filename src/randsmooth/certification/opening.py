"""The base classifier that a user names, or means by an object, and the images that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from randsmooth import data, models
from randsmooth.certificates import CertificationSettings
from randsmooth.certification.checks import check_eval_mode
from randsmooth.data import DatasetSpec
from randsmooth.errors import InputError

MOST_CLASSES = 100_000  # class names to have ready for an ONNX file that does not say how many classes it has


def opened(model: object, model_args: Mapping[str, Any], num_classes: int | None) -> models.BaseClassifier:
    """The base classifier that is named, or is meant by an object; modules are in eval mode."""
    if isinstance(model, str | Path):
        model = load_model(model, **model_args)
    elif model_args:
        raise InputError(
            f"model_args for {', '.join(model_args)} are for a model that is named; got a {type(model).__name__}"
        )
    base = models.adapt(model, num_classes=num_classes)
    if isinstance(base, nn.Module):
        check_eval_mode(base)
    return base


def completed(
    dataset: Any, settings: CertificationSettings, trained: dict[str, Any]
) -> tuple[Any, CertificationSettings]:
    """Data set and settings with what they leave open taken from how the model was `trained`; the seed is 0.

    Raises:
        InputError: neither says the data set or sigma, or one of them cannot be used.
    """
    sigma = trained.get("sigma") or None if settings.sigma is None else settings.sigma  # 0: trained without noise
    if dataset is None and trained.get("dataset") is not None:
        dataset = data.registered(trained["dataset"], "the model")
    if sigma is None or dataset is None:
        missing = "sigma" if sigma is None else "dataset"
        raise InputError(f"the model does not say its {missing}; give one (--{missing} on the command line)")
    return dataset, settings.replace(sigma=sigma, seed=settings.seed or 0)


def load_model(source: Path | str, **model_args: Any) -> models.BaseClassifier:
    """The base classifier that is named: a folder, `user/name` on the hub, a file, or code that makes it.

    | written | what it is |
    | --- | --- |
    | `FOLDER`, `user/name` | a model folder, here or on the Hugging Face hub |
    | `NET.onnx`, `NET.xml` | an ONNX file, an OpenVINO IR; arguments: `output`, `layout` (see `models.OnnxModel`) |
    | `NET.pt2`, `NET.pt` | what `torch.export.save` or `torch.jit.save` wrote |
    | `package.module:NAME`, `file.py:NAME` | a function that returns any model, called with `model_args`; or a model |

    `NET.pt2`, `NET.pt` and the last row are code, which is run: open only what you trust.

    Args:
        source: written as in the table.
        model_args: for what opens or makes the model.

    Raises:
        InputError: there is no such thing, or it cannot be opened; the message lists the forms.

    Example:
        >>> import tempfile
        >>> model = models.Classifier(arch="small-cnn", classes=["cat", "dog"], shape=[1, 8, 8])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     models.save(model, folder)
        ...     load_model(folder).classes
        ['cat', 'dog']
    """
    return models.adapt(models.open_source(source, **model_args))


def images_taken(
    model: models.BaseClassifier, called: object, dataset: str | None = None, num_classes: int | None = None
) -> DatasetSpec:
    """The spec of `dataset` or of the registered one that the model names, else one made from the model's shape.

    Args:
        model: of any kind.
        called: what to call it in the error.
        dataset: name or folder of the data set that it is for.
        num_classes: K, for a function that answers with labels.

    Raises:
        InputError: nothing says what the images are.

    Example:
        >>> from randsmooth.models import Classifier
        >>> model = Classifier(arch="small-cnn", classes=["cat", "dog"], shape=[1, 8, 8])
        >>> spec = images_taken(model, "the model")
        >>> spec.shape, spec.classes
        ((1, 8, 8), ('cat', 'dog'))
    """
    if dataset is not None:
        return data.describe(dataset)

    recorded = getattr(model, "provenance", {}).get("dataset")
    if isinstance(recorded, str) and recorded in data.DATASETS:
        return data.DATASETS[recorded]
    shape = getattr(model, "shape", None)
    if not isinstance(shape, tuple):
        raise InputError(
            f"{called} does not say what images it takes: name the data set, or a folder of it, that it is for "
            "(--dataset)"
        )
    numbers = map(str, range(num_classes or getattr(model, "num_classes", None) or MOST_CLASSES))
    return DatasetSpec(
        name=str(recorded or "the model's images"),
        shape=shape,
        classes=tuple(getattr(model, "classes", None) or numbers),
        mean=None,
        std=None,
        augment="none",
        arch=getattr(model, "arch", ""),
        hub=None,
        sizes={"test": 1},
        description="",
        convert=True,
    )
