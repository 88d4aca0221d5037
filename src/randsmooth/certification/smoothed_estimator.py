"""A scikit-learn classifier that trains another under noise, and certifies its answers."""

from __future__ import annotations

from typing import Any, Literal, Self, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from randsmooth.certificates import ABSTAIN, CertificationSettings
from randsmooth.certification.smoothed import Certified, SmoothedClassifier
from randsmooth.errors import BadValue, WrongData
from randsmooth.frozen_record import whole_number
from randsmooth.models import EstimatorModel
from randsmooth.noise import (
    Copies,
    Deviations,
    Noise,
    Stream,
    address_of,
    fresh_seed,
)

# The name of the streams that noise for training comes from. Those of certification have
# other names: under one seed, a model must not be trained on the noise that certifies it.
FIT = "fit"

# What `predict` answers for an abstention, among classes that are texts.
ABSTENTION_IN_WORDS = "abstained"

# Seeds that are drawn from a RandomState lie below this number.
SEEDS_OF_RANDOM_STATE = 2**31 - 1

Labels = NDArray[Any]
Floats = NDArray[np.float64]


class SmoothedEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn classifier, trained on noisy rows and smoothed by a vote.

    `fit` trains a clone of `estimator` on noisy copies of the rows. `predict` asks it about
    n0 + n other noisy copies of a row, and answers with the class that it names most often,
    or abstains. The class of the vote cannot change within the radius of `predict_radius`.

    Args:
        estimator: the base classifier: any classifier, or a pipeline that ends in one.
        sigma: the noise: "0.5std" is half of the standard deviation of each feature over
            the rows of `fit`, weighted as they are. A number is in the features' own unit.
        copies: how many noisy copies of a row `fit` trains on.
        n0: noisy copies that pick the class of a row.
        n: further copies, at most, that bound the probability of that class.
        alpha: the probability that the certificate of a row is wrong.
        rule: how many of the n copies are drawn, as in `CertificationSettings`.
        radius: the radius of `score`, in the unit of the noise.
        random_state: the seed of all noise. With None, `fit` and every prediction draw new
            noise, as they should where rows come from strangers. With an integer, all
            answers repeat. A RandomState gives another seed to each call. The base
            classifier keeps a random_state of its own.

    Attributes:
        classes_: (K,) the classes, sorted.
        abstention_: the label that `predict` gives where the vote is too close. It is none
            of the classes, so no score counts it as right: -1, the integer below the least
            class if -1 is a class, or "abstained" among texts.
        estimator_: the base classifier, fitted on noisy rows.
        noise_: the noise of the training and of the vote.

    There is no `predict_proba`: shares of votes say how sure the vote is, not how probable
    a class is. `SmoothedClassifier(fitted.estimator_, noise=fitted.noise_)` has the votes.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.linear_model import LogisticRegression
        >>> rows, classes = load_wine(return_X_y=True)
        >>> base = LogisticRegression(max_iter=5000)
        >>> smoothed = SmoothedEstimator(base, sigma="0.5std", random_state=0)
        >>> smoothed = smoothed.fit(rows, classes)
        >>> smoothed.predict(rows[:2]), smoothed.predict_radius(rows[:2]) > 0.5
        (array([0, 0]), array([ True,  True]))
    """

    def __init__(
        self,
        estimator: Any,
        *,
        sigma: float | str = "0.5std",
        copies: int = 10,
        n0: int = 100,
        n: int = 1000,
        alpha: float = 0.001,
        rule: str = "fixed",
        radius: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        # scikit-learn clones and searches over arguments, so they stay as they were given.
        self.estimator = estimator
        self.sigma = sigma
        self.copies = copies
        self.n0 = n0
        self.n = n
        self.alpha = alpha
        self.rule = rule
        self.radius = radius
        self.random_state = random_state

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit a clone of the base classifier to noisy copies of the rows.

        Equal rows get equal copies, wherever they stand. So a row of weight 2 counts as two
        rows.

        Args:
            X: (N, d) rows of numbers. With a DataFrame, the base classifier gets a
                DataFrame with the same columns.
            y: (N,) classes: numbers or texts.
            sample_weight: (N,) weights of the rows, given to the base classifier for each
                copy.

        Raises:
            ValueError: a setting, the rows or the classes cannot be used, or there are
                weights and the base classifier takes none.
        """
        rows, y = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise WrongData(
                f"y holds one class, {self.classes_[0]!r}; expected two or more"
            )
        copies = int(whole_number(self.copies))
        if copies < 1:
            raise BadValue(
                field="copies", value=self.copies, expected="must be 1 or more"
            )
        if not self.radius >= 0.0:
            raise BadValue(
                field="radius", value=self.radius, expected="must be 0 or more"
            )

        weights = None
        if sample_weight is not None:
            weights = column_or_1d(sample_weight).astype(np.float64)
            check_consistent_length(rows, weights)
            if not weights.sum() > 0.0:
                raise BadValue(
                    "the weights of the rows sum to zero or less", field="sample_weight"
                )
        self.abstention_ = _no_class_of(self.classes_)
        self.noise_ = self._noise_for(rows, weights)
        seed = self._seed()
        if seed is None:
            seed = fresh_seed()

        noisy = _noisy_copies(self.noise_, rows, copies, seed)
        of_copies = {}
        if weights is not None:
            name = _name_of_weights(self.estimator)
            of_copies[name] = np.repeat(weights, copies)
        self.estimator_ = clone(self.estimator).fit(
            self._as_given(noisy), np.repeat(y, copies), **of_copies
        )
        return self

    @overload
    def predict(
        self, X: ArrayLike, return_radius: Literal[False] = False
    ) -> Labels: ...

    @overload
    def predict(
        self, X: ArrayLike, return_radius: Literal[True]
    ) -> tuple[Labels, Floats]: ...

    def predict(
        self, X: ArrayLike, return_radius: bool = False
    ) -> Labels | tuple[Labels, Floats]:
        """Return the class of the vote on each row, or `abstention_`.

        Args:
            X: (B, d) rows like those of the fit.
            return_radius: whether to return the certified radii of these answers too, from
                the same noisy copies.

        Returns:
            (B,) labels; with `return_radius`, also (B,) radii.

        Raises:
            ValueError: the rows cannot be used, or this is not fitted.
        """
        certified = self._certify(X)
        labels = np.append(self.classes_, self.abstention_)
        # ABSTAIN is -1, the index of the last label.
        answers = labels[certified.predict]
        if return_radius:
            return answers, certified.radius
        return answers

    def predict_radius(self, X: ArrayLike) -> Floats:
        """Return (B,) the certified radius of each row, 0 where the vote abstains.

        It is in the unit of the noise: standard deviations of each feature under "0.5std",
        else L2 in the features' own unit. Within it, the class of the vote cannot change,
        with probability at least 1 - alpha for each row. With random_state None, the class
        is that of the same call alone: `predict(X, return_radius=True)` returns both.
        """
        return self._certify(X).radius

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return certified accuracy at `radius`.

        It is the share of rows whose answer is right and cannot change within that radius.
        An abstention is never right. With a radius of 0, it is the accuracy of `predict`.
        """
        check_consistent_length(X, y, sample_weight)
        labels, radii = self.predict(X, return_radius=True)
        certified = (labels == column_or_1d(y)) & (radii >= self.radius)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return float(np.average(certified, weights=weights))

    def _settings(self) -> CertificationSettings:
        """Return the settings of the certificates, but for the seed, once checked."""
        return CertificationSettings(
            sigma=self.sigma, n0=self.n0, n=self.n, alpha=self.alpha, rule=self.rule
        )

    def _noise_for(self, rows: NDArray[np.float32], weights: Floats | None) -> Noise:
        """Return the noise that `sigma` means for these rows (N, d)."""
        settings = self._settings()
        if not isinstance(settings.noise, Deviations):
            return settings.known_noise()
        values = rows.astype(np.float64)
        mean = np.average(values, axis=0, weights=weights)
        variance = np.average((values - mean) ** 2, axis=0, weights=weights)
        return settings.noise.noise_for(np.sqrt(variance))

    def _seed(self) -> int | None:
        """Return the seed of one call; None where `random_state` is None."""
        if self.random_state is None:
            return None
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        generator = check_random_state(self.random_state)
        return int(generator.randint(SEEDS_OF_RANDOM_STATE))

    def _as_given(self, noisy: Floats) -> Any:
        """Return rows as the base classifier is to see them: a table, if X was one."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return noisy
        # pandas takes long to load.
        import pandas as pd

        return pd.DataFrame(noisy, columns=names)

    def _certify(self, X: ArrayLike) -> Certified:
        """Return the certificates of rows (B, d)."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float32, reset=False)
        model = EstimatorModel(self.estimator_)
        settings = self._settings().replace(noise=self.noise_, seed=self._seed())
        # Votes are counted for the classes of the fit, in their order.
        smoothed = SmoothedClassifier(model.for_classes(model.names), settings)
        return smoothed.certify(torch.from_numpy(rows))


def _noisy_copies(
    noise: Noise, rows: NDArray[np.float32], copies: int, seed: int
) -> Floats:
    """Return (N * copies, d): noisy copies of each row, one row after the other.

    The copies of a row depend on the seed and on its numbers, and not on other rows.
    """
    x = torch.from_numpy(rows)
    stream = Stream(seed, FIT)
    groups = [Copies(row, stream.at(address_of(row)), copies) for row in x]
    noisy = torch.empty(len(x) * copies, x.shape[1])
    noise.draw_together(noisy, groups)
    return noisy.double().numpy()


def _no_class_of(classes: Labels) -> Any:
    """Return a label for abstentions, which is none of the `classes`.

    Example:
        >>> _no_class_of(np.array([0, 1])), _no_class_of(np.array([-1, 1]))
        (-1, -2)
        >>> _no_class_of(np.array(["cat", "dog"]))
        'abstained'
    """
    if classes.dtype.kind in "biuf":
        return int(classes.min()) - 1 if ABSTAIN in classes else ABSTAIN
    label = ABSTENTION_IN_WORDS
    while label in classes:
        label += "_"
    return label


def _name_of_weights(estimator: Any) -> str:
    """Return the name by which `fit` of an estimator takes the weights of rows.

    A pipeline hands them to its last step under the name of that step.

    Raises:
        BadValue: it takes none.
    """
    prefix = ""
    last = estimator
    while hasattr(last, "steps"):
        step, last = last.steps[-1]
        prefix += f"{step}__"
    if not has_fit_parameter(last, "sample_weight"):
        raise BadValue(
            f"the estimator {type(last).__qualname__} takes no weights of rows",
            field="sample_weight",
            fix="leave them out",
        )
    return f"{prefix}sample_weight"
