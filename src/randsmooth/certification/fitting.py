"""Whether a model and images fit each other: in shapes, and in classes."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from randsmooth import data, models
from randsmooth.data import DatasetSpec, Images
from randsmooth.documents import shown
from randsmooth.errors import BadValue, Problem, WrongData, WrongModel
from randsmooth.models import Classifier, Denoised, ForeignModel, GraphFile
from randsmooth.noise import Noise


def check_fit(model: object, spec: DatasetSpec, noise: Noise | None = None) -> None:
    """Raise Problem unless the model takes the images, and numbers their classes alike.

    Modules from elsewhere do not say what they take; the engine finds out when it tries
    the model.

    Args:
        model: the base classifier.
        spec: the spec of the images.
        noise: the noise; the model may take its copies of the images instead, such as
            images with a channel more.

    Example:
        >>> from randsmooth import data
        >>> classes = ["even", "odd"]
        >>> parity = Classifier(arch="small-cnn", classes=classes, shape=[1, 8, 8])
        >>> check_fit(parity, data.describe("digits"))
        Traceback (most recent call last):
        ...
        randsmooth.errors.WrongModel: the model has 2 classes and digits has 10: ...
    """
    _check_number_of_classes(model, spec)
    _check_shape(model, spec, noise)
    if not spec.open_ended:
        _check_numbering(model, spec)


def check_judges_texts(rule: str) -> None:
    """Raise BadValue for a rule that looks for radii, which texts differ in.

    Example:
        >>> check_judges_texts("fixed")
        >>> check_judges_texts("radius=3")
        Traceback (most recent call last):
        ...
        randsmooth.errors.BadValue: rule='radius=3' looks for radii that all inputs ...
    """
    if rule != "fixed":
        raise BadValue(
            field="rule",
            value=rule,
            expected="looks for radii that all inputs may have, and a text's depend on "
            "its number of words",
            fix="take rule fixed",
        )


def _own_data(model: object) -> str:
    """Return the advice to give for images that the model does not take."""
    name = models.provenance_of(model).get("dataset", "not recorded")
    return f"give images of its own data set ({name})"


def _check_number_of_classes(model: object, spec: DatasetSpec) -> None:
    """Raise Problem where the model has another number of classes.

    It may have more than data that are open-ended.
    """
    number = known_of_model(model, "num_classes")
    if number is None or number == spec.num_classes:
        return
    if spec.open_ended and number > spec.num_classes:
        return
    raise WrongModel(
        f"the model has {number} classes and {spec.name} has {spec.num_classes}: "
        f"{_own_data(model)}"
    )


def _check_shape(model: object, spec: DatasetSpec, noise: Noise | None) -> None:
    """Raise Problem where the model takes neither the inputs nor noisy copies of them.

    A noisy copy may have another shape than its input.
    """
    shape = known_of_model(model, "shape")
    if shape is None:
        return
    if len(shape) == 1 and data.is_image(spec.shape):
        raise _takes_rows(model, shape[0], spec)
    shapes_given = {tuple(spec.shape)}
    if noise is not None:
        shapes_given.add(tuple(noise.shape(spec.shape)))
    if tuple(shape) not in shapes_given:
        raise WrongData(
            f"the model takes inputs of shape {tuple(shape)}, and {spec.name}'s are "
            f"{spec.shape}: {_own_data(model)}"
        )


def _check_numbering(model: object, spec: DatasetSpec) -> None:
    """Raise WrongData where the model has another number for the name of a class.

    A class whose name the model does not know may have any number.
    """
    classes = known_of_model(model, "classes") or ()
    number_of_name = {name: number for number, name in enumerate(classes)}
    for number, name in enumerate(spec.classes):
        if name not in number_of_name or number_of_name[name] == number:
            continue
        numbered = [f"{of_model} {known}" for known, of_model in number_of_name.items()]
        raise WrongData(
            f"class {number} of {spec.name} is {shown(repr(name))}, which the model "
            f"numbers {number_of_name[name]}",
            fix="give the labels as the model's numbers "
            f"({shown(', '.join(numbered))})",
        )


def _takes_rows(model: object, length: int, spec: DatasetSpec) -> Problem:
    """Return the error for a model of rows of numbers that is asked about images.

    Args:
        length: how many numbers a row has.
    """
    numbers = math.prod(spec.shape)
    advice = "give a model for images, or rows of its own data"
    # An image has as many numbers as a row: it can be laid out as one.
    if numbers == length:
        layout = "rs.wrap(model, layout='rows')"
        if isinstance(model, GraphFile):
            layout = "the argument layout=rows"
        advice = (
            f"{layout} takes the numbers of an image, by channel, row and column, for a "
            "row"
        )
    return WrongModel(
        f"the model takes rows of {length} numbers, and {spec.name} has images "
        f"{spec.shape}, of {numbers} numbers: {advice}"
    )


def known_of_model(model: object, name: str) -> Any:
    """Return the attribute `name` of a model, where it means what it means in this
    package; else None.

    Models of this package, and adapted ones, mean it so. An attribute of any other
    model may mean something else: only its `shape` is believed, if it is a tuple of
    integers.
    """
    value = getattr(model, name, None)
    if isinstance(model, Classifier | ForeignModel | Denoised):
        return value
    if name != "shape" or not isinstance(value, tuple):
        return None
    return value if all(type(side) is int for side in value) else None


def _refusal_words(name: str | None) -> str:
    """Return the words on the class of declined answers; empty where there is none."""
    return "" if name is None else f", {shown(repr(name))} among them"


def class_names(
    model: object,
    width: int,
    images: Images,
    indices: Sequence[int],
    refusal: str | None = None,
) -> tuple[str, ...]:
    """Return the names of the classes that the model answers with.

    They are the names in the data. Where the data have only numbers, they are the
    model's names, or else numbers.

    Args:
        model: the base classifier.
        width: K, how many logits it gives.
        images: the images of the data set.
        indices: the positions of those that are certified.
        refusal: the name of the class of declined answers, which is among the classes
            of data that name theirs; None: no answer may decline.

    Raises:
        Problem: the model is not for the classes of the images.
    """
    spec = images.spec
    if not spec.open_ended:
        if width != spec.num_classes:
            raise WrongModel(
                f"the model gives {width} logits; {spec.name} has {spec.num_classes} "
                f"classes{_refusal_words(refusal)}"
            )
        return spec.classes
    labels = images.labels_at(torch.tensor(indices))
    beyond = (labels >= width).nonzero().flatten()
    if len(beyond):
        first = int(beyond[0])
        raise WrongData(
            f"label {int(labels[first])} of image {indices[first]} of {spec.name} is "
            f"not in 0..{width - 1}: the model gives {width} logits"
        )
    names = known_of_model(model, "classes")
    if names is not None and len(names) == width:
        return tuple(names)
    return tuple(str(number) for number in range(width))
