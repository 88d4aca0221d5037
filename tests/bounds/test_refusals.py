"""What no bound can be asked: refused by a sentence that names the value."""

import math

import numpy as np

from models.refusing import check_refusals
from randsmooth import bounds
from randsmooth.bounds import looks

FEW = looks(96)
REFUSED = [
    (lambda: bounds.lower(1, 2, 0.0), "alpha=0.0"),
    (lambda: bounds.lower(3, 2, 0.1), "k=3 of n=2"),
    (lambda: bounds.lower(0, 0, 0.1), "n=0"),
    *(
        (
            lambda u=u: bounds.randomised_q_upper(50, 100, 0.01, u),
            "strictly between 0 and 1",
        )
        for u in (0.0, 1.0, -0.1)
    ),
    # Counts of all classes.
    (lambda: bounds.two_sided_bounds([5, 5], [0], 0.05), "(2,)"),
    (
        lambda: bounds.two_sided_bounds([[5, 5], [6, 4]], [0, 2], 0.05),
        "class 2 must lie in 0..1",
    ),
    (lambda: bounds.pairwise_bounds([[5, 5]], [-1], 0.05), "abstained"),
    (lambda: bounds.two_sided_bounds([[5, -5]], [0], 0.05), "-5"),
    *(
        (
            lambda k=k: bounds.top_k_bounds([[5, 3, 2]], [0], k, 0.05),
            f"k={k} must lie in 1..2",
        )
        for k in (0, -1, 3)
    ),
    # Looks and boundaries.
    *((lambda cap=cap: looks(cap), f"cap={cap!r}") for cap in (0, -5, 1e5, True)),
    *(
        (lambda n=n: bounds.boundary(0.5, n, 0.05), "looks=")
        for n in ([], [[1, 2]], [1.0, 2.0], [0, 2], [10, 10])
    ),
    (lambda: bounds.boundary(0.5, np.array([5, 3], np.uint64), 0.05), "[5, 3]"),
    *(
        (lambda q=q: bounds.boundary(q, FEW, 0.05), f"q0={q!r}")
        for q in (0.0, 1.0, math.nan, "a")
    ),
    (lambda: bounds.boundary(0.5, FEW, 1e-16), "alpha=1e-16"),
    (lambda: bounds.crossing_probability([3], [4, 8], 0.5), "1 claims for 2 looks"),
    (lambda: bounds.any_class_boundary(0.7, FEW, 0.05), "near 1/2"),
    (lambda: bounds.claims_by_deadline(0.5, FEW, 0.05, 0), "deadline=0 must lie"),
    # The e-process.
    (lambda: bounds.log_e(3, 2, 0.5), "k=3 of n=2"),
    *((lambda q=q: bounds.log_e(1, 2, q), "q0 must") for q in (0.0, 1.0, math.nan)),
    # Means.
    (lambda: bounds.hoeffding_lower(1.5, 10, 0.1), "mean=1.5"),
    (lambda: bounds.bernstein_lower([0.5, math.nan], 0.1, 10, 0.1), "mean=nan"),
    (lambda: bounds.bernstein_lower(0.5, 0.1, 1, 0.1), "n=1"),
    (lambda: bounds.bernstein_lower([0.5, 0.9], [0.2, 0.3], 100, 0.1), "variance=0.3"),
    (lambda: bounds.sample_variance(0.5, 0.5, 1), "n=1"),
    (lambda: bounds.betting_lower([0.5, 1.5], 0.1), "value=1.5"),
    (lambda: bounds.betting_lower([], 0.1), "at least one"),
    (lambda: bounds.finite_mean_interval([0.5, 1.5], 10, 0.1), "number=1.5"),
    (lambda: bounds.finite_mean_interval([0.5] * 3, 2, 0.1), "total=2"),
    # Finitely many things.
    (lambda: bounds.finite_share_interval(5, 4, 9, 0.1), "each must be at most"),
    (lambda: bounds.enough_drawn(10, -1, 0.1), "width=-1"),
    *(
        (lambda rho=rho: bounds.assured_accuracy(5, 10, 0.1, rho), f"rho={rho}")
        for rho in (1.0, math.nan)
    ),
]


def test_what_cannot_be_asked_is_refused_by_its_value() -> None:
    check_refusals(REFUSED)
