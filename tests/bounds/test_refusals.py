"""What no bound can be asked: refused by a sentence that names the value."""

import math

import numpy as np

from models.refusing import check_refusals
from randsmooth import bounds
from randsmooth.bounds import looks
from randsmooth.errors import BadValue, TooFewSamples
from values import Refusal

FEW = looks(96)
REFUSED = [
    (lambda: bounds.lower(1, 2, 0.0), Refusal(BadValue, "alpha=0.0", field="alpha")),
    (lambda: bounds.lower(3, 2, 0.1), Refusal(BadValue, "k=3", "n=2")),
    (lambda: bounds.lower(0, 0, 0.1), Refusal(BadValue, "n=0")),
    *(
        (
            lambda u=u: bounds.randomised_q_upper(50, 100, 0.01, u),
            Refusal(BadValue),
        )
        for u in (0.0, 1.0, -0.1)
    ),
    # Counts of all classes.
    (lambda: bounds.two_sided_bounds([5, 5], [0], 0.05), Refusal(BadValue, "(2,)")),
    (
        lambda: bounds.two_sided_bounds([[5, 5], [6, 4]], [0, 2], 0.05),
        Refusal(BadValue, "0..1"),
    ),
    (lambda: bounds.pairwise_bounds([[5, 5]], [-1], 0.05), Refusal(BadValue)),
    (lambda: bounds.two_sided_bounds([[5, -5]], [0], 0.05), Refusal(BadValue, "-5")),
    *(
        (
            lambda k=k: bounds.top_k_bounds([[5, 3, 2]], [0], k, 0.05),
            Refusal(BadValue, f"k={k}", "1..2", field="k"),
        )
        for k in (0, -1, 3)
    ),
    # Looks and boundaries.
    *(
        (lambda cap=cap: looks(cap), Refusal(BadValue, f"cap={cap!r}", field="cap"))
        for cap in (0, -5, 1e5, True)
    ),
    *(
        (
            lambda n=n: bounds.boundary(0.5, n, 0.05),
            Refusal(BadValue, "looks=", field="looks"),
        )
        for n in ([], [[1, 2]], [1.0, 2.0], [0, 2], [10, 10])
    ),
    (
        lambda: bounds.boundary(0.5, np.array([5, 3], np.uint64), 0.05),
        Refusal(BadValue, "[5, 3]", field="looks"),
    ),
    *(
        (
            lambda q=q: bounds.boundary(q, FEW, 0.05),
            Refusal(BadValue, f"q0={q!r}", field="q0"),
        )
        for q in (0.0, 1.0, math.nan, "a")
    ),
    (
        lambda: bounds.boundary(0.5, FEW, 1e-16),
        Refusal(BadValue, "alpha=1e-16", field="alpha"),
    ),
    (lambda: bounds.crossing_probability([3], [4, 8], 0.5), Refusal(BadValue)),
    (lambda: bounds.any_class_boundary(0.7, FEW, 0.05), Refusal(BadValue, "near 1/2")),
    (
        lambda: bounds.claims_by_deadline(0.5, FEW, 0.05, 0),
        Refusal(BadValue, "deadline=0", field="deadline"),
    ),
    # The e-process.
    (lambda: bounds.log_e(3, 2, 0.5), Refusal(BadValue, "k=3", "n=2")),
    *(
        (lambda q=q: bounds.log_e(1, 2, q), Refusal(BadValue))
        for q in (0.0, 1.0, math.nan)
    ),
    # Means.
    (lambda: bounds.hoeffding_lower(1.5, 10, 0.1), Refusal(BadValue, "mean=1.5")),
    (
        lambda: bounds.bernstein_lower([0.5, math.nan], 0.1, 10, 0.1),
        Refusal(BadValue, "mean=nan"),
    ),
    (lambda: bounds.bernstein_lower(0.5, 0.1, 1, 0.1), Refusal(TooFewSamples, "n=1")),
    (
        lambda: bounds.bernstein_lower([0.5, 0.9], [0.2, 0.3], 100, 0.1),
        Refusal(BadValue, "variance=0.3"),
    ),
    (lambda: bounds.sample_variance(0.5, 0.5, 1), Refusal(TooFewSamples, "n=1")),
    (lambda: bounds.betting_lower([0.5, 1.5], 0.1), Refusal(BadValue, "value=1.5")),
    (lambda: bounds.betting_lower([], 0.1), Refusal(BadValue)),
    (
        lambda: bounds.finite_mean_interval([0.5, 1.5], 10, 0.1),
        Refusal(BadValue, "number=1.5"),
    ),
    (
        lambda: bounds.finite_mean_interval([0.5] * 3, 2, 0.1),
        Refusal(BadValue, "total=2"),
    ),
    # Thresholds that have a price.
    (
        lambda: bounds.give_up_by_price([[24, 42]], [32, 64], 0.0),
        Refusal(BadValue, "price=0.0", field="price"),
    ),
    (
        lambda: bounds.give_up_by_price([[24, 42, 57]], [32, 64], 0.01),
        Refusal(BadValue, "2 looks"),
    ),
    # Finitely many things.
    (lambda: bounds.finite_share_interval(5, 4, 9, 0.1), Refusal(BadValue)),
    (lambda: bounds.enough_drawn(10, -1, 0.1), Refusal(BadValue, "width=-1")),
    *(
        (
            lambda rho=rho: bounds.assured_accuracy(5, 10, 0.1, rho),
            Refusal(BadValue, f"rho={rho}", field="rho"),
        )
        for rho in (1.0, math.nan)
    ),
]


def test_what_cannot_be_asked_is_refused_by_its_value() -> None:
    check_refusals(REFUSED)
