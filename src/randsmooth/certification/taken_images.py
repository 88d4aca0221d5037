"""What the images that a model takes look like."""

from __future__ import annotations

from randsmooth import data
from randsmooth.data import DatasetSpec
from randsmooth.errors import InputError
from randsmooth.models import BaseClassifier

MOST_CLASSES = 100_000  # class names to have ready for an ONNX file that does not say how many classes it has


def images_taken(
    model: BaseClassifier, called: object, dataset: str | None = None, num_classes: int | None = None
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
