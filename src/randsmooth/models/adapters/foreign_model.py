"""Base classifiers that are no torch modules: any function from arrays to logits or labels, scikit-learn estimators."""

import copy
import hashlib
import pickle
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from randsmooth.data.dataset_spec import Categories
from randsmooth.data.labels import composed
from randsmooth.documents import shown
from randsmooth.errors import (
    BadValue,
    MissingValue,
    ModelFailed,
    Problem,
    Setting,
    WrongModel,
)
from randsmooth.models.answers import described

# What torch says where something is differentiated, and nothing recorded how it was computed.
GRADIENT = re.compile(r"does not require grad|inference (tensor|mode)", re.IGNORECASE)
ARRAYS: tuple[str, ...] = (
    "numpy",
    "torch",
)  # what a function is called with: the first that it takes


class ForeignModel(ABC):
    """A base classifier that is no torch module: what it takes and gives, and what it is known by. A backend runs it.

    Attributes:
        kind: what a certificate calls it, such as "ONNX file".
        shape: that of the inputs that it takes, such as (C, H, W) or (d,); None where it does not say.
        num_classes: K; None where it does not say.
        labels: whether it answers with labels alone. They count as votes: logits of 1 and 0.
        notes: what it does to a noisy image that the reader of a certificate should know.
        called: the name that its user gave it.
        unreadable: why it cannot be known by what it holds, so that its user has to name it; empty where it can.

    Example:
        >>> class Server(ForeignModel):
        ...     kind = "server"
        ...     def weights_hash(self):
        ...         return "sha256:none"
        >>> Server().kind, Server().shape
        ('server', None)
    """

    kind: str
    shape: tuple[int, ...] | None = None
    num_classes: int | None = None
    labels: bool = False
    notes: tuple[str, ...] = ()
    called: str | None = None
    unreadable: str = ""

    @abstractmethod
    def weights_hash(self) -> str:
        """A hash of what decides its answers, as far as it can be read: "sha256:" and 64 hexadecimal digits."""

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        """Itself, or a copy, that takes features whose names are `columns`, in this order.

        Args:
            columns: the names.
            held: those of the columns that hold codes of categories, which it is to see as their values.

        Raises:
            Problem: it knows other names, or cannot take categories.
        """
        if held:
            raise WrongModel(
                f"the model ({self.kind}) takes numbers alone: {no_table(held)}"
            )
        return self

    def for_classes(self, classes: Sequence[str]) -> Self:
        """Itself, or a copy, that answers for these `classes` in their order.

        Raises:
            Problem: it knows classes that are not among them, or how many there are, and it is another number.
        """
        return self.with_num_classes(len(classes))

    def with_num_classes(self, num_classes: int) -> Self:
        """Itself where it says how many classes there are, else a copy that was told.

        Raises:
            Problem: it says another number.
        """
        if self.num_classes is not None:
            if self.num_classes != num_classes:
                raise WrongModel(
                    f"the model ({self.kind}) has {self.num_classes} classes, not {num_classes}"
                )
            return self
        told = copy.copy(self)
        told.num_classes = num_classes
        return told


def votes(labels: Tensor, num_classes: int | None, called: str = "model") -> Tensor:
    """(B, K) float32: 1 for the label (B,) of each image, 0 elsewhere.

    Raises:
        Problem: a label is not one of 0 to num_classes - 1, or nobody said how many the model (`called`) knows.

    Example:
        >>> votes(torch.tensor([1, 0]), 3)
        tensor([[0., 1., 0.],
                [1., 0., 0.]])
    """
    if num_classes is None:
        raise MissingValue(
            f"the {called} answers with labels, of how many classes",
            field="num_classes",
            fix=("give ", Setting("num_classes")),
        )
    wrong = (labels < 0) | (labels >= num_classes)
    if bool(wrong.any()):
        way = f"expected 0 to {num_classes - 1}: is num_classes right?"
        raise WrongModel(
            f"the model answers with the label {int(labels[wrong][0])}; {way}"
        )
    return F.one_hot(labels.long(), num_classes).to(torch.float32)


class PythonModel(ForeignModel):
    """A base classifier that is called in Python, with as many images at once as one likes.

    Attributes:
        padded: whether it is to be called with batches of one size only, filled up with images whose answers are thrown
            away, so that an answer's last bits never depend on how full a batch is; False where every answer costs.

    Example:
        >>> import torch
        >>> class Brightness(PythonModel):
        ...     kind, num_classes = "brightness", 2
        ...     def weights_hash(self):
        ...         return "sha256:none"
        ...     def answer(self, noisy):
        ...         bright = noisy.mean(dim=(1, 2, 3))
        ...         return torch.stack([1 - bright, bright], dim=1)
        >>> Brightness().answer(torch.ones(2, 1, 8, 8)).argmax(dim=1)
        tensor([1, 1])
    """

    padded: bool = True

    @abstractmethod
    def answer(self, noisy: Tensor) -> Tensor:
        """(B, K) logits or votes of noisy inputs (B, ...) float32, on any device.

        Raises:
            Problem: it refuses them, or its answer is neither logits nor labels.
        """


class FunctionModel(PythonModel):
    """A function as a base classifier. By itself, it is asked about no more images than are counted.

    Args:
        function: takes inputs float32, images (B, C, H, W) in [0, 1] before noise was added, or features (B, d), and
            gives logits (B, K), or labels (B,): whole numbers from 0. It is called with NumPy's arrays, or with torch's
            tensors if it cannot take those, and may answer with either, or with a list.
        num_classes: K, needed for labels unless the data set says it.
        identity: a name, given to no other model of yours: code cannot be compared.

    Example:
        >>> bright = FunctionModel(lambda x: (x.mean(axis=(1, 2, 3)) > 0.5).astype(int), num_classes=2)
        >>> bright.answer(torch.ones(2, 1, 8, 8))
        tensor([[0., 1.],
                [0., 1.]])
    """

    padded = False

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        num_classes: int | None = None,
        identity: str | None = None,
    ) -> None:
        self.function, self.called, self.takes = function, identity, ARRAYS
        self.gradients = False  # whether it takes some, without torch.enable_grad()
        if num_classes is not None and (
            type(num_classes) is not int or num_classes < 2
        ):
            raise BadValue(
                field="num_classes",
                value=num_classes,
                expected="must be a whole number, at least 2",
            )
        self.num_classes = num_classes
        self.name = getattr(function, "__qualname__", type(function).__qualname__)
        self.unreadable = (
            f"the model is the function {self.name}, whose code cannot be compared"
        )

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Whether it gives logits or labels is known once it was called."""
        return f"Python function {self.name}" + (", labels only" if self.labels else "")

    def weights_hash(self) -> str:
        """That of the name given to it, since its code cannot be read."""
        return (
            f"sha256:{hashlib.sha256(f'function {self.called}'.encode()).hexdigest()}"
        )

    def answer(self, noisy: Tensor) -> Tensor:
        return self._logits(self._ask(noisy), len(noisy)).to(noisy.device)

    def _ask(self, noisy: Tensor) -> Any:
        """What the function says of a copy of `noisy`, so that it may write into what it is given."""
        faults = list[Exception]()
        for takes in self.takes:
            try:
                answer = self._call(noisy, takes)
                self.takes = (takes,)
                return answer
            except Problem:
                raise
            except Exception as error:  # a user's function may raise anything
                faults.append(error)
                if not isinstance(
                    error, TypeError | AttributeError
                ):  # which code raises that is for other arrays
                    break
        asked, why = (
            f"{self.takes[0]} arrays {tuple(noisy.shape)}",
            f"{type(faults[0]).__name__}: {shown(faults[0])}",
        )
        raise ModelFailed(
            f"the function {self.name} failed on images, {asked} in float32 ({why})"
        ) from faults[0]

    def _call(self, noisy: Tensor, takes: str) -> Any:
        """What the function says of a copy of `noisy`, where torch records nothing that it does not ask to be recorded.

        A function that takes a gradient without asking for that is called as a script would call it, from now on.
        """
        with torch.inference_mode(False), torch.set_grad_enabled(self.gradients):
            try:
                return self.function(
                    noisy.clone() if takes == "torch" else noisy.cpu().numpy().copy()
                )
            except RuntimeError as error:
                if self.gradients or not GRADIENT.search(str(error)):
                    raise
        self.gradients = True
        return self._call(noisy, takes)

    def _logits(self, answer: Any, images: int) -> Tensor:
        """(images, K) of what the function said: logits or votes. Problem if it is neither."""
        found = answer.detach() if isinstance(answer, Tensor) else self._tensor(answer)
        if (
            found is not None
            and found.shape == (images,)
            and not found.is_floating_point()
        ):
            self.labels = True
            return votes(found, self.num_classes, f"function {self.name}")
        fits = (
            found is not None
            and found.dim() == 2
            and len(found) == images
            and found.shape[1] >= 2
        )
        if found is None or not fits or found.is_complex():
            expected = f"expected logits ({images}, K), K >= 2, or labels ({images},), whole numbers"
            said = f"the function {self.name} answers {images} images with {described(answer)}; {expected}"
            raise WrongModel(said + _way_to_logits(answer, images))
        return found if found.dtype == torch.float64 else found.float()

    def _tensor(self, answer: Any) -> Tensor | None:
        """The numbers; None for what is no array of them."""
        try:
            array = np.array(answer)
        except ValueError:  # lists of different lengths
            return None
        return torch.from_numpy(array) if array.dtype.kind in "biuf" else None


def _way_to_logits(answer: Any, images: int) -> str:
    """What a function may give in place of this answer; empty where that is not known."""
    if isinstance(answer, Mapping | tuple) or hasattr(answer, "logits"):
        return ": let it return the logits alone"
    shape = tuple(getattr(answer, "shape", ()))
    if shape not in ((images,), (images, 1)):
        return ""
    columns = "two columns, of a probability p np.stack([1 - p, p], 1), of a logit z np.stack([0 * z, z], 1)"
    return f": for two classes let it return {columns}, p and z of shape ({images},); for labels .astype(int)"


class EstimatorModel(PythonModel):
    """A fitted classifier with scikit-learn's interface; the numbers of an input, such as pixels, are its features.

    Where it was fitted with a table, it gets one with the same columns in the same order, whatever their order in the
    data (see `for_columns`).

    It is asked by `predict`, whose labels count as votes: what other methods say may belong to another class. Classes
    are matched with the names of the data set's; whole numbers from 0, as numbers or texts, that are none of these
    names are labels. A class that the estimator was not fitted with is never its answer.

    Args:
        estimator: a classifier, fitted, or a pipeline or search that ends in one. A copy of it is taken.

    Attributes:
        names: of the classes that it was fitted with, in its own order.
        numbered: whether these are whole numbers from 0, which are labels.
        classes: the names of the K classes that its votes are for.
        feature_names: of the columns that it was fitted with; None where they had none.
        columns: those of the features that it is given, as `for_columns` was told; None: those of the fit.
        held: those of the columns that are codes of categories, as it was told.

    Raises:
        Problem: it is not fitted, or no classifier.

    Example:
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> model = EstimatorModel(KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 2]))
        >>> model.kind, model.num_classes, model.answer(torch.ones(1, 1, 1, 1))
        ('scikit-learn KNeighborsClassifier', 3, tensor([[0., 0., 1.]]))
    """

    num_classes: int
    labels = True

    def __init__(self, estimator: Any) -> None:
        self.name = type(estimator).__qualname__
        known = getattr(estimator, "classes_", None)
        if known is None or isinstance(known, list):  # a list: of several outputs
            raise WrongModel(
                f"the estimator {self.name} has no classes_: fit it for one output, estimator.fit(X, y)"
            )
        self.estimator, self.known = copy.deepcopy(estimator), np.asarray(known)
        numbers = _numbers(self.known)
        self.numbered = numbers is not None
        called = _plain(self.known) if numbers is None else numbers
        self.names = tuple(composed(str(each)) for each in called.tolist())
        self.places = np.arange(len(self.known)) if numbers is None else numbers
        self.num_classes = max(2, int(self.places.max()) + 1)
        self.classes = (
            tuple(map(str, range(self.num_classes))) if self.numbered else self.names
        )
        fitted_with = getattr(self.estimator, "feature_names_in_", None)
        self.feature_names = (
            None if fitted_with is None else tuple(map(str, fitted_with))
        )
        self.columns: tuple[str, ...] | None = None
        self.held: tuple[Categories, ...] = ()
        self.kind = f"scikit-learn {self.name}"
        hashed = _hash_of(self.estimator)
        self.unreadable = (
            ""
            if hashed
            else f"the estimator {self.name} does not say all that it holds"
        )
        self._hash = hashed or hashlib.sha256(self.name.encode()).hexdigest()

    @staticmethod
    def takes(model: object) -> bool:
        """Whether it has scikit-learn's interface; no package is imported for this."""
        return not isinstance(model, type) and all(
            hasattr(model, name) for name in ("get_params", "fit", "predict")
        )

    def weights_hash(self) -> str:
        """Of all that the estimator holds; of its name, where that cannot be read."""
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
        known = [composed(name) for name in self.feature_names]
        more = [name for name in columns if columns.count(name) > known.count(name)]
        if missing := [name for name in known if name not in columns]:
            said = f"{self.name} was fitted with the column {shown(repr(missing[0]))}, which the data lack"
            beside = (
                f"; they have {shown(', '.join(more))}, which it does not know"
                if more
                else ""
            )
            raise WrongModel(
                f"{said}{beside}: give the columns that it was fitted with"
            )
        if more:
            way = "leave it out, or keep one of several"
            raise WrongModel(
                f"{self.name} was not fitted with the column {shown(repr(more[0]))} of the data: {way}"
            )
        changed = copy.copy(self)
        changed.columns = tuple(columns)
        changed.held = tuple(held)
        return changed

    def answer(self, noisy: Tensor) -> Tensor:
        features = noisy.flatten(1).cpu().double().numpy()
        try:
            found = np.asarray(self.estimator.predict(self._as_fitted(features)))
        except Exception as error:  # an estimator may raise anything
            what = f"shape {tuple(noisy.shape[1:])}, which are {features.shape[1]} features"
            raise ModelFailed(
                f"the model refuses inputs of {what} ({shown(error)})"
            ) from error
        places = torch.from_numpy(self.places[np.searchsorted(self.known, found)])
        return votes(places, self.num_classes).to(noisy.device)

    def _as_fitted(self, features: NDArray[np.float64]) -> Any:
        """The features (B, d) as what the estimator was fitted with: an array, or a table in the order of the fit."""
        if self.feature_names is None:
            return features
        import pandas as pd  # here, since it takes long to load

        if self.columns is None:
            return pd.DataFrame(features, columns=self.feature_names)
        places = [self.columns.index(composed(name)) for name in self.feature_names]
        table = pd.DataFrame(features[:, places], columns=self.feature_names)
        for column in self.held:
            table.isetitem(
                places.index(column.place), column.decoded(features[:, column.place])
            )
        return table

    def _places_among(self, classes: Sequence[str]) -> NDArray[np.int64]:
        """The place among the data set's `classes` of each of the estimator's: by name, or else by number.

        Numbers are names, too, where the classes are called by numbers, such as 1 to 10.
        """
        places = {composed(name): place for place, name in enumerate(classes)}
        missing = [name for name in self.names if name not in places]
        if not missing:
            return np.array([places[name] for name in self.names], np.int64)
        if self.numbered and max(map(int, self.names)) < len(classes):
            return np.array([int(name) for name in self.names], np.int64)
        unknown = [name for name in places if name not in self.names]
        if unknown and not self.numbered:
            said = f"the data have the class {shown(repr(unknown[0]))}, which {self.name} was not fitted with"
            raise WrongModel(
                f"{said}: give the names that it knows, {shown(', '.join(self.names))}"
            )
        way = f"fit it with the names {shown(', '.join(classes))} of the data set, or 0 to {len(classes) - 1}"
        raise WrongModel(
            f"{self.name} was fitted with the class {shown(repr(missing[0]))}: {way}"
        )


def no_table(held: Sequence[Categories]) -> str:
    """What to do about columns of categories that a model does not take."""
    names = shown(", ".join(column.name for column in held))
    return f"encode or drop {names}, or give a scikit-learn pipeline that encodes them, fitted with a DataFrame"


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:
        """Arrays of several fields, such as the nodes of a tree, without the padding between them."""
        names = value.dtype.names if isinstance(value, np.ndarray) else None
        return (
            (tuple, ([(name, value[name]) for name in names],))  # type: ignore[index]
            if names
            else NotImplemented
        )


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


def _plain(known: np.ndarray) -> np.ndarray:
    """Classes as they are written, whole numbers without a point: -1.0 is the class -1."""
    whole = known.dtype.kind == "f" and bool((known == np.floor(known)).all())
    return known.astype(np.int64) if whole else known


def _numbers(known: np.ndarray) -> NDArray[np.int64] | None:
    """Classes that are whole numbers from 0, as numbers or as texts; None where they are others."""
    if known.dtype.kind in "UO" and all(
        isinstance(each, str) and each.isascii() and each.isdigit() for each in known
    ):
        return np.array([int(each) for each in known], np.int64)
    whole = known.dtype.kind in "biuf" and bool(
        (known >= 0).all() and (known == np.floor(known)).all()
    )
    return known.astype(np.int64) if whole else None
