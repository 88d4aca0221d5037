"""Every metric takes plain columns in place of a table, through one door."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates, as_certificates, from_counts, from_radii
from randsmooth.errors import InputError

RADIUS, CORRECT = [0.0, 0.3, 0.8, 1.2, 0.5], [False, True, True, True, False]
OTHER = [0.0, 0.0, 0.9, 1.1, 0.4]
FACTS = {"sigma": 0.5, "n": 1000, "alpha": 0.001}
A = {"radius": RADIUS, "correct": CORRECT, **FACTS}
B = {"radius": OTHER, "correct": CORRECT, **FACTS}

# Public metric -> how it is called with two tables in either form.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "abstention": lambda a, b: metrics.abstention(a),
    "accuracy_area": lambda a, b: metrics.accuracy_area(a, 1.0),
    "accuracy_at": lambda a, b: metrics.accuracy_at(a, 0.5, n=100),
    "accuracy_curve": lambda a, b: metrics.accuracy_curve(a),
    "acr": lambda a, b: metrics.acr(a),
    "acr_at": lambda a, b: metrics.acr_at(a, n=100),
    "acr_difference": lambda a, b: metrics.acr_difference(a, b),
    "acr_waterfall": lambda a, b: metrics.acr_waterfall(a, b),
    "can_certify": lambda a, b: metrics.can_certify(a, 1.0),
    "certified": lambda a, b: metrics.certified(a, 0.5),
    "certified_accuracy": lambda a, b: metrics.certified_accuracy(a, 0.5),
    "certified_shares": lambda a, b: metrics.certified_shares(a, np.array([0.0, 0.5])),
    "chance_certified": lambda a, b: metrics.chance_certified(a, 0.5, n=100),
    "compare": lambda a, b: metrics.compare([(a, b)]),
    "contributions": lambda a, b: metrics.contributions(a),
    "differing_source": lambda a, b: metrics.differing_source(a, b),
    "envelope": lambda a, b: metrics.envelope([a, b]),
    "expected_radius": lambda a, b: metrics.expected_radius(a, n=100),
    "farthest": lambda a, b: metrics.farthest(a),
    "given_up": lambda a, b: metrics.given_up(a, b),
    "knows_abstention": lambda a, b: metrics.knows_abstention(a),
    "knows_accuracy": lambda a, b: metrics.knows_accuracy(a),
    "knows_p_a": lambda a, b: metrics.knows_p_a(a),
    "p_a": lambda a, b: metrics.p_a(a),
    "p_a_band": lambda a, b: metrics.p_a_band(a, [0.5, 0.9]),
    "p_a_curve": lambda a, b: metrics.p_a_curve(a, [0.5, 0.9]),
    "p_a_quantiles": lambda a, b: metrics.p_a_quantiles(a, [0.5]),
    "pair": lambda a, b: [table.radius for table in metrics.pair(a, b)],
    "paired_accuracy": lambda a, b: metrics.paired_accuracy(a, b, [0.5]),
    "require_same_images": lambda a, b: metrics.require_same_images(a, b),
    "summarise": lambda a, b: metrics.summarise(a),
    "usual_radii": lambda a, b: metrics.usual_radii([a, b]),
    "verdict": lambda a, b: metrics.verdict(a, b),
    "waterfall": lambda a, b: metrics.waterfall(a, b),
}
# What reads the looks of a rule needs a table: columns do not have them.
OF_EVIDENCE = {"left_open", "measured_accuracy", "sampled_accuracy", "to_resolve"}


def test_every_metric_of_a_table_is_tried_here() -> None:
    taking = set()
    for node in ast.parse((Path(metrics.__file__).parent / "__init__.pyi").read_text()).body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            value = getattr(metrics, alias.name)
            if inspect.isfunction(value) and "CertificatesLike" in str(inspect.signature(value)):
                taking.add(alias.name)
            elif inspect.isfunction(value) and alias.name not in OF_EVIDENCE:
                assert "Certificates" not in str(inspect.signature(value)).split("->")[0], alias.name
    assert taking == CALLS.keys()


def test_columns_mean_what_the_table_of_them_does() -> None:
    for call in CALLS.values():
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
    classes = {"radius": RADIUS, "label": [3, 4, 5, 6, 7], "predict": [-1, 4, 5, 6, 0], **FACTS}
    assert metrics.acr(classes) == metrics.acr(A)
    assert as_certificates({"radius": RADIUS, "correct": CORRECT, "label": [3, 4, 5, 6, 7]}).correct.tolist() == CORRECT


def test_counts_and_frames_are_columns_too() -> None:
    counts = {"counts": [[990, 10], [100, 900]], "picked": [0, 1], "label": [0, 0], "sigma": 0.5}
    assert metrics.p_a(counts).values.tolist() == [0.99, 0.1]
    table = from_counts(**counts)  # type: ignore[arg-type]
    assert metrics.acr(table.to_pandas()) == metrics.acr(table) == metrics.acr(counts)
    frame = pd.DataFrame({"radius": RADIUS, "correct": CORRECT, "remark": list("abcde")})
    assert metrics.acr(frame) == metrics.acr({"radius": RADIUS, "correct": CORRECT})


def test_two_sets_of_columns_are_about_the_same_images_unless_idx_says_otherwise() -> None:
    first, second = A | {"idx": [0, 2, 4, 6, 8]}, B | {"idx": [0, 1, 2, 3, 4]}
    with pytest.raises(InputError, match="not about the same images"):
        metrics.acr_difference(first, second)
    assert [table.idx.tolist() for table in metrics.pair(first, second)] == [[0, 2, 4]] * 2


def test_what_cannot_be_is_refused() -> None:
    for given, message in [
        ({"radii": RADIUS}, "unknown column 'radii': did you mean 'radius'"),
        ({"correct": CORRECT}, "radius is missing"),
        ({"radius": RADIUS, "correct": [True]}, "correct must hold True or False for each of 5 radii"),
        ({"radius": [0.5], "correct": [2]}, "correct must hold True or False"),
        ({"radius": [-0.5]}, "radius=-0.5"),
        ({"radius": ["half"]}, "is no array of certified radii"),
        ({"radius": [0.5], "idx": [0, 1]}, "idx has shape"),
        ({"counts": [[990, 10]], "picked": [0]}, "sigma is missing"),
    ]:
        with pytest.raises(InputError, match=message):
            metrics.acr(given)  # type: ignore[arg-type]


def test_a_table_is_taken_as_it_is() -> None:
    table = from_radii(RADIUS)
    assert as_certificates(table) is table and isinstance(table, Certificates)


def test_columns_without_a_name_are_called_this_table() -> None:
    bare = {"radius": RADIUS, "correct": CORRECT}
    with pytest.raises(InputError, match=r"^this table: p_A of a published log needs"):
        metrics.p_a(bare)
    with pytest.raises(InputError, match=r"^this table: another budget needs"):
        metrics.expected_radius(bare, 1000, 0.001)
