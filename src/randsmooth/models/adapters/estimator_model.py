"""A fitted classifier with scikit-learn's interface as a base classifier."""

import copy
import hashlib
import pickle
from collections.abc import Iterable, Sequence
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
from randsmooth.models.adapters.declined_labels import are_declined
from randsmooth.models.adapters.foreign_model import (
    DECLINED,
    PythonModel,
    advice_on_categories,
    declines,
    votes,
)

PROTOCOL = 4

# Vectorisers of texts keep the address of their stop words in memory under this name. It
# says nothing, and differs from run to run.
MEMORY_ADDRESS = "_stop_words_id"


class EstimatorModel(PythonModel):
    """A fitted classifier with scikit-learn's interface.

    The numbers of an input, such as pixels, are its features. An estimator that was fitted
    with a table gets a table with the same columns in the same order, whatever their order
    in the data set (see `for_columns`).

    The estimator is asked by `predict`, and its labels count as votes. Its probabilities are
    not used, since the largest may be that of another class than `predict` names. Its classes
    are matched with those of the data set by name. If that fails, and they are whole numbers
    from 0, as numbers or as texts, they are matched by number. A class that the estimator
    was not fitted with is never its answer.

    Args:
        estimator: a fitted classifier, or a pipeline or a search that ends in one. A copy
            of it is taken.

    Attributes:
        known: the classes that the estimator was fitted with, in its own order, which is
            sorted.
        names: the names of these classes.
        numbered: whether these classes are whole numbers from 0.
        classes: the names of the K classes for which it votes.
        places: for each known class, its index among `classes`.
        feature_names: the names of the columns that the estimator was fitted with; None
            where it was fitted with an array.
        columns: the names of the features that it is given, as `for_columns` sets them;
            None: they are those of the fit.
        held: those of the features that are codes of categories, as `for_columns` sets
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
    reads_texts = True

    def __init__(self, estimator: Any) -> None:
        self.name = type(estimator).__qualname__
        self.kind = f"scikit-learn {self.name}"
        known = getattr(estimator, "classes_", None)
        # An estimator with several outputs has a list of the classes of each.
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
                f"the estimator {self.name} cannot be pickled, so it cannot be compared"
            )
            # It stands for no model: `unreadable` makes the user give a name instead.
            digest = hashlib.sha256(self.name.encode()).hexdigest()
        self._hash = digest

    def _name_classes(self) -> None:
        """Set the names of the known classes, and the classes that it votes for.

        Until `for_classes` says otherwise, classes that are whole numbers from 0 are labels:
        an estimator that knows 3 and 7 votes for 0 to 7.
        """
        numbers = _numbers(self.known)
        self.numbered = numbers is not None
        if numbers is None:
            names = _plain(self.known)
            self.places = np.arange(len(self.known))
        else:
            names = numbers
            self.places = numbers
        # Two ways of writing "é" in Unicode are one name.
        self.names = tuple(composed(str(name)) for name in names.tolist())
        # A classifier has at least two classes, even if it was fitted with one.
        self.num_classes = max(2, int(self.places.max()) + 1)
        self.classes = self.names
        if self.numbered:
            self.classes = tuple(map(str, range(self.num_classes)))

    @staticmethod
    def takes(model: object) -> bool:
        """Return whether `model` has scikit-learn's interface.

        Its methods tell, so that scikit-learn need not be imported.
        """
        # A class has the methods too, but is not fitted.
        if isinstance(model, type):
            return False
        return all(hasattr(model, name) for name in ("get_params", "fit", "predict"))

    def weights_hash(self) -> str:
        """Return the hash of all that the estimator holds.

        For an estimator that cannot be pickled, it is the hash of the name of its class.
        """
        return f"sha256:{self._hash}"

    def for_classes(self, classes: Sequence[str]) -> Self:
        changed = copy.copy(self)
        changed.places = self._places_among(classes)
        changed.classes = tuple(classes)
        changed.num_classes = len(classes)
        return changed.with_refusal_among(classes)

    def declining(self, name: str) -> Self:
        """Return a copy that may decline: a class called `name` stands for that.

        An estimator declines where `predict` gives -1, None, NaN or this name.
        """
        if self.refusal_name == name:
            return self
        changed = copy.copy(self)
        changed.known = self.known[~self._declined(self.known, name)]
        changed._name_classes()  # noqa: SLF001
        changed = super(EstimatorModel, changed).declining(name)
        if changed.num_classes > len(changed.classes):
            changed.classes = (*changed.classes, name)
        return changed

    @staticmethod
    def _declined(labels: NDArray[Any], name: str | None) -> NDArray[np.bool_]:
        """Return (B,) whether each of `labels` (B,) is a declined answer, or `name`."""
        declined = are_declined(labels)
        if name is not None and labels.dtype.kind in "UO":
            declined |= labels == name
        return declined

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        if self.feature_names is None and held:
            raise WrongModel(
                f"{self.name} was not fitted with a table: {advice_on_categories(held)}"
            )
        # Without names on both sides, features are taken in the order in which they come.
        if self.feature_names is None or not columns:
            return self
        self._check_knows(columns, [composed(name) for name in self.feature_names])
        changed = copy.copy(self)
        changed.columns = tuple(columns)
        changed.held = tuple(held)
        return changed

    def _check_knows(self, columns: Sequence[str], fitted: Sequence[str]) -> None:
        """Check that the data have the columns that the estimator was fitted with, alone.

        Args:
            columns: the names of the columns of the data.
            fitted: the names of the columns of the fit.

        Raises:
            WrongModel: they have others.
        """
        # Also a column that the data have more often than the fit.
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
        try:
            labels = np.asarray(self.estimator.predict(self._inputs(noisy)))
        # An estimator may raise anything.
        except Exception as error:
            refused = (
                f"inputs of shape {tuple(noisy.shape[1:])}, which are "
                f"{noisy[0].numel()} features"
            )
            if self.mask is not None:
                refused = "texts"
            raise ModelFailed(
                f"the model refuses {refused} ({shown(error)})"
            ) from error
        places = torch.from_numpy(self._places_of(labels))
        return votes(
            places, self.num_classes, f"estimator {self.name}", self.refusal
        ).to(noisy.device)

    def _inputs(self, noisy: Tensor) -> Any:
        """Return noisy inputs in the form in which the estimator was fitted."""
        if self.mask is not None:
            return self.texts(noisy)
        return self._as_fitted(noisy.flatten(1).cpu().double().numpy())

    def _places_of(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return (B,) the index of the class of each of `labels` (B,) among `classes`.

        It is DECLINED (-1) where the estimator declined.

        Raises:
            WrongModel: a label is not one of the classes that the estimator was fitted
                with, or it declined and may not.
        """
        declined = self._declined(labels, self.refusal_name)
        if self.refusal_name is None and declined.any():
            # Classes of the fit may be called -1: then that is an answer like any.
            declined &= ~np.isin(labels, self.known)
            if declined.any():
                raise declines(f"estimator {self.name}")
        answered = labels[~declined]
        # scikit-learn sorts the classes of an estimator, so each label is found by bisection.
        found = np.searchsorted(self.known, answered).clip(max=len(self.known) - 1)
        unknown = self.known[found] != answered
        if unknown.any():
            raise WrongModel(
                f"{self.name} answers with {shown(repr(answered[unknown][0]))}, which is "
                "none of the classes that it was fitted with (classes_)"
            )
        places = np.full(labels.shape, DECLINED, np.int64)
        places[~declined] = self.places[found]
        return places

    def _as_fitted(self, features: NDArray[np.float64]) -> Any:
        """Return features (B, d) in the form in which the estimator was fitted.

        It is an array, or a table with the columns in the order of the fit.
        """
        if self.feature_names is None:
            return features
        # pandas takes long to load.
        import pandas as pd

        # The data give their features no names: they come in the order of the fit.
        if self.columns is None:
            return pd.DataFrame(features, columns=self.feature_names)
        # For each column of the fit, its index among the features.
        indices = [self.columns.index(composed(name)) for name in self.feature_names]
        table = pd.DataFrame(features[:, indices], columns=self.feature_names)
        # A column of categories comes as codes, and is filled with the categories.
        for column in self.held:
            values = column.decoded(features[:, column.place])
            table.isetitem(indices.index(column.place), values)
        return table

    def _places_among(self, classes: Sequence[str]) -> NDArray[np.int64]:
        """Return for each known class its index among the data set's `classes`.

        It is found by name. If a name is missing there, the numbers of a numbered estimator
        are the indices. Names come first, since the classes of a data set may be called 1 to
        10.

        Raises:
            WrongModel: the estimator knows another class, or lacks one of the data set's.
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

    def _check_knows_classes(self, classes: Iterable[str]) -> None:
        """Check that the estimator knows all classes of the data set.

        If it does not, this says more than that it knows another class.
        """
        unknown = [name for name in classes if name not in self.names]
        if unknown:
            raise WrongModel(
                f"the data have the class {shown(repr(unknown[0]))}, which {self.name} was "
                f"not fitted with: give the names that it knows, "
                f"{shown(', '.join(self.names))}"
            )


class _Pickler(pickle.Pickler):
    """A pickler that writes equal estimators as equal bytes."""

    def reducer_override(self, value: object) -> Any:
        """Write an array with several fields in an entry as one array for each field.

        The nodes of a tree are such an array. Between its fields there may be unused
        bytes, which differ from run to run. What a vectoriser keeps of an address in
        memory is left out.
        """
        if MEMORY_ADDRESS in getattr(value, "__dict__", {}):
            changed = copy.copy(value)
            delattr(changed, MEMORY_ADDRESS)
            return changed.__reduce_ex__(PROTOCOL)
        # All else is pickled as usual.
        if not isinstance(value, np.ndarray) or not value.dtype.names:
            return NotImplemented
        fields = [(name, value[name]) for name in value.dtype.names]
        return tuple, (fields,)


def _hash_of(value: object) -> str:
    """Return the SHA-256 of the bytes that `value` would be pickled as.

    Equal values have equal hashes. The answer is empty where `value` cannot be pickled.
    """
    sha256 = hashlib.sha256()
    # The pickler writes into the hash, so the bytes are never in memory.
    file = SimpleNamespace(write=sha256.update)
    pickler = _Pickler(file, protocol=PROTOCOL)
    # Otherwise two parts that are one object are written differently from two equal parts.
    pickler.fast = True
    try:
        pickler.dump(value)
    # An estimator's own methods for pickling may raise anything.
    except Exception:
        return ""
    return sha256.hexdigest()


def _are_whole(known: np.ndarray) -> bool:
    """Return whether all numbers are whole."""
    return bool((known == np.floor(known)).all())


def _plain(known: np.ndarray) -> np.ndarray:
    """Return classes in the form in which they are written: -1.0 is the class -1."""
    if known.dtype.kind == "f" and _are_whole(known):
        return known.astype(np.int64)
    return known


def _numbers(known: np.ndarray) -> NDArray[np.int64] | None:
    """Return classes as numbers, if all are whole numbers from 0, or texts of such.

    The answer is None for other classes.
    """
    # Texts, or objects such as texts.
    if known.dtype.kind in "UO":
        if all(_is_number(name) for name in known):
            return np.array([int(name) for name in known], np.int64)
        return None
    # Truth values, whole numbers with and without sign, and floats.
    if known.dtype.kind in "biuf" and bool((known >= 0).all()) and _are_whole(known):
        return known.astype(np.int64)
    return None


def _is_number(name: object) -> bool:
    """Return whether a class is a text of digits."""
    return isinstance(name, str) and name.isascii() and name.isdigit()
