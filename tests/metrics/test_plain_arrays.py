"""Every metric takes plain columns in place of a table, through one door."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models.refusing import problem_of, refusal
from randsmooth import metrics
from randsmooth.certificates import as_certificates, from_counts, from_radii
from randsmooth.errors import BadValue, MissingValue, NotComparable, UnknownName
from values import Refusal

RADIUS, CORRECT = [0.0, 0.3, 0.8, 1.2, 0.5], [False, True, True, True, False]
OTHER = [0.0, 0.0, 0.9, 1.1, 0.4]
FACTS = {"sigma": 0.5, "n": 1000, "alpha": 0.001}
A = {"radius": RADIUS, "correct": CORRECT, **FACTS}
B = {"radius": OTHER, "correct": CORRECT, **FACTS}

CALLS: list[Callable[[Any, Any], Any]] = [
    *(
        lambda a, b, name=name: getattr(metrics, name)(a)
        for name in ("abstention", "accuracy_curve", "acr", "p_a")
    ),
    *(
        lambda a, b, name=name: getattr(metrics, name)(a)
        for name in ("waterfall", "farthest", "summarise")
    ),
    *(
        lambda a, b, name=name: getattr(metrics, name)(a, 0.5)
        for name in ("accuracy_area", "can_certify", "certified")
    ),
    *(
        lambda a, b, name=name: getattr(metrics, name)(a, n=100)
        for name in ("acr_at", "expected_radius")
    ),
    *(
        lambda a, b, name=name: getattr(metrics, name)(a, [0.5, 0.9])
        for name in ("p_a_band", "p_a_quantiles")
    ),
    *(
        lambda a, b, name=name: getattr(metrics, name)(a, b)
        for name in ("acr_difference", "given_up", "verdict")
    ),
    *(
        lambda a, b, name=name: getattr(metrics, name)(a, b)
        for name in ("differing_source", "waterfall")
    ),
    *(
        lambda a, b, name=name: getattr(metrics, name)([a, b])
        for name in ("envelope", "usual_radii")
    ),
    lambda a, b: metrics.accuracy_at(a, 0.5, n=100),
    lambda a, b: metrics.compare([(a, b)]),
    lambda a, b: [table.radius for table in metrics.pair(a, b)],
]


def test_columns_mean_what_the_table_of_them_does() -> None:
    for call in CALLS:
        tables = (as_certificates(A), as_certificates(B))
        said = repr(call(*tables))
        assert repr(call(A, B)) == said, call
        arrays = A | {"radius": np.array(RADIUS), "correct": np.array(CORRECT)}
        assert repr(call(arrays, tables[1])) == said, call


def test_radii_alone_are_those_of_right_images() -> None:
    assert metrics.acr(RADIUS) == metrics.acr(from_radii(RADIUS))
    assert metrics.certified_accuracy(np.array(RADIUS), 0.5).value == 0.6


def test_correct_or_label_and_predict_say_which_are_right() -> None:
    assert metrics.acr(A).value == pytest.approx((0.3 + 0.8 + 1.2) / 5)
    assert metrics.abstention(A).value == 0.2
    classes = {
        "radius": RADIUS,
        "label": [3, 4, 5, 6, 7],
        "predict": [-1, 4, 5, 6, 0],
        **FACTS,
    }
    assert metrics.acr(classes) == metrics.acr(A)
    assert (
        as_certificates(
            {"radius": RADIUS, "correct": CORRECT, "label": [3, 4, 5, 6, 7]}
        ).correct.tolist()
        == CORRECT
    )


def test_frames_are_columns_too() -> None:
    table = from_counts([[990, 10], [100, 900]], picked=[0, 1], label=[0, 0], sigma=0.5)
    Refusal(BadValue, "table.rows").check(
        problem_of(lambda: metrics.acr(table.to_pandas()))
    )  # its radii alone would mean less
    frame = pd.DataFrame(
        {"radius": RADIUS, "correct": CORRECT, "remark": list("abcde")}
    )
    assert metrics.acr(frame) == metrics.acr({"radius": RADIUS, "correct": CORRECT})


def test_two_sets_of_columns_are_about_the_same_images_unless_idx_says_otherwise() -> (
    None
):
    first, second = A | {"idx": [0, 2, 4, 6, 8]}, B | {"idx": [0, 1, 2, 3, 4]}
    Refusal(NotComparable).check(
        problem_of(lambda: metrics.acr_difference(first, second))
    )
    assert [table.idx.tolist() for table in metrics.pair(first, second)] == [
        [0, 2, 4]
    ] * 2


def test_what_cannot_be_is_refused() -> None:
    for given, message in [
        (
            {"radii": RADIUS},
            Refusal(UnknownName, "'radii'", "'radius'", field="column"),
        ),
        ({"correct": CORRECT}, Refusal(MissingValue)),
        (
            {"radius": RADIUS, "correct": [True]},
            Refusal(BadValue),
        ),
        ({"radius": [0.5], "correct": [2]}, Refusal(BadValue)),
        ({"radius": [-0.5]}, Refusal(BadValue, "radius=-0.5")),
        ({"radius": ["half"]}, Refusal(BadValue)),
        ({"radius": [0.5], "idx": [0, 1]}, Refusal(BadValue)),
    ]:
        message.check(problem_of(partial(metrics.acr, given)))  # type: ignore[arg-type]
    bare = {"radius": RADIUS, "correct": CORRECT}  # without a name
    assert refusal(lambda: metrics.p_a(bare)).startswith("this table: ")
    assert refusal(lambda: metrics.expected_radius(bare, 1000, 0.001)).startswith(
        "this table: "
    )
    assert as_certificates(table := from_radii(RADIUS)) is table
