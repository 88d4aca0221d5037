"""The scikit-learn estimator: scikit-learn's own checks, closed forms, and its searches."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import randsmooth as rs
from fresh import python

WINE = load_wine(as_frame=True)
ROWS, CLASSES = WINE.data, WINE.target
LINEAR = LogisticRegression()
SCALED = make_pipeline(StandardScaler(), LINEAR)

# Few copies, since scikit-learn's checks ask about tens of thousands of rows, and so little
# noise that few answers abstain.
CHECKED = rs.SmoothedEstimator(
    LINEAR,
    sigma="0.1std",
    copies=2,
    n0=1,
    n=20,
    alpha=0.01,
    random_state=0,
)


@parametrize_with_checks([CHECKED])  # type: ignore[untyped-decorator]
def test_it_passes_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def smoothed(base: Any = SCALED, **arguments: Any) -> rs.SmoothedEstimator:
    return rs.SmoothedEstimator(base, **{"n": 500, "random_state": 0} | arguments)


def test_no_radius_is_beyond_the_plane_of_a_linear_model() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 3)) * [1.0, 10.0, 100.0]
    classes = rows @ [1.0, 0.1, 0.01] > 0.0
    for sigma, in_deviations in (("0.5std", True), (5.0, False)):
        model = smoothed(sigma=sigma, alpha=1e-6, n=2000).fit(rows, classes)
        scaler, linear = (step for _, step in model.estimator_.steps)
        normal = linear.coef_[0] / scaler.scale_
        offset = linear.intercept_[0] - normal @ scaler.mean_
        unit = rows.std(axis=0) if in_deviations else np.ones(3)
        distance = np.abs(rows @ normal + offset) / np.linalg.norm(normal * unit)
        answers, radii = model.predict(rows, return_radius=True)
        assert (radii <= distance).all()
        # The largest radius that 2,000 samples prove is 2.5 standard deviations.
        within = distance < 2.0 * (0.5 if in_deviations else 5.0)
        assert np.median(radii[within] / distance[within]) > 0.7
        sure = answers != model.abstention_
        sides = rows @ normal + offset > 0.0
        assert (answers[sure] == sides[sure]).all()
        assert (radii[~sure] == 0.0).all()


def test_an_abstention_is_no_class_and_never_right() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 1))
    for names, abstention in (
        ([0, 1], -1),
        ([-1, 1], -2),
        ([False, True], -1),
        ([3, 70_000], -1),
        (["cat", "dog"], "abstained"),
        (["abstained", "dog"], "abstained_"),
        (np.array([1.0, 2.0]), -1),
    ):
        labels = np.asarray(names)[(rows[:, 0] > 0.0).astype(int)]
        # With noise of two deviations, votes near 0 are too close.
        model = smoothed(LINEAR, sigma="2std", n=30, alpha=0.01).fit(rows, labels)
        answers, radii = model.predict(rows, return_radius=True)
        assert model.abstention_ == abstention
        assert 0.0 < np.mean(answers == abstention) < 1.0
        assert model.score(rows, labels) == accuracy_score(labels, answers)
        right_at_one = np.mean((answers == labels) & (radii >= 1.0))
        assert model.set_params(radius=1.0).score(rows, labels) == right_at_one
        assert right_at_one < accuracy_score(labels, answers)
        at_zero = model.set_params(radius=0.0)
        assert at_zero.score(rows, labels, sample_weight=answers == labels) == 1.0


def test_a_search_takes_certified_accuracy_and_a_table_keeps_its_columns() -> None:
    x, x_test, y, y_test = train_test_split(
        ROWS, CLASSES, train_size=60, test_size=30, random_state=0
    )
    by_name = ColumnTransformer([("numbers", StandardScaler(), [*ROWS.columns])])
    base = make_pipeline(by_name, LogisticRegression())
    grid = {"sigma": ["0.01std", "0.5std"], "estimator__logisticregression__C": [1.0]}
    search = GridSearchCV(smoothed(base, n=60, radius=0.4), grid, cv=2).fit(x, y)
    # Noise of a hundredth proves no radius of 0.4.
    least, most = search.cv_results_["mean_test_score"]
    assert least == 0.0
    assert most > 0.6
    assert search.best_params_["sigma"] == "0.5std"
    assert search.score(x_test, y_test) > 0.6
    best = search.best_estimator_
    assert [*best.feature_names_in_] == [*ROWS.columns]
    with pytest.raises(ValueError, match="feature names"):
        best.predict(x_test[[*reversed(ROWS.columns)]])


def test_it_is_a_step_of_a_pipeline_and_a_clone_of_it_is_unfitted() -> None:
    names = WINE.target_names[CLASSES]
    pipeline = make_pipeline(StandardScaler(), smoothed(LogisticRegression(), n=100))
    pipeline.fit(ROWS, names)
    assert {*pipeline.predict(ROWS)} <= {*WINE.target_names, "abstained"}
    assert pipeline.score(ROWS, names) > 0.9
    copy = clone(pipeline[-1]).set_params(sigma=0.3, estimator__C=0.5)
    assert not hasattr(copy, "estimator_")
    assert (copy.sigma, copy.estimator.C) == (0.3, 0.5)
    assert pipeline[-1].estimator.C == 1.0


def test_equal_seeds_repeat_and_none_draws_anew() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 2))
    classes = rows[:, 0] > 0.0
    tree = DecisionTreeClassifier(random_state=0)

    def radii_twice(random_state: Any) -> list[list[float]]:
        model = smoothed(tree, n=60, random_state=random_state).fit(rows, classes)
        return [model.predict_radius(rows).tolist() for _ in range(2)]

    first, second = radii_twice(3)
    assert first == second == radii_twice(3)[0]
    for random_state in (None, np.random.RandomState(0)):
        first, second = radii_twice(random_state)
        assert first != second
    of_generator = radii_twice(np.random.RandomState(0))
    assert of_generator == radii_twice(np.random.RandomState(0))


def test_the_noise_that_trains_does_not_certify() -> None:
    """Certified under its own training noise, a nearest neighbour would know every copy."""
    rows = np.random.default_rng(0).normal(size=(40, 5))
    # No feature tells the class: under new noise a vote on it is often close.
    classes = np.arange(40) % 2
    model = smoothed(KNeighborsClassifier(1), sigma=3.0, copies=100).fit(rows, classes)
    assert model.score(rows, classes) < 0.7


def test_weights_reach_the_base_classifier() -> None:
    x, y = ROWS.to_numpy(), CLASSES.to_numpy()
    weights = (y < 2).astype(float)
    for base in (SCALED, DecisionTreeClassifier(random_state=0)):
        model = smoothed(base).fit(x, y, sample_weight=weights)
        assert 2 not in {*model.predict(x[y == 2])}
    refusing = smoothed(KNeighborsClassifier())
    with pytest.raises(rs.errors.BadValue) as caught:
        refusing.fit(x, y, sample_weight=weights)
    assert caught.value.field == "sample_weight"


@pytest.mark.parametrize(
    "arguments", [{"copies": 0}, {"radius": -1.0}, {"n": 5}, {"sigma": "half"}]
)
def test_settings_are_refused_by_fit(arguments: dict[str, Any]) -> None:
    model = smoothed(**arguments)
    with pytest.raises(rs.Problem):
        model.fit(ROWS, CLASSES)


def test_a_column_that_never_varies_has_no_deviation() -> None:
    constant = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0] * 4})
    with pytest.raises(rs.Problem):
        smoothed().fit(constant, [0, 0, 1, 1])


def test_scikit_learn_is_not_loaded_by_the_package() -> None:
    loaded = "import sys, randsmooth.certification; print('sklearn' in sys.modules)"
    assert python(loaded).strip() == "False"
