"""MACER's proposition 1: the hinge keeps the derivative of the certified radius bounded (Zhai et al. 2020).

Where p_1 >= p_2 >= ... >= p_K >= 0 sum to 1, the derivative of min(xi, gamma), xi = Phi^-1(p_1) - Phi^-1(p_2), by p_1
and by p_2 is bounded. It is 1 / phi(Phi^-1(p)) where xi <= gamma, and 0 beyond. All is computed in q_1 = 1 - p_1,
because near 1 a float of p_1 has too few digits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from randsmooth.papers.context import Context, Output
from randsmooth.papers.figure_data import numbers
from randsmooth.papers.rows import PaperRow
from randsmooth.papers.table_formats import legible
from randsmooth.report import Axes, Line

Floats = NDArray[np.float64]
CLASSES = (2, 10, 1000)
GAMMAS = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0)  # those of table 12; the paper's own is 8
SHOWN = (4.0, 8.0, 12.0)
POINTS = (1500, 60)  # of q_1, and of p_2 for each


class Pair(NamedTuple):
    """A quantity of the derivatives by p_1 and by p_2, each as an absolute value."""

    p_1: float
    p_2: float


def slope(p: ArrayLike) -> Floats:
    """1 / phi(Phi^-1(p)), the derivative of Phi^-1; the same at p and at 1 - p."""
    return np.asarray(math.sqrt(2.0 * math.pi) * np.exp(0.5 * special.ndtri(p) ** 2))


def derivatives(q_1: Floats, p_2: Floats, gamma: float) -> tuple[Floats, Floats]:
    """|d min(xi, gamma) / d p_1| and |d min(xi, gamma) / d p_2|, of arrays that broadcast; 0 where xi > gamma."""
    held = -special.ndtri(q_1) - special.ndtri(p_2) <= gamma
    return np.where(held, slope(q_1), 0.0), np.where(held, slope(p_2), 0.0)


def sharp(classes: int, gamma: float) -> Pair:
    """The smallest bounds that hold: some predictions have derivatives as large as these.

    By p_1: all the rest goes to the runner-up, so that xi = 2 Phi^-1(p_1) <= gamma; or all classes are equal. By
    p_2: the rest is shared equally by K - 1 classes, p_2 = (1 - p_1) / (K - 1), and xi = gamma.
    """
    top = max(gamma / 2.0, -float(special.ndtri(1.0 / classes)))

    def excess(log_p_2: float) -> float:
        p_2 = math.exp(log_p_2)
        return float(-special.ndtri((classes - 1) * p_2) - special.ndtri(p_2)) - gamma

    least = math.exp(optimize.brentq(excess, -600.0, -math.log(classes), xtol=1e-12))
    return Pair(float(slope(special.ndtr(-top))), float(slope(least)))


def of_the_proof(classes: int, gamma: float) -> Pair:
    """The bounds of appendix B: Phi^-1(p_1) <= gamma and p_1 >= 1 / K; p_2 >= (1 - Phi(gamma)) / (K - 1)."""
    beyond = float(special.ndtr(-gamma))
    return Pair(float(max(slope(beyond), slope(1.0 / classes))), float(slope(beyond / (classes - 1))))


def searched(classes: int, gamma: float) -> Pair:
    """The largest derivatives over a grid of all (p_1, p_2) that K classes allow."""
    most = 1.0 - 1.0 / classes  # of q_1
    q_1 = np.concatenate((np.geomspace(1e-30, 0.01, POINTS[0]), np.linspace(0.01, most, POINTS[0])))[:, None]
    least, greatest = q_1 / (classes - 1), np.minimum(q_1, 1.0 - q_1)  # of p_2
    p_2 = least * (greatest / least) ** np.linspace(0.0, 1.0, POINTS[1])
    by_1, by_2 = derivatives(q_1, np.minimum(p_2, greatest), gamma)
    return Pair(float(by_1.max()), float(by_2.max()))


def table() -> pd.DataFrame:
    """For several K and gamma: the largest derivatives found, the smallest bounds, and those of appendix B."""
    lines = []
    for classes in CLASSES:
        for gamma in GAMMAS:
            found = searched(classes, gamma), sharp(classes, gamma), of_the_proof(classes, gamma)
            lines.append((classes, gamma, *(pair.p_1 for pair in found), *(pair.p_2 for pair in found)))
    what = [f"by {p}: {kind}" for p in ("p_1", "p_2") for kind in ("largest found", "least bound", "appendix B")]
    return pd.DataFrame(lines, columns=["classes K", "gamma", *what])


def panels(classes: int = 10) -> list[Axes]:
    """The derivative by p_1 as p_1 goes to 1, with and without the hinge; and its bounds against gamma."""
    q = np.geomspace(0.5, 1e-20, 400)
    open_ended = [Line("without the hinge", q, slope(q), dashed=True)]
    held = [(gamma, q[-special.ndtri(q) <= gamma / 2.0]) for gamma in SHOWN]
    lines = [*open_ended, *(Line(f"gamma = {gamma:g}", x, slope(x)) for gamma, x in reversed(held))]
    gammas = np.linspace(GAMMAS[0], GAMMAS[-1], 60)
    bounds = {"least bound": sharp, "appendix B": of_the_proof}
    curves = [
        Line(f"{name}, by {p}", gammas, np.array([getattr(bound(classes, float(g)), p) for g in gammas]))
        for name, bound in bounds.items()
        for p in Pair._fields
    ]
    return [
        Axes("Derivative by p_1, two classes", "1 - p_1", "derivative", tuple(lines), log=True, log_x=True),
        Axes(f"Its bounds, {classes} classes", "gamma", "bound of the derivative", tuple(curves), log=True),
    ]


def proposition_1(context: Context, rows: list[PaperRow]) -> Output:
    """Check the proposition over a grid of predictions, and compare the proof's bounds with the smallest ones."""
    frame, drawn = table(), panels()
    holds = all(
        (frame[f"by {p}: largest found"] <= frame[f"by {p}: least bound"] * (1 + 1e-9)).all() for p in Pair._fields
    )
    least, proof = sharp(10, 8.0), of_the_proof(10, 8.0)
    notes = [
        f"over {2 * POINTS[0] * POINTS[1]:,} predictions a line, every derivative is "
        f"{'within' if holds else 'NOT WITHIN'} its least bound",
        f"with 10 classes and gamma = 8 the derivative by p_1 is at most {least.p_1:,.0f}, by p_2 {least.p_2:,.0f}; "
        f"appendix B shows {proof.p_1:.1e} and {proof.p_2:.1e}",
        "appendix B also says p_2 <= 1 - Phi(gamma), which does not follow (p_1 = p_2 = 1/2) and is not needed",
    ]
    return Output({"": legible(frame)}, {"": frame, "figure": numbers(drawn)}, {"": drawn}, notes)
