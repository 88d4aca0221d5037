"""Draw the radius that n samples prove, by p_A: images/what-n-buys.png.

python docs/_figures/what_n_buys.py
"""

from __future__ import annotations

import look
import numpy as np
from scipy.stats import norm

from randsmooth import bounds
from randsmooth.noise import Gaussian

ALPHA = 0.001
N = np.unique(np.geomspace(20, 10_000_000, 300).astype(int))
SHARES = (1.0, 0.9999, 0.999, 0.99, 0.9, 0.7, 0.55)


def main() -> None:
    figure, axes = look.chart()
    for share, colour in zip(SHARES, look.COLOURS, strict=True):
        radius = [Gaussian(1.0).radius(bounds.q_upper(int(share * n), n, ALPHA)) for n in N]
        axes.semilogx(N, radius, color=colour, linewidth=1.8, label=f"{share:g}")
        if share < 1.0:
            axes.axhline(norm.ppf(share), color=colour, linewidth=0.8, linestyle=":")
    axes.axvline(100_000, color="#808080", linewidth=0.8)
    axes.set_xlabel("n, samples an image")
    axes.set_ylabel("radius / sigma")
    axes.set_ylim(0.0, 5.2)
    axes.legend(title="share of samples\nthat agree", fontsize=8.5, title_fontsize=8.5, ncols=2, loc="upper left")
    look.save(figure, "what-n-buys.png")


if __name__ == "__main__":
    main()
