"""A fitted classifier with scikit-learn's interface as a base classifier."""

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

from randsmooth.data.dataset_spec import Categories
from randsmooth.data.labels import composed
from randsmooth.documents import shown
from randsmooth.errors import ModelFailed, WrongModel
from randsmooth.models.adapters.foreign_model import PythonModel, no_table, votes


class EstimatorModel(PythonModel):
    """A fitted classifier with scikit-learn's interface.

    The numbers of an input, such as pixels, are its features. Where it was fitted with a
    table, it gets one with the same columns in the same order, whatever their order in the
    data (see `for_columns`).

    It is asked by `predict`, whose labels count as votes: what other methods say may belong
    to another class. Classes are matched with the names of the data set's; whole numbers
    from 0, as numbers or texts, that are none of these names are labels. A class that the
    estimator was not fitted with is never its answer.

    Args:
        estimator: a classifier, fitted, or a pipeline or search that ends in one. A copy of
            it is taken.

    Attributes:
        names: the names of the classes that it was fitted with, in its own order.
        numbered: whether these are whole numbers from 0, which are labels.
        classes: the names of the K classes that its votes are for.
        feature_names: the names of the columns that it was fitted with; None where they
            had none.
        columns: the columns of the features that it is given, as `for_columns` sets
            them; None: the columns of the fit.
        held: the columns, of these, that are codes of categories, as `for_columns` sets
            them.

    Raises:
        WrongModel: it is not fitted, or no classifier.

    Example:
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> model = EstimatorModel(KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 2]))
        >>> model.kind, model.num_classes
        ('scikit-learn KNeighborsClassifier', 3)
        >>> model.answer(torch.ones(1, 1, 1, 1))
        tensor([[0., 0., 1.]])
    """

    num_classes: int
    labels = True

    def __init__(self, estimator: Any) -> None:
        self.name = type(estimator).__qualname__
        self.kind = f"scikit-learn {self.name}"
        known = getattr(estimator, "classes_", None)
        # It is a list where there are several outputs.
        if known is None or isinstance(known, list):
            raise WrongModel(
                f"the estimator {self.name} has no classes_: fit it for one output, "
                "estimator.fit(X, y)"
            )
        self.estimator = copy.deepcopy(estimator)
        self.known = np.asarray(known)
        self._name_classes()
        feature_names = getattr(self.estimator, "feature_names_in_", None)
        self.feature_names: tuple[str, ...] | None = None
        if feature_names is not None:
            self.feature_names = tuple(map(str, feature_names))
        self.columns: tuple[str, ...] | None = None
        self.held: tuple[Categories, ...] = ()
        digest = _hash_of(self.estimator)
        if not digest:
            self.unreadable = (
                f"the estimator {self.name} does not say all that it holds"
            )
        self._hash = digest or hashlib.sha256(self.name.encode()).hexdigest()

    def _name_classes(self) -> None:
        """Learn the names of the known classes, and their places among those voted for."""
        numbers = _numbers(self.known)
        self.numbered = numbers is not None
        if numbers is None:
            names = _plain(self.known)
            self.places = np.arange(len(self.known))
        else:
            names = numbers
            self.places = numbers
        self.names = tuple(composed(str(name)) for name in names.tolist())
        self.num_classes = max(2, int(self.places.max()) + 1)
        self.classes = self.names
        if self.numbered:
            self.classes = tuple(map(str, range(self.num_classes)))

    @staticmethod
    def takes(model: object) -> bool:
        """Return whether it has scikit-learn's interface; this imports no package."""
        if isinstance(model, type):
            return False
        return all(hasattr(model, name) for name in ("get_params", "fit", "predict"))

    def weights_hash(self) -> str:
        """Return that of all that the estimator holds.

        Where that cannot be read, it is that of its name.
        """
        return f"sha256:{self._hash}"

    def for_classes(self, classes: Sequence[str]) -> Self:
        changed = copy.copy(self)
        changed.places = self._places_among(classes)
        changed.classes = tuple(classes)
        changed.num_classes = len(classes)
        return changed

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        if self.feature_names is None and held:
            raise WrongModel(
                f"{self.name} was not fitted with a table: {no_table(held)}"
            )
        if self.feature_names is None or not columns:
            return self
        self._check_knows(columns, [composed(name) for name in self.feature_names])
        changed = copy.copy(self)
        changed.columns = tuple(columns)
        changed.held = tuple(held)
        return changed

    def _check_knows(self, columns: Sequence[str], fitted: Sequence[str]) -> None:
        """Check that the data have the columns that it was fitted with, and no others."""
        more = [name for name in columns if columns.count(name) > fitted.count(name)]
        missing = [name for name in fitted if name not in columns]
        if missing:
            beside = ""
            if more:
                beside = f"; they have {shown(', '.join(more))}, which it does not know"
            raise WrongModel(
                f"{self.name} was fitted with the column {shown(repr(missing[0]))}, which "
                f"the data lack{beside}: give the columns that it was fitted with"
            )
        if more:
            raise WrongModel(
                f"{self.name} was not fitted with the column {shown(repr(more[0]))} of the "
                "data: leave it out, or keep one of several"
            )

    def answer(self, noisy: Tensor) -> Tensor:
        features = noisy.flatten(1).cpu().double().numpy()
        try:
            labels = np.asarray(self.estimator.predict(self._as_fitted(features)))
        except Exception as error:
            # An estimator may raise anything.
            raise ModelFailed(
                f"the model refuses inputs of shape {tuple(noisy.shape[1:])}, which are "
                f"{features.shape[1]} features ({shown(error)})"
            ) from error
        places = torch.from_numpy(self.places[np.searchsorted(self.known, labels)])
        return votes(places, self.num_classes).to(noisy.device)

    def _as_fitted(self, features: NDArray[np.float64]) -> Any:
        """Return the features (B, d) as what the estimator was fitted with.

        That is an array, or a table in the order of the fit.
        """
        if self.feature_names is None:
            return features
        # It takes long to load.
        import pandas as pd

        if self.columns is None:
            return pd.DataFrame(features, columns=self.feature_names)
        places = [self.columns.index(composed(name)) for name in self.feature_names]
        table = pd.DataFrame(features[:, places], columns=self.feature_names)
        for column in self.held:
            values = column.decoded(features[:, column.place])
            table.isetitem(places.index(column.place), values)
        return table

    def _places_among(self, classes: Sequence[str]) -> NDArray[np.int64]:
        """Return the place among the data set's `classes` of each of the estimator's.

        It is found by name, or else by number. Numbers are names, too, where the classes
        are called by numbers, such as 1 to 10.
        """
        places = {composed(name): place for place, name in enumerate(classes)}
        missing = [name for name in self.names if name not in places]
        if not missing:
            return np.array([places[name] for name in self.names], np.int64)
        if self.numbered:
            numbers = [int(name) for name in self.names]
            if max(numbers) < len(classes):
                return np.array(numbers, np.int64)
        else:
            self._check_knows_classes(places)
        raise WrongModel(
            f"{self.name} was fitted with the class {shown(repr(missing[0]))}: fit it with "
            f"the names {shown(', '.join(classes))} of the data set, or 0 to "
            f"{len(classes) - 1}"
        )

    def _check_knows_classes(self, classes: Sequence[str] | dict[str, int]) -> None:
        """Check that there is none of the data set's classes that it does not know."""
        unknown = [name for name in classes if name not in self.names]
        if unknown:
            raise WrongModel(
                f"the data have the class {shown(repr(unknown[0]))}, which {self.name} was "
                f"not fitted with: give the names that it knows, "
                f"{shown(', '.join(self.names))}"
            )


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:
        """Write arrays of several fields without the padding between these.

        The nodes of a tree are such.
        """
        if not isinstance(value, np.ndarray) or not value.dtype.names:
            return NotImplemented
        fields = [(name, value[name]) for name in value.dtype.names]
        return tuple, (fields,)


def _hash_of(value: object) -> str:
    """Return the SHA-256 of what `value` would be pickled as.

    It is the same for equal values, and empty where the value cannot be pickled.
    """
    sha256 = hashlib.sha256()
    pickler = _Pickler(SimpleNamespace(write=sha256.update), protocol=4)
    # It does not matter which parts are one object.
    pickler.fast = True
    try:
        pickler.dump(value)
    except Exception:
        # An estimator's own way of being pickled may raise anything.
        return ""
    return sha256.hexdigest()


def _are_whole(known: np.ndarray) -> bool:
    return bool((known == np.floor(known)).all())


def _plain(known: np.ndarray) -> np.ndarray:
    """Return classes as they are written, whole numbers without a point.

    So -1.0 is the class -1.
    """
    if known.dtype.kind == "f" and _are_whole(known):
        return known.astype(np.int64)
    return known


def _numbers(known: np.ndarray) -> NDArray[np.int64] | None:
    """Return classes that are whole numbers from 0, as numbers or as texts.

    None says that they are others.
    """
    if known.dtype.kind in "UO":
        if all(_is_number(name) for name in known):
            return np.array([int(name) for name in known], np.int64)
        return None
    if known.dtype.kind in "biuf" and bool((known >= 0).all()) and _are_whole(known):
        return known.astype(np.int64)
    return None


def _is_number(name: object) -> bool:
    """Return whether a class is a text of digits."""
    return isinstance(name, str) and name.isascii() and name.isdigit()
