"""What the papers prove or draw from formulas alone: no network, no certificates.

The last part is MACER's proposition 1: the hinge keeps the derivative of the certified
radius bounded (Zhai et al. 2020). Where p_1 >= p_2 >= ... >= p_K >= 0 sum to 1, the
derivative of min(xi, gamma), xi = Phi^-1(p_1) - Phi^-1(p_2), by p_1 and by p_2 is
bounded. It is 1 / phi(Phi^-1(p)) where xi <= gamma, and 0 beyond. All is computed in
q_1 = 1 - p_1, because near 1 a float of p_1 has too few digits.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from randsmooth import bounds
from randsmooth.noise import Gaussian
from randsmooth.papers.output import (
    ONLY_PART,
    Output,
    figure_output,
    numbers,
    table_output,
)
from randsmooth.report import Axes, Line

Floats = NDArray[np.float64]

# What the papers certify with.
N = 100_000
ALPHA = 0.001
# The noises by which Amplify weights an image, and the p_A whose weight is 1 (Sun et al.
# 2025, section 5.2).
REWEIGHTING_NOISES = 16
P_MIN = 0.75

# A mean over counts leaves out counts that are farther from n p than the first number of
# standard deviations, each of at most sqrt(n) / 2, plus the second number of counts. All
# counts that are left out have a probability below 1e-15 together.
COUNTED_DEVIATIONS = 12.0
COUNTED_BEYOND_DEVIATIONS = 40.0


def expected_radius(
    p_a: ArrayLike, n: int = N, alpha: float = ALPHA, sigma: float = 1.0
) -> Floats:
    """Return E[r(k)], the mean radius that n samples certify for an image with p_A.

    Of the samples, k ~ Bin(n, p_A) are of class A. The answer has the shape of `p_a`.
    Source: Sun et al. 2025, figure 2 (a).
    """
    return _mean_over_counts(_radii(n, alpha, sigma), n, p_a)


def radius_slope(
    p_a: ArrayLike, n: int = N, alpha: float = ALPHA, sigma: float = 1.0
) -> Floats:
    """Return the derivative of `expected_radius` by p_A.

    It is n E[r(j + 1) - r(j)] with j ~ Bin(n - 1, p_A), of the shape of `p_a`. It stays
    finite up to p_A = 1, where it is n (r(n) - r(n - 1)). Source: Sun et al. 2025,
    figure 2 (b).
    """
    return n * _mean_over_counts(np.diff(_radii(n, alpha, sigma)), n - 1, p_a)


# It takes half a second for n = 100,000; callers only read the array.
@lru_cache(maxsize=8)
def _radii(n: int, alpha: float, sigma: float) -> Floats:
    """Return the (n + 1,) radii that 0, 1, ..., n successes among n samples certify."""
    return Gaussian(sigma).radius(bounds.q_upper(np.arange(n + 1), n, alpha))


def _mean_over_counts(values: Floats, n: int, p_a: ArrayLike) -> Floats:
    """Return E[values[k]], k ~ Bin(n, p), for each p of `p_a`, in the shape of `p_a`.

    Args:
        values: (n + 1,) a value for each count k = 0, 1, ..., n.
        n: the number of samples.
        p_a: one probability or an array of them.
    """
    p_a = np.asarray(p_a, np.float64)
    means = [_mean_for_one_p(values, n, float(p)) for p in p_a.ravel()]
    return np.array(means).reshape(p_a.shape)


def _mean_for_one_p(values: Floats, n: int, p: float) -> float:
    """Return E[values[k]], k ~ Bin(n, p), for a single p.

    Args:
        values: (n + 1,) a value for each count k = 0, 1, ..., n.
    """
    reach = COUNTED_DEVIATIONS * math.sqrt(n) / 2.0 + COUNTED_BEYOND_DEVIATIONS
    fewest = max(0, math.floor(n * p - reach))
    most = min(n, math.ceil(n * p + reach))
    k = np.arange(fewest, most + 1)
    return float(stats.binom.pmf(k, n, p) @ values[k])


def figure_2() -> Output:
    """Draw the certified radius, and its slope, against p_A (Sun et al. 2025, figure 2).

    Sigma is 1. Both are drawn at the paper's n and in the limit of many samples, where
    p_A is known and r = Phi^-1(p_A). The slopes are drawn once more on a scale that
    shows how far they are apart near p_A = 1.
    """
    # Near p_A = 1 the points come closer and closer, as q = 1 - p_A is divided.
    down_to_1_percent = np.linspace(0.5, 0.01, 400)
    near_0 = np.geomspace(0.01, 1e-7, 250)[1:]
    q = np.concatenate((down_to_1_percent, near_0))
    p = 1.0 - q

    at_n = f"n = {N:,}, alpha = {ALPHA:g}: mean over the counts"
    in_the_limit = "p_A known (limit of many samples)"
    # A noise takes the radius from an upper bound on 1 - p_A.
    radii = (
        Line(at_n, p, expected_radius(p)),
        Line(in_the_limit, p, Gaussian(1.0).radius(1.0 - p), dashed=True),
    )
    slopes = (
        Line(at_n, p, radius_slope(p)),
        Line(in_the_limit, p, slope(p), dashed=True),
    )
    slopes_by_q = tuple(replace(line, x=q) for line in slopes)
    panels = [
        Axes("Certified radius", "p_A", "r", radii),
        Axes("Its slope", "p_A", "dr / dp_A", slopes, log=True),
        Axes(
            "Its slope near p_A = 1",
            "1 - p_A",
            "dr / dp_A",
            slopes_by_q,
            log=True,
            log_x=True,
        ),
    ]
    return figure_output(panels)


def budget_for_acr(
    acr: float, classes: int, sigma: float, alpha: float = ALPHA
) -> float:
    """Return the number of samples at which a constant classifier has an ACR above `acr`.

    N = ceil(log alpha / log Phi(M K / sigma)) + 1 with M = `acr`. The classifier always
    gives the most common of K classes. It is right on at least 1 / K of the images. All
    noisy copies get its class, so that each radius is sigma Phi^-1(alpha^(1/N)).

    Returns:
        A whole number; infinity where 1 - Phi(M K / sigma) is too small for float64
        (M K above 38 sigma).

    Source: Sun et al. 2025, theorem 1, which prints the ratio upside down.
    """
    # 1 - Phi(M K / sigma), which keeps the digits that Phi loses near 1.
    tail = float(special.ndtr(-acr * classes / sigma))
    if tail == 0.0:
        return math.inf
    return math.ceil(math.log(alpha) / math.log1p(-tail)) + 1.0


def theorem_1() -> Output:
    """Print the budget that theorem 1 gives for each of several ACRs.

    Beside each budget stands the ACR that a constant classifier has with it.
    """
    wanted = [0.1, 0.25, 0.3, 0.35]
    sigma = 0.5
    classes = 10
    budgets = [budget_for_acr(acr, classes, sigma) for acr in wanted]
    # The classifier is right on 1 / K of the images, each with the largest radius.
    reached = [
        1.0 / classes * Gaussian(sigma).largest_radius(int(n), ALPHA) for n in budgets
    ]
    columns = {
        "ACR wanted": wanted,
        "budget N": budgets,
        "ACR of a constant classifier": reached,
    }
    note = (
        "the constant classifier is right on one class in ten, "
        "and certified with N samples"
    )
    return table_output(pd.DataFrame(columns), note)


def theorem_2(dimension: int = 3072, sigma: float = 0.5, seed: int = 0) -> Output:
    """Print the log densities under N(0, sigma^2 I) of five points with the same norm.

    The densities are equal (Sun et al. 2025, theorem 2).

    Args:
        dimension: the number of coordinates of a point; by default that of CIFAR-10.
        seed: the seed of the directions of the points.
    """
    points = np.random.default_rng(seed).normal(size=(5, dimension))
    # N(0, sigma^2 I) in d dimensions is mostly about this far from 0.
    common_norm = sigma * math.sqrt(dimension)
    points *= common_norm / np.linalg.norm(points, axis=1, keepdims=True)
    exponent = -0.5 * (points**2).sum(axis=1) / sigma**2
    log_scale = 0.5 * dimension * math.log(2.0 * math.pi * sigma**2)
    columns = {
        "point": np.arange(1, 6),
        "norm": np.linalg.norm(points, axis=1),
        "log density": exponent - log_scale,
    }
    return table_output(pd.DataFrame(columns))


def figure_4() -> Output:
    """Draw radius and sampling weights relative to p_A = 0.75, in both forms of weights.

    The paper's text says that the weights grow nearly linearly in p_A, which they do in
    the form "bound". Source: Sun et al. 2025, figure 4.
    """
    # Only this figure needs torch, which takes long to import.
    import torch

    from randsmooth import methods
    from randsmooth.methods.amplify import image_weights

    p = np.linspace(0.5, 1.0, 501)
    relative = expected_radius(p) / expected_radius(P_MIN)
    counts = torch.arange(REWEIGHTING_NOISES // 2, REWEIGHTING_NOISES + 1)
    shares = counts.numpy() / REWEIGHTING_NOISES
    lines = [Line("certified radius", p, relative)]
    for form in ("bound", "literal"):
        # `create` promises some method; this name makes an Amplify.
        method: Any = methods.create("amplify", weight=form)
        lines.append(
            Line(
                f"sampling weight, {form}",
                shares,
                image_weights(method, counts).numpy(),
                "points",
                dashed=form == "literal",
            )
        )
    note = (
        "weight=bound divides by the radius that 12 of 16 noises certify, "
        "weight=literal by Phi^-1(0.75)"
    )
    y = "multiple of the value at p_A = 0.75"
    return figure_output([Axes("Sampling weight", "p_A", y, lines)], note)


def lecuyer_radius(p_a: float, sigma: float = 1.0) -> float:
    """Return the radius that differential privacy certifies where p_B = 1 - p_A.

    It is the supremum over 0 < beta <= min(1, log(p_A / p_B) / 2) of
    sigma beta / sqrt(2 log(1.25 (1 + e^beta) / (p_A - e^(2 beta) p_B))). Source: Lecuyer
    et al. 2019, as Cohen et al. 2019 write it.
    """
    if p_a <= 0.5:
        return 0.0
    p_b = 1.0 - p_a
    largest_beta = 1.0
    if p_b > 0.0:
        largest_beta = min(1.0, 0.5 * math.log(p_a / p_b))

    def radius(beta: float) -> float:
        margin = p_a - math.exp(2.0 * beta) * p_b
        if margin <= 0:
            return 0.0
        ratio = 1.25 * (1.0 + math.exp(beta)) / margin
        return sigma * beta / math.sqrt(2.0 * math.log(ratio))

    return _supremum(radius, low=0.0, high=largest_beta)


def li_radius(p_a: float, sigma: float = 1.0) -> float:
    """Return the radius that Renyi divergence certifies where p_B = 1 - p_A.

    It is the supremum over a > 1 of sigma sqrt(-2 / a log(1 - p_A - p_B + 2 M)), where
    M = ((p_A^(1-a) + p_B^(1-a)) / 2)^(1 / (1-a)). At p_A = 1 the radius is infinite.
    Source: Li et al. 2019, as Cohen et al. 2019 write it.
    """
    if p_a <= 0.5:
        return 0.0
    p_b = 1.0 - p_a
    if p_b == 0.0:
        return math.inf

    # The search runs over log(a - 1), on which a > 1 is an interval without ends.
    def radius(log_a_minus_1: float) -> float:
        a = 1.0 + math.exp(log_a_minus_1)
        log_sum = special.logsumexp((1.0 - a) * np.log([p_a, p_b]))
        log_mean = (log_sum - math.log(2.0)) / (1.0 - a)
        # 1 - p_A - p_B + 2 M, where the first three cancel out.
        inside = 2.0 * math.exp(log_mean)
        # It is at most 1, but for an error of floating point.
        return sigma * math.sqrt(max(0.0, -2.0 / a * math.log(inside)))

    return _supremum(radius, low=-8.0, high=8.0)


# The number of points of the grid on which a function's maximum is first looked for.
GRID_POINTS = 201
# The precision of the place of the maximum, as a share of the interval. An error of the
# place changes the value by the square of this only.
PRECISION_OF_PLACE = 1e-6


def _supremum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the largest value of a function that rises and then falls on [low, high].

    The best point of a grid is near the maximum. A search between the points beside it
    finds the rest.
    """
    # The grid has both ends: the maximum of Lecuyer's bound may lie beyond beta = 1.
    grid = np.linspace(low, high, GRID_POINTS)
    values = [function(float(t)) for t in grid]
    best = int(np.argmax(values))
    last = len(grid) - 1
    before = float(grid[max(0, best - 1)])
    after = float(grid[min(last, best + 1)])
    search = optimize.minimize_scalar(
        lambda t: -function(t),
        bounds=(before, after),
        method="bounded",
        options={"xatol": PRECISION_OF_PLACE * (high - low)},
    )
    # The search never tries its ends, where the best point of the grid may lie.
    return float(max(values[best], -search.fun))


def confidence_figure() -> Output:
    """Draw the radii that three guarantees certify, against the confidence p.

    Source: Jeong et al. 2023, figure 1.
    """
    # Near 1 the radii grow ever faster, so the points there come closer and closer.
    up_to_99_percent = np.linspace(0.5, 0.99, 99)
    near_1 = 1.0 - np.geomspace(0.01, 1e-4, 30)
    p = np.concatenate((up_to_99_percent, near_1))

    li = np.array([li_radius(float(confidence)) for confidence in p])
    lecuyer = np.array([lecuyer_radius(float(confidence)) for confidence in p])
    lines = (
        Line("Cohen et al. 2019", p, Gaussian(1.0).radius(1.0 - p)),
        Line("Li et al. 2019", p, li),
        Line("Lecuyer et al. 2019", p, lecuyer),
    )
    title = "L2 guarantees at sigma = 1"
    return figure_output([Axes(title, "confidence p", "certified radius", lines)])


# The numbers of classes K for which the bounds of MACER's proposition 1 are printed.
CLASSES = (2, 10, 1000)
# The gammas for which they are printed: those of table 12, 2, 4, ..., 16. The paper's
# models are trained with 8.
GAMMAS = tuple(float(gamma) for gamma in range(2, 18, 2))


def slope(p: ArrayLike) -> Floats:
    """Return 1 / phi(Phi^-1(p)), the derivative of Phi^-1, in the shape of `p`.

    It is the same at p and at 1 - p, and grows with the distance of p from 1/2.
    """
    return np.asarray(math.sqrt(2.0 * math.pi) * np.exp(0.5 * special.ndtri(p) ** 2))


def least_bounds(classes: int, gamma: float) -> tuple[float, float]:
    """Return the smallest bounds of the derivatives by p_1 and by p_2, in absolute value.

    No smaller ones hold, because some predictions have derivatives as large as these. A
    derivative is `slope(p)`, largest where p is farthest from 1/2 among the predictions
    with xi <= gamma:

    - p_1 is largest where the runner-up has all the rest and xi = 2 Phi^-1(p_1) = gamma,
      and smallest where all classes are equal, p_1 = 1 / K.
    - p_2 is smallest where K - 1 classes share the rest equally, p_2 = (1 - p_1) /
      (K - 1), and xi = gamma.
    """
    # |Phi^-1(p_1)| at the largest p_1 and at the smallest.
    z_at_largest = gamma / 2.0
    z_at_smallest = -float(special.ndtri(1.0 / classes))
    by_p_1 = slope(special.ndtr(-max(z_at_largest, z_at_smallest)))

    def xi_minus_gamma(log_p_2: float) -> float:
        p_2 = math.exp(log_p_2)
        # Phi^-1(p_1) = -Phi^-1(1 - p_1)
        xi = float(-special.ndtri((classes - 1) * p_2) - special.ndtri(p_2))
        return xi - gamma

    # At p_2 = e^-600, xi is above every gamma of interest. At the largest p_2, 1 / K, it
    # is 0.
    log_of_smallest_p_2 = optimize.brentq(
        xi_minus_gamma, a=-600.0, b=-math.log(classes), xtol=1e-12
    )
    by_p_2 = slope(math.exp(log_of_smallest_p_2))
    return float(by_p_1), float(by_p_2)


def bounds_of_the_proof(classes: int, gamma: float) -> tuple[float, float]:
    """Return the bounds of the derivatives by p_1 and by p_2 that appendix B proves.

    They follow from Phi^-1(p_1) <= gamma and p_1 >= 1 / K, and from
    p_2 >= (1 - Phi(gamma)) / (K - 1).
    """
    # 1 - Phi(gamma): p_1 is at most one minus this.
    tail = float(special.ndtr(-gamma))
    by_p_1 = float(max(slope(tail), slope(1.0 / classes)))
    by_p_2 = float(slope(tail / (classes - 1)))
    return by_p_1, by_p_2


def proposition_table() -> pd.DataFrame:
    """Return the smallest bounds, and those of appendix B, for several K and gamma."""
    lines = []
    for classes, gamma in product(CLASSES, GAMMAS):
        least_1, least_2 = least_bounds(classes, gamma)
        proof_1, proof_2 = bounds_of_the_proof(classes, gamma)
        lines.append(
            {
                "classes K": classes,
                "gamma": gamma,
                "by p_1: least bound": least_1,
                "by p_1: appendix B": proof_1,
                "by p_2: least bound": least_2,
                "by p_2: appendix B": proof_2,
            }
        )
    return pd.DataFrame(lines)


def proposition_panels(classes: int = 10) -> list[Axes]:
    """Draw the derivative by p_1 as p_1 goes to 1, with and without the hinge.

    A second panel has the bounds of both derivatives against gamma.

    Args:
        classes: the number of classes K in the second panel; the first has two classes.
    """
    q = np.geomspace(0.5, 1e-20, 400)
    lines = [Line("without the hinge", q, slope(q), dashed=True)]
    for gamma in (12.0, 8.0, 4.0):
        # With two classes xi = 2 Phi^-1(p_1), and Phi^-1(p_1) = -Phi^-1(q). Where xi
        # exceeds gamma the derivative is 0, which a logarithmic axis cannot show.
        below_hinge = q[-special.ndtri(q) <= gamma / 2.0]
        lines.append(Line(f"gamma = {gamma:g}", below_hinge, slope(below_hinge)))

    gammas = np.linspace(GAMMAS[0], GAMMAS[-1], 60)
    curves = []
    for name, bounds_of_both in (
        ("least bound", least_bounds),
        ("appendix B", bounds_of_the_proof),
    ):
        # (60, 2): for each gamma the bounds by p_1 and by p_2.
        values = np.array([bounds_of_both(classes, float(gamma)) for gamma in gammas])
        curves.append(Line(f"{name}, by p_1", gammas, values[:, 0]))
        curves.append(Line(f"{name}, by p_2", gammas, values[:, 1]))
    return [
        Axes(
            "Derivative by p_1, two classes",
            "1 - p_1",
            "derivative",
            tuple(lines),
            log=True,
            log_x=True,
        ),
        Axes(
            f"Its bounds, {classes} classes",
            "gamma",
            "bound of the derivative",
            tuple(curves),
            log=True,
        ),
    ]


def proposition_1() -> Output:
    """Print and draw the smallest bounds that hold beside those of the proof."""
    least_1, least_2 = least_bounds(classes=10, gamma=8.0)
    proof_1, proof_2 = bounds_of_the_proof(classes=10, gamma=8.0)
    of_table = table_output(
        proposition_table(),
        "with 10 classes and gamma = 8 the derivative by p_1 is at most "
        f"{least_1:,.0f}, by p_2 {least_2:,.0f}; "
        f"appendix B shows {proof_1:.1e} and {proof_2:.1e}",
        "appendix B also says p_2 <= 1 - Phi(gamma), which does not follow "
        "(p_1 = p_2 = 1/2) and is not needed",
    )
    panels = proposition_panels()
    return replace(
        of_table,
        data={**of_table.data, "figure": numbers(panels)},
        panels={ONLY_PART: panels},
    )
