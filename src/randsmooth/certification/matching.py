"""A model and images brought together by the names of columns and classes.

Both may know such names: a model from its training, images from their files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from randsmooth import data, models
from randsmooth.certification.fitting import check_fit
from randsmooth.certification.refusals import refusal_name, with_refusal
from randsmooth.data import DatasetSpec, Images
from randsmooth.data.labels import composed
from randsmooth.data.named_images import WORDNET_ID
from randsmooth.documents import shown
from randsmooth.errors import NotComparable, Setting, WrongModel
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

# How many of the names of classes or columns a sentence lists.
NAMES_SHOWN = 3


def matched(
    model: M,
    images: Images,
    noise: Noise | None = None,
    refusal: str | None = None,
) -> tuple[M, Images]:
    """Return a model and images that agree about columns and classes.

    The model that is returned takes the images' columns. Both have the images' classes,
    in the images' order, where the model can answer for these. Where the model knows
    more classes, or numbers them otherwise and cannot be told, the images' labels become
    the model's numbers.

    Args:
        model: the base classifier.
        images: the images.
        noise: the noise, whose copies the model takes; None: it is not known yet.
        refusal: the class of declined answers, as for `certify`. It is added to the
            images' classes unless it is among them; None: no answer may decline.

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
    if images.spec.texts:
        # A model of texts has the same type as before.
        model = cast(M, models.on_texts(model))
    else:
        models.check_numbers_taken(model)
    model = models.for_columns(model, images.spec.columns, images.spec.held)
    name_of_refusal = refusal_name(refusal)
    if name_of_refusal is not None:
        _check_knows_refusal(model, name_of_refusal)
    if images.spec.open_ended:
        # Classes are the numbers that occur as labels: the model may know more, so that
        # it cannot be told these as its own.
        if images.labelled:
            _check_takes_numbers(model, images)
    else:
        images = _in_known_classes(model, images)
        if images.spec.alphabetical and images.labelled:
            _check_knows_names(model, images)
        if name_of_refusal is not None:
            classes = with_refusal(images.spec.classes, name_of_refusal)
            images = images.in_classes(classes)
        model = models.for_classes(model, images.spec.classes)
    check_fit(model, images.spec, noise)
    return model, images


def classes_known(model: object) -> tuple[str, ...] | None:
    """Return the names of the classes that a model knows, in the order of its logits.

    They are None where it says none. The attribute `classes` of other models may mean
    something else, so only models of this package, or adapted ones, are asked.
    """
    if not isinstance(model, Classifier | ForeignModel | Around):
        return None
    names = getattr(model, "classes", None)
    if names is not None:
        # One spelling of each letter, as in the names of the images' classes.
        return tuple(composed(name) for name in names)
    if isinstance(model, Around):
        # An ensemble knows the classes on which its members agree.
        classes_of_parts = {classes_known(part) for part in model.answers()}
        if len(classes_of_parts) == 1:
            return classes_of_parts.pop()
    return None


def unnamed_features(model: object) -> Iterator[Note]:
    """Yield a note on each estimator that was fitted with named features, where the
    images' features have no names.

    The estimator takes these in the order of its names. The note lists the first of
    them.
    """
    for estimator in _estimators(model):
        if estimator.columns is None and estimator.feature_names is not None:
            first = ", ".join(estimator.feature_names[:NAMES_SHOWN])
            yield Note("features_without_names", first=shown(first))


def held_fixed(noise: Noise, spec: DatasetSpec) -> Noise:
    """Return `noise` on the columns of numbers alone: categories are held fixed.

    Raises:
        Problem: the noise holds other columns fixed.
    """
    positions = tuple(column.place for column in spec.held)
    names = tuple(column.name for column in spec.held)
    if not isinstance(noise, HoldingFixed):
        return HoldingFixed(noise, positions, names) if positions else noise
    if noise.held != positions or noise.columns != names:
        held_by_noise = shown(", ".join(noise.columns))
        held_by_data = shown(", ".join(names)) or "none"
        raise NotComparable(
            f"the noise holds {held_by_noise} fixed, and the columns of {spec.name} "
            f"that hold no numbers are {held_by_data}",
            fix="give the same columns",
        )
    return noise


def deviations_of_numbers(images: Images) -> NDArray[np.float64]:
    """Return the standard deviation of each coordinate over all inputs.

    Columns that hold categories are left out.
    """
    deviations = data.deviations(images)
    if not images.spec.held:
        return deviations
    return np.delete(deviations, [column.place for column in images.spec.held])


def questions(model: object, images: Images) -> Iterator[Note]:
    """Yield a note where the classes of an estimator may not be those of the images.

    There are two such cases. The estimator was not fitted with some class of the
    images, and never answers with it. Or it was fitted with numbers, and the images'
    classes have names: its numbers are then taken for these classes in their order.
    """
    spec = images.spec
    for estimator in _estimators(model):
        # Both have names for their classes, or both have numbers.
        if spec.open_ended or {*estimator.names} <= {*spec.classes}:
            known = (*estimator.names, estimator.refusal_name)
            unknown = [name for name in spec.classes if name not in known]
            if unknown and images.labelled:
                yield Note(
                    "class_never_answered",
                    estimator=estimator.name,
                    name=shown(unknown[0]),
                )
        elif estimator.numbered:
            numbered_names = [
                f"{number} {shown(name)}"
                for number, name in enumerate(spec.classes[:NAMES_SHOWN])
            ]
            yield Note(
                "numbers_for_names",
                estimator=estimator.name,
                order=", ".join(numbered_names),
            )


def _estimators(model: object) -> list[EstimatorModel]:
    """Return the scikit-learn estimators in a model, which may be one itself."""
    parts = [model, *(part.model for part in models.foreign_parts(model))]
    return [part for part in parts if isinstance(part, EstimatorModel)]


def _check_takes_numbers(model: object, images: Images) -> None:
    """Raise NotComparable for an estimator that was fitted with names of classes.

    The labels of `images` are numbers, and nothing says which name a number stands for.
    """
    for estimator in _estimators(model):
        if not estimator.numbered:
            names = shown(", ".join(estimator.names))
            raise NotComparable(
                f"{estimator.name} was fitted with the names {names}, and the labels of "
                f"{images.spec.name} are numbers: nothing says which name a number "
                "stands for",
                fix="give the names as labels, such as names[y], or fit it with these "
                "numbers",
            )


def _check_knows_refusal(model: object, name: str) -> None:
    """Raise WrongModel for a network that names its classes, of which none is `name`.

    A model in Python may have no name for its declined answers.
    """
    if isinstance(model, ForeignModel) or models.foreign_parts(model):
        return
    if isinstance(model, HubClassifier) and model.nameless:
        return
    known = classes_known(model)
    if known is not None and name not in known:
        raise WrongModel(
            f"the model has no class {shown(repr(name))}; its classes are "
            f"{shown(', '.join(known))}",
            field="refusal",
            value=name,
            fix=("give the name of the one that means declined, ", Setting("refusal")),
        )


def _check_knows_names(model: object, images: Images) -> None:
    """Raise NotComparable unless the model finds the images' classes by their names.

    The labels of `images` are names, which were numbered in the order of the alphabet:
    these numbers are not the model's.
    """
    spec = images.spec
    # WordNet ids are an exception: in the order of the alphabet they have the numbers
    # of ImageNet's labels.
    are_wordnet_ids = all(map(WORDNET_ID.fullmatch, spec.classes))
    if are_wordnet_ids or _goes_by_names(model, spec.classes):
        return
    names = _first_of(spec.classes)
    raise NotComparable(
        f"the labels of {spec.name} are the names {names}, and the model knows "
        f"its classes {_how_known(classes_known(model))}: nothing says which name "
        "stands for which number",
        fix="give as labels the model's numbers, from 0, or "
        "pd.Categorical(y, categories=[...]) with the names in the model's order",
    )


def _how_known(classes: tuple[str, ...] | None) -> str:
    """Return in words how a model knows its classes: by numbers, or as which names."""
    if classes is None or classes == tuple(map(str, range(len(classes)))):
        return "by their numbers alone"
    return f"as {_first_of(classes)}"


def _first_of(classes: Sequence[str]) -> str:
    """Return the first names, with dots where there are more."""
    names = ", ".join(classes[:NAMES_SHOWN])
    if len(classes) > NAMES_SHOWN:
        names += ", ..."
    return shown(names)


def _goes_by_names(model: object, classes: Sequence[str]) -> bool:
    """Return whether a model finds these classes by their names, or refuses them.

    A model around others goes by names if each part that answers does.
    """
    if isinstance(model, ForeignPart):
        return _goes_by_names(model.model, classes)
    # These two compare names themselves, in `for_classes`.
    if isinstance(model, EstimatorModel) and not model.numbered:
        return True
    if isinstance(model, HubClassifier) and not model.nameless:
        return True
    known = classes_known(model)
    if known is not None:
        return {composed(name) for name in classes} <= {*known}
    parts = model.answers() if isinstance(model, Around) else ()
    return bool(parts) and all(_goes_by_names(part, classes) for part in parts)


def _in_known_classes(model: object, images: Images) -> Images:
    """Return the images, with the model's numbers as labels where it has to keep them.

    The labels stay where the model can be told the images' classes.
    """
    known = classes_known(model)
    classes = images.spec.classes
    if known is None or known == classes or not {*classes} <= {*known}:
        return images
    can_be_told = isinstance(model, ForeignModel | Around)
    if can_be_told and _answers(model) <= {*classes}:
        return images
    return images.in_classes(known)


def _answers(model: object) -> set[str]:
    """Return the names of all classes that a model may answer with."""
    estimators = _estimators(model)
    if not estimators:
        return {*(classes_known(model) or ())}
    # An estimator that was fitted with numbers has all numbers up to the largest as
    # classes, and answers only with those of its fit, which are its `names`.
    return {name for estimator in estimators for name in estimator.names}
