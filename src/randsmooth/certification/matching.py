"""A model and images brought together by the names that both know: of the columns, and
of the classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from randsmooth import data, models
from randsmooth.certification.fitting import check_fit
from randsmooth.data import DatasetSpec, Images
from randsmooth.data.labels import composed
from randsmooth.data.named_images import WORDNET_ID
from randsmooth.documents import shown
from randsmooth.errors import NotComparable
from randsmooth.models import (
    Around,
    BaseClassifier,
    Classifier,
    EstimatorModel,
    ForeignModel,
)
from randsmooth.models.around import ForeignPart
from randsmooth.models.hub import HubClassifier
from randsmooth.noise import HoldingFixed, Noise
from randsmooth.notes import Note

M = TypeVar("M", bound=BaseClassifier)


def matched(model: M, images: Images, noise: Noise | None = None) -> tuple[M, Images]:
    """Return the model, told the names of the images' columns and classes, and the
    images in the classes of both.

    Classes are the images' own, in their order, where the model can answer for these.
    Where the model knows more classes, or numbers them otherwise and cannot be told,
    the images' labels become the model's numbers.

    Raises:
        Problem: the model is not for these images, or only one side has names.

    Example:
        >>> from randsmooth import data
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> x = [[0.0], [1.0], [2.0]]
        >>> cats = KNeighborsClassifier(1).fit(x, ["ant", "bee", "cat"])
        >>> images = data.load(([[2.0], [0.0]], ["cat", "ant"]), "test")
        >>> model, images = matched(models.adapt(cats), images)
        >>> images.spec.classes, images.labels.tolist()
        (('ant', 'bee', 'cat'), [2, 0])
    """
    model = models.for_columns(model, images.spec.columns, images.spec.held)
    if images.spec.open_ended:
        if images.labelled:
            _check_numbers(model, images)
    else:
        images = _in_known_classes(model, images)
        if images.spec.alphabetical and images.labelled:
            _check_names(model, images)
        model = models.for_classes(model, images.spec.classes)
    check_fit(model, images.spec, noise)
    return model, images


def classes_known(model: object) -> tuple[str, ...] | None:
    """Return the names of the classes that a model knows, in the order of its logits;
    None where it says none.

    Another's attribute `classes` may mean something else, so only models of ours, or
    adapted ones, are asked.
    """
    if isinstance(model, Around) and getattr(model, "classes", None) is None:
        known = {classes_known(part) for part in model.answers()}
        return known.pop() if len(known) == 1 else None
    if not isinstance(model, Classifier | ForeignModel | Around):
        return None
    names = getattr(model, "classes", None)
    return None if names is None else tuple(composed(name) for name in names)


def unnamed_features(model: object) -> Iterator[Note]:
    """Yield in which order features without names are taken, by a model that was fitted
    with names.
    """
    for estimator in _estimators(model):
        if estimator.columns is None and estimator.feature_names is not None:
            first = ", ".join(estimator.feature_names[:3])
            yield Note("features_without_names", first=shown(first))


def held_fixed(noise: Noise, spec: DatasetSpec) -> Noise:
    """Return `noise` on the columns of numbers alone, where some of the columns hold
    categories.

    Raises:
        Problem: the noise holds other columns fixed.
    """
    held = tuple(column.place for column in spec.held)
    names = tuple(column.name for column in spec.held)
    if isinstance(noise, HoldingFixed):
        if (noise.held, noise.columns) == (held, names):
            return noise
        theirs = f"the columns of {spec.name} that hold no numbers are {shown(', '.join(names)) or 'none'}"
        raise NotComparable(
            f"the noise holds {shown(', '.join(noise.columns))} fixed, and {theirs}: "
            "give the same columns"
        )
    return HoldingFixed(noise, held, names) if held else noise


def deviations_of_numbers(images: Images) -> NDArray[np.float64]:
    """Return the standard deviation of each coordinate over all inputs, but for columns
    that hold categories.
    """
    found = data.deviations(images)
    return (
        np.delete(found, [column.place for column in images.spec.held])
        if images.spec.held
        else found
    )


def questions(model: object, images: Images) -> Iterator[Note]:
    """Yield what a user should look at where classes of one side are taken for those of
    the other.
    """
    spec = images.spec
    for estimator in _estimators(model):
        if spec.open_ended or {*estimator.names} <= {*spec.classes}:
            unknown = [name for name in spec.classes if name not in estimator.names]
            if unknown and images.labelled:
                yield Note(
                    "class_never_answered",
                    estimator=estimator.name,
                    name=shown(unknown[0]),
                )
        elif estimator.numbered:
            order = ", ".join(
                f"{place} {shown(name)}" for place, name in enumerate(spec.classes[:3])
            )
            yield Note("numbers_for_names", estimator=estimator.name, order=order)


def _estimators(model: object) -> list[EstimatorModel]:
    parts = [model, *(part.model for part in models.foreign_parts(model))]
    return [part for part in parts if isinstance(part, EstimatorModel)]


def _check_numbers(model: object, images: Images) -> None:
    """Raise Problem where labels are numbers, and an estimator knows names, which no
    number stands for.
    """
    for estimator in _estimators(model):
        if not estimator.numbered:
            known = shown(", ".join(estimator.names))
            said = (
                f"{estimator.name} was fitted with the names {known}, "
                f"and the labels of {images.spec.name} are numbers"
            )
            way = "give the names as labels, such as names[y], or fit it with these numbers"
            raise NotComparable(
                f"{said}, of which nobody can see what they stand for: {way}"
            )


def _check_names(model: object, images: Images) -> None:
    """Raise Problem where labels are names without an order, and the model does not
    know all of them.
    """
    spec = images.spec
    # WordNet ids in the order of the alphabet are numbered as ImageNet's labels.
    if _goes_by_names(model, spec.classes) or all(
        map(WORDNET_ID.fullmatch, spec.classes)
    ):
        return
    shortened = ", ..." if len(spec.classes) > 3 else ""
    names = shown(", ".join(spec.classes[:3]) + shortened)
    known = classes_known(model)
    said = "the model knows its classes by their numbers alone"
    if known is not None and known != tuple(map(str, range(len(known)))):
        said = f"the model knows its classes as {shown(', '.join(known[:3]))}, ..."
    raise NotComparable(
        f"the labels of {spec.name} are the names {names}, and {said}: nobody can see "
        "which name stands for which number",
        fix="give as labels the model's numbers, from 0, or "
        "pd.Categorical(y, categories=[...]) with the names in the model's order",
    )


def _goes_by_names(model: object, classes: Sequence[str]) -> bool:
    """Whether the model, or each model that answers in it, finds these classes by their
    names, or refuses them.
    """
    if isinstance(model, ForeignPart):
        return _goes_by_names(model.model, classes)
    known = classes_known(model)
    if isinstance(model, EstimatorModel) and not model.numbered:
        return True
    if isinstance(model, HubClassifier) and not model.nameless:
        return True
    if known is not None:
        return {composed(name) for name in classes} <= {*known}
    parts = model.answers() if isinstance(model, Around) else ()
    return bool(parts) and all(_goes_by_names(part, classes) for part in parts)


def _in_known_classes(model: object, images: Images) -> Images:
    """The images, with labels as the model numbers them where it cannot answer in their
    own numbers.
    """
    own, theirs = classes_known(model), images.spec.classes
    if own is None or own == theirs or not {*theirs} <= {*own}:
        return images
    if isinstance(model, ForeignModel | Around) and _all_fit(model, theirs):
        return images
    return images.in_classes(own)


def _all_fit(model: object, classes: Sequence[str]) -> bool:
    """Whether all that a model may answer is among `classes`, so that it can be told
    these.
    """
    estimators = _estimators(model)
    names = (
        {name for each in estimators for name in each.names}
        if estimators
        else {*(classes_known(model) or ())}
    )
    return names <= {*classes}
