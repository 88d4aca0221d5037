"""Draw how many samples an image takes under each rule, by its p_A: images/samples-by-rule.png.

    python docs/_figures/samples_by_rule.py

The rules themselves are asked when to look and when to stop; the answers of an image are drawn by its p_A. Under a
minute.
"""

from __future__ import annotations

import look
import numpy as np
from scipy.stats import norm

from randsmooth.noise import Gaussian
from randsmooth.rules import Rule, make_rule

SIGMA, N, ALPHA = 0.5, 100_000, 0.001
RULES = ("fixed", "dense=0.1", "dense=0.27", "grid", "radius=0.5")
REACH = np.arange(-0.2, 1.921, 0.02)  # the radius sigma Phi^-1(p_A) that an image's p_A allows
TIMES = 30  # that each image is certified
SHOWN = (0.4, 0.5, 0.7, 0.9, 0.97, 0.99, 0.999, 0.9999)


def samples(rule: Rule, p_a: float, rng: np.random.Generator) -> int:
    """How many samples one certification takes of an image whose picked class comes out with probability `p_a`."""
    path: list[int] = []
    drawn = 0
    while (at := rule.next_look(path)) is not None:
        path.append(int(rng.binomial(at - drawn, p_a)) + (path[-1] if path else 0))
        drawn = at
    return drawn


def main() -> None:
    figure, axes = look.chart(height=4.2)
    for name, colour in zip(RULES, ("#808080", *look.COLOURS), strict=False):
        rule, rng = make_rule(name, noise=Gaussian(SIGMA), n=N, alpha=ALPHA), np.random.default_rng(0)
        means = [np.mean([samples(rule, norm.cdf(r / SIGMA), rng) for _ in range(TIMES)]) for r in REACH]
        axes.semilogy(REACH, means, color=colour, linewidth=1.8, label=name)
    axes.set_xticks(SIGMA * norm.ppf(SHOWN), [f"{p:g}" for p in SHOWN], rotation=45)
    axes.set_xlabel("p_A of the image")
    axes.set_ylabel("samples, mean")
    beside = axes.secondary_xaxis("top")
    beside.set_xticks(np.arange(0.0, 1.76, 0.25))
    beside.set_xlabel("radius that this p_A allows at sigma 0.5")
    figure.legend(loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    look.save(figure, "samples-by-rule.png")


if __name__ == "__main__":
    main()
