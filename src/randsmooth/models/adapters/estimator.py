"""Scikit-learn estimators, and whatever has their interface, as base classifiers of flattened images."""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models.adapters.foreign_model import PythonModel, votes

METHODS = ("predict_proba", "decision_function", "predict")  # in the order in which they are preferred
NEVER = -1e30  # the logit of a class that the estimator does not know
SMALLEST = 1e-30  # a probability below is taken for it, so that its logarithm is finite


class EstimatorModel(PythonModel):
    """A fitted classifier with scikit-learn's interface; an image's pixels in the order of C, H, W are its features.

    It is asked by the first of METHODS that it has, but for one-against-one decision functions, which are not about
    classes. Probabilities become logits by the logarithm, whose softmax they are; a binary decision function becomes
    two; what `predict` says are labels. Classes are matched with the names of the data set's; whole numbers from 0, as
    numbers or texts, that are none of these names are labels. A class that the estimator was not fitted with is never
    its answer.

    Args:
        estimator: a classifier, fitted, or a pipeline or search that ends in one. A copy of it is taken.

    Raises:
        InputError: it is not fitted, or no classifier.

    Example:
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> model = EstimatorModel(KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 2]))
        >>> model.kind, model.num_classes, model.answer(torch.ones(1, 1, 1, 1)).argmax(dim=1)
        ('scikit-learn KNeighborsClassifier, predict_proba', 3, tensor([2]))
    """

    num_classes: int

    def __init__(self, estimator: Any) -> None:
        self.name = type(estimator).__qualname__
        known = getattr(estimator, "classes_", None)
        if known is None or isinstance(known, list):  # a list: of several outputs
            raise InputError(f"the estimator {self.name} has no classes_: fit it for one output, estimator.fit(X, y)")
        self.estimator, self.method = copy.deepcopy(estimator), _preferred(estimator)
        self.known, self.labels = np.asarray(known), self.method == "predict"
        self.places = _places(self.known, None, self.name)
        self.num_classes = max(2, int(self.places.max()) + 1)
        self.features: int | None = getattr(estimator, "n_features_in_", None)
        self.kind = f"scikit-learn {self.name}, {self.method}"
        hashed = _hash_of((self.method, self.estimator))
        self.unreadable = "" if hashed else f"the estimator {self.name} does not say all that it holds"
        self._hash = hashed or hashlib.sha256(self.name.encode()).hexdigest()

    def weights_hash(self) -> str:
        """Of all that the estimator holds; of its name, where that cannot be read."""
        return f"sha256:{self._hash}"

    def for_classes(self, classes: Sequence[str]) -> Self:
        changed = copy.copy(self)
        changed.places, changed.num_classes = _places(self.known, classes, self.name), len(classes)
        return changed

    def answer(self, noisy: Tensor) -> Tensor:
        features = noisy.flatten(1).cpu().double().numpy()
        if self.features not in (None, features.shape[1]):
            raise InputError(
                f"the model refuses images of shape {tuple(noisy.shape[1:])}, which have {features.shape[1]} pixels: "
                f"{self.name} was fitted with {self.features} features"
            )
        try:
            found = np.asarray(getattr(self.estimator, self.method)(features))
        except Exception as error:  # an estimator may raise anything
            raise InputError(f"{self.name} failed on {features.shape} features ({shown(error)})") from error
        if self.labels:
            return votes(torch.from_numpy(self.places[np.searchsorted(self.known, found)]), self.num_classes)
        return torch.from_numpy(self._logits(found)).to(noisy.device)

    def _logits(self, found: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, K) of the columns (B, len(classes_)), or (B,), that the estimator gave."""
        if self.method == "predict_proba":
            found = np.log(np.maximum(found, SMALLEST))
        elif found.ndim == 1:
            found = np.stack([-found, found], axis=1)
        if found.ndim != 2 or found.shape[1] != len(self.known):
            raise InputError(f"{self.method} of {self.name} gives {found.shape} for {len(self.known)} classes")
        logits = np.full((len(found), self.num_classes), NEVER)
        logits[:, self.places] = found
        return logits


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:
        """Arrays of several fields, such as the nodes of a tree, without the padding between them."""
        names = value.dtype.names if isinstance(value, np.ndarray) else None
        return (tuple, ([(name, value[name]) for name in names],)) if names else NotImplemented  # type: ignore[index]


def _hash_of(value: object) -> str:
    """SHA-256 of what `value` would be pickled as, the same for equal values; empty where it cannot be pickled."""
    hashed = hashlib.sha256()
    pickler = _Pickler(SimpleNamespace(write=hashed.update), protocol=4)
    pickler.fast = True  # whichever of its parts are one object
    try:
        pickler.dump(value)
    except Exception:  # an estimator's own way of being pickled may raise anything
        return ""
    return hashed.hexdigest()


def is_estimator(model: object) -> bool:
    """Whether it has scikit-learn's interface; no package is imported for this."""
    return not isinstance(model, type) and all(hasattr(model, name) for name in ("get_params", "fit", "predict"))


def _preferred(estimator: Any) -> str:
    settings = estimator.get_params()
    pairwise = any(name.endswith("decision_function_shape") and how == "ovo" for name, how in settings.items())
    left_out = "decision_function" if pairwise else ""
    return next(method for method in METHODS if method != left_out and hasattr(estimator, method))


def _places(known: np.ndarray, classes: Sequence[str] | None, estimator: str) -> NDArray[np.int64]:
    """The place among the data set's `classes`, where these are known, of each of the estimator's: by name or number.

    Numbers are names, too, where the classes are called by numbers, such as 1 to 10.
    """
    numbers = _numbers(known)
    if classes is None:
        return np.arange(len(known)) if numbers is None else numbers
    places = {each: place for place, each in enumerate(classes)}
    called = [str(each) for each in (known if numbers is None else numbers).tolist()]
    missing = [name for name in called if name not in places]
    if not missing:
        return np.array([places[each] for each in called], np.int64)
    if numbers is not None and int(numbers.max()) < len(classes):
        return numbers
    raise InputError(
        f"{estimator} was fitted with the class {shown(repr(missing[0]))}; the data set has {len(classes)} classes, "
        f"{shown(', '.join(classes))}: fit it with their numbers (0 to {len(classes) - 1}) or their names"
    )


def _numbers(known: np.ndarray) -> NDArray[np.int64] | None:
    """Classes that are whole numbers from 0, as numbers or as texts; None where they are others."""
    if known.dtype.kind in "UO" and all(isinstance(each, str) and each.isascii() and each.isdigit() for each in known):
        return np.array([int(each) for each in known], np.int64)
    whole = known.dtype.kind in "biuf" and bool((known >= 0).all() and (known == np.floor(known)).all())
    return known.astype(np.int64) if whole else None
