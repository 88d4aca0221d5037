"""What the papers prove or draw from formulas alone: no network, no certificates.

The last part is MACER's proposition 1: the hinge keeps the derivative of the certified radius bounded (Zhai et al.
2020). Where p_1 >= p_2 >= ... >= p_K >= 0 sum to 1, the derivative of min(xi, gamma), xi = Phi^-1(p_1) - Phi^-1(p_2),
by p_1 and by p_2 is bounded. It is 1 / phi(Phi^-1(p)) where xi <= gamma, and 0 beyond. All is computed in
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
from randsmooth.papers.output import Output, figure_output, numbers, table_output
from randsmooth.report import Axes, Line

Floats = NDArray[np.float64]
N, ALPHA = 100_000, 0.001  # what the papers certify with
REWEIGHTING_NOISES, P_MIN = 16, 0.75  # Sun et al. 2025, section 5.2


def expected_radius(
    p_a: ArrayLike, n: int = N, alpha: float = ALPHA, sigma: float = 1.0
) -> Floats:
    """E[r(k)], the mean radius that n samples certify for an image with p_A, where k ~ Bin(n, p_A) are of class A.

    Of the shape of `p_a`. Source: Sun et al. 2025, figure 2 (a).
    """
    return _mean_over_counts(_radii(n, alpha, sigma), n, p_a)


def radius_slope(
    p_a: ArrayLike, n: int = N, alpha: float = ALPHA, sigma: float = 1.0
) -> Floats:
    """The derivative of `expected_radius` by p_A: n E[r(j + 1) - r(j)] with j ~ Bin(n - 1, p_A).

    Of the shape of `p_a`. Source: Sun et al. 2025, figure 2 (b). It stays finite up
    to p_A = 1, where it is n (r(n) - r(n - 1)).
    """
    return n * _mean_over_counts(np.diff(_radii(n, alpha, sigma)), n - 1, p_a)


@lru_cache(
    maxsize=8
)  # takes half a second for n = 100,000; callers only read the array
def _radii(n: int, alpha: float, sigma: float) -> Floats:
    """(n + 1,) the certified radius of 0, 1, ..., n successes of n."""
    return Gaussian(sigma).radius(bounds.q_upper(np.arange(n + 1), n, alpha))


def _mean_over_counts(values: Floats, n: int, p_a: ArrayLike) -> Floats:
    """E[values[k]] for k ~ Bin(n, p), `values` (n + 1,).

    Counts more than 12 standard deviations off are left out: together they weigh less than 1e-15.
    """
    p = np.asarray(p_a, np.float64)
    reach = 12.0 * math.sqrt(n) / 2.0 + 40.0

    def mean(q: float) -> float:
        k = np.arange(
            max(0, math.floor(n * q - reach)), min(n, math.ceil(n * q + reach)) + 1
        )
        return float(stats.binom.pmf(k, n, q) @ values[k])

    return np.array([mean(float(q)) for q in p.ravel()]).reshape(p.shape)


def figure_2() -> Output:
    """The certified radius, and how steeply it grows, against p_A at sigma 1 (Sun et al. 2025, figure 2).

    Both at the paper's n and in the limit of many samples, where p_A is known and r = Phi^-1(p_A). The slopes are drawn
    once more on a scale that shows how far they are apart near p_A = 1.
    """
    q = np.concatenate((np.linspace(0.5, 0.01, 400), np.geomspace(0.01, 1e-7, 250)[1:]))
    p, here, known = (
        1.0 - q,
        f"n = {N:,}, alpha = {ALPHA:g}: mean over the counts",
        "p_A known (limit of many samples)",
    )
    radii = (
        Line(here, p, expected_radius(p)),
        Line(known, p, Gaussian(1.0).radius(1.0 - p), dashed=True),
    )
    slopes = (Line(here, p, radius_slope(p)), Line(known, p, slope(p), dashed=True))
    close = tuple(replace(line, x=q) for line in slopes)
    panels = [
        Axes("Certified radius", "p_A", "r", radii),
        Axes("Its slope", "p_A", "dr / dp_A", slopes, log=True),
        Axes(
            "Its slope near p_A = 1",
            "1 - p_A",
            "dr / dp_A",
            close,
            log=True,
            log_x=True,
        ),
    ]
    return figure_output(panels)


def budget_for_acr(
    acr: float, classes: int, sigma: float, alpha: float = ALPHA
) -> float:
    """The number of samples at which always giving the most common of K classes yields an ACR above `acr`.

    N = ceil(log alpha / log Phi(M K / sigma)) + 1 with M = `acr`. That classifier is right on at least 1 / K of the
    images, and all noisy copies agree, so that their radius is sigma Phi^-1(alpha^(1/N)).

    Returns:
        A whole number; infinity where float64 cannot represent the tail (M K above 38 sigma).

    Source: Sun et al. 2025, theorem 1, which prints the ratio upside down.
    """
    tail = float(special.ndtr(-acr * classes / sigma))
    return (
        math.ceil(math.log(alpha) / math.log1p(-tail)) + 1.0 if tail > 0.0 else math.inf
    )


def theorem_1() -> Output:
    """For several ACRs: the budget that theorem 1 names, and the ACR that a constant classifier has with it."""
    wanted, sigma, classes = [0.1, 0.25, 0.3, 0.35], 0.5, 10
    budgets = [budget_for_acr(acr, classes, sigma) for acr in wanted]
    reached = [
        1.0 / classes * Gaussian(sigma).largest_radius(int(n), ALPHA) for n in budgets
    ]
    frame = pd.DataFrame(
        {
            "ACR wanted": wanted,
            "budget N": budgets,
            "ACR of a constant classifier": reached,
        }
    )
    return table_output(
        frame,
        "the constant classifier is right on one class in ten, and certified with N samples",
    )


def theorem_2(dimension: int = 3072, sigma: float = 0.5, seed: int = 0) -> Output:
    """Log density under N(0, sigma^2 I) of points of one norm: all equal (Sun et al. 2025, theorem 2)."""
    points = np.random.default_rng(seed).normal(size=(5, dimension))
    points *= (
        sigma * math.sqrt(dimension) / np.linalg.norm(points, axis=1, keepdims=True)
    )
    density = -0.5 * (points**2).sum(axis=1) / sigma**2 - 0.5 * dimension * math.log(
        2.0 * math.pi * sigma**2
    )
    norms = np.linalg.norm(points, axis=1)
    return table_output(
        pd.DataFrame({"point": np.arange(1, 6), "norm": norms, "log density": density})
    )


def figure_4() -> Output:
    """The radius over that at p_A = 0.75, and both forms of the sampling weight (Sun et al. 2025, figure 4).

    The paper's text says that the weights grow nearly linearly in p_A, which they do with "bound".
    """
    import torch

    from randsmooth import methods
    from randsmooth.methods.amplify import image_weights

    p = np.linspace(0.5, 1.0, 501)
    relative = expected_radius(p) / expected_radius(P_MIN)
    counts = torch.arange(REWEIGHTING_NOISES // 2, REWEIGHTING_NOISES + 1)
    weights = []
    for form in ("bound", "literal"):
        method: Any = methods.create("amplify", weight=form)
        drawn = (
            counts.numpy() / REWEIGHTING_NOISES,
            image_weights(method, counts).numpy(),
        )
        weights.append(
            Line(f"sampling weight, {form}", *drawn, "points", form == "literal")
        )
    lines = (Line("certified radius", p, relative), *weights)
    note = "weight=bound divides by the radius that 12 of 16 noises certify, weight=literal by Phi^-1(0.75)"
    return figure_output(
        [Axes("Sampling weight", "p_A", "multiple of the value at p_A = 0.75", lines)],
        note,
    )


def lecuyer_radius(p_a: float, sigma: float = 1.0) -> float:
    """Radius that differential privacy certifies, p_B = 1 - p_A (Lecuyer et al. 2019, as Cohen et al. 2019 write it).

    The supremum over 0 < beta <= min(1, log(p_A / p_B) / 2) of
    sigma beta / sqrt(2 log(1.25 (1 + e^beta) / (p_A - e^(2 beta) p_B))).
    """
    p_b = 1.0 - p_a
    if p_a <= 0.5:
        return 0.0
    most = min(1.0, 0.5 * math.log(p_a / p_b)) if p_b > 0.0 else 1.0

    def radius(beta: float) -> float:
        margin = p_a - math.exp(2.0 * beta) * p_b
        return (
            sigma
            * beta
            / math.sqrt(2.0 * math.log(1.25 * (1.0 + math.exp(beta)) / margin))
            if margin > 0
            else 0.0
        )

    return _supremum(radius, 0.0, most)


def li_radius(p_a: float, sigma: float = 1.0) -> float:
    """Radius that Renyi divergence certifies, p_B = 1 - p_A (Li et al. 2019, as Cohen et al. 2019 write it).

    The supremum over a > 1 of sigma sqrt(-2 / a log(1 - p_A - p_B + 2 ((p_A^(1-a) + p_B^(1-a)) / 2)^(1 / (1-a)))),
    which is infinite at p_A = 1.
    """
    p_b = 1.0 - p_a
    if p_a <= 0.5:
        return 0.0
    if p_b == 0.0:
        return math.inf

    def radius(log_a: float) -> float:
        a = 1.0 + math.exp(log_a)
        mean = (special.logsumexp((1.0 - a) * np.log([p_a, p_b])) - math.log(2.0)) / (
            1.0 - a
        )
        inside = 2.0 * math.exp(mean)
        return (
            sigma * math.sqrt(max(0.0, -2.0 / a * math.log(inside)))
            if inside > 0.0
            else 0.0
        )

    return _supremum(radius, -8.0, 8.0)


def _supremum(function: Callable[[float], float], low: float, high: float) -> float:
    """The largest value on [low, high] of a function with one hump, by a grid and a search around its best point."""
    grid = np.linspace(
        low, high, 201
    )  # both ends count: the hump of Lecuyer's bound may lie beyond beta = 1
    values = [function(float(t)) for t in grid]
    best = int(np.argmax(values))
    around = (float(grid[max(0, best - 1)]), float(grid[min(len(grid) - 1, best + 1)]))
    fine = {"xatol": 1e-6 * (high - low)}
    found = optimize.minimize_scalar(
        lambda t: -function(t), bounds=around, method="bounded", options=fine
    )
    return float(max(values[best], -found.fun))


def confidence_figure() -> Output:
    """Radius against confidence at sigma 1 by three guarantees (Jeong et al. 2023, figure 1)."""
    p = np.concatenate((np.linspace(0.5, 0.99, 99), 1.0 - np.geomspace(0.01, 1e-4, 30)))
    lines = (
        Line("Cohen et al. 2019", p, Gaussian(1.0).radius(1.0 - p)),
        Line("Li et al. 2019", p, np.array([li_radius(float(x)) for x in p])),
        Line("Lecuyer et al. 2019", p, np.array([lecuyer_radius(float(x)) for x in p])),
    )
    return figure_output(
        [Axes("L2 guarantees at sigma = 1", "confidence p", "certified radius", lines)]
    )


CLASSES = (2, 10, 1000)
GAMMAS = (
    2.0,
    4.0,
    6.0,
    8.0,
    10.0,
    12.0,
    14.0,
    16.0,
)  # those of table 12; the paper's own is 8


def slope(p: ArrayLike) -> Floats:
    """1 / phi(Phi^-1(p)), the derivative of Phi^-1; the same at p and at 1 - p."""
    return np.asarray(math.sqrt(2.0 * math.pi) * np.exp(0.5 * special.ndtri(p) ** 2))


def sharp(classes: int, gamma: float) -> tuple[float, float]:
    """The smallest bounds of both derivatives, as absolute values: some predictions have derivatives as large as these.

    By p_1: all the rest goes to the runner-up, so that xi = 2 Phi^-1(p_1) <= gamma; or all classes are equal. By
    p_2: the rest is shared equally by K - 1 classes, p_2 = (1 - p_1) / (K - 1), and xi = gamma.
    """
    top = max(gamma / 2.0, -float(special.ndtri(1.0 / classes)))

    def excess(log_p_2: float) -> float:
        p_2 = math.exp(log_p_2)
        return float(-special.ndtri((classes - 1) * p_2) - special.ndtri(p_2)) - gamma

    least = math.exp(optimize.brentq(excess, -600.0, -math.log(classes), xtol=1e-12))
    return float(slope(special.ndtr(-top))), float(slope(least))


def of_the_proof(classes: int, gamma: float) -> tuple[float, float]:
    """The bounds of appendix B: Phi^-1(p_1) <= gamma and p_1 >= 1 / K; p_2 >= (1 - Phi(gamma)) / (K - 1)."""
    beyond = float(special.ndtr(-gamma))
    return float(max(slope(beyond), slope(1.0 / classes))), float(
        slope(beyond / (classes - 1))
    )


def proposition_table() -> pd.DataFrame:
    """For several K and gamma: the smallest bounds of both derivatives, and those of appendix B."""
    every = [
        (*of, *np.transpose([sharp(*of), of_the_proof(*of)]).ravel())
        for of in product(CLASSES, GAMMAS)
    ]
    what = [
        f"by {p}: {kind}"
        for p in ("p_1", "p_2")
        for kind in ("least bound", "appendix B")
    ]
    return pd.DataFrame(every, columns=["classes K", "gamma", *what])


def proposition_panels(classes: int = 10) -> list[Axes]:
    """The derivative by p_1 as p_1 goes to 1, with and without the hinge; and its bounds against gamma."""
    q = np.geomspace(0.5, 1e-20, 400)
    held = [(gamma, q[-special.ndtri(q) <= gamma / 2.0]) for gamma in (12.0, 8.0, 4.0)]
    lines = [Line("without the hinge", q, slope(q), dashed=True)]
    lines += [Line(f"gamma = {gamma:g}", x, slope(x)) for gamma, x in held]
    gammas = np.linspace(GAMMAS[0], GAMMAS[-1], 60)
    curves = [
        Line(f"{name}, by p_{i}", gammas, by)
        for name, bound in (("least bound", sharp), ("appendix B", of_the_proof))
        for i, by in enumerate(
            np.transpose([bound(classes, float(g)) for g in gammas]), 1
        )
    ]
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
    """The smallest bounds that hold beside those of the proof."""
    frame, drawn = proposition_table(), proposition_panels()
    least, proof = sharp(10, 8.0), of_the_proof(10, 8.0)
    made = table_output(
        frame,
        f"with 10 classes and gamma = 8 the derivative by p_1 is at most {least[0]:,.0f}, by p_2 {least[1]:,.0f}; "
        f"appendix B shows {proof[0]:.1e} and {proof[1]:.1e}",
        "appendix B also says p_2 <= 1 - Phi(gamma), which does not follow (p_1 = p_2 = 1/2) and is not needed",
    )
    made.data["figure"], made.panels[""] = numbers(drawn), drawn
    return made
