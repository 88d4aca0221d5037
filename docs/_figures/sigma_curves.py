"""Draw one method trained at three sigmas: images/sigma-curves.png, from the certificates in results/mnist-methods.

python docs/_figures/sigma_curves.py
"""

from __future__ import annotations

import look

import randsmooth as rs

ROOT = look.IMAGES.parents[1]
SIGMAS = ("0.25", "0.5", "1")


def main() -> None:
    figure, axes = look.chart()
    for sigma, colour in zip(SIGMAS, look.COLOURS, strict=False):
        table = rs.read(ROOT / "results" / "mnist-methods" / f"sigma{sigma}" / "gaussian.parquet")
        radii, shares = rs.metrics.accuracy_curve(table)
        axes.step([*radii, radii[-1]], [*(100 * shares), 0.0], where="pre", color=colour, label=f"sigma {sigma}")
        farthest = rs.noise.Gaussian(float(sigma)).largest_radius(table.header.n, table.header.alpha)
        axes.plot(farthest, 0.0, marker="|", color=colour, markersize=14, clip_on=False)
    axes.set_xlabel("L2 radius")
    axes.set_ylabel("certified accuracy (%)")
    axes.set_xlim(0.0, 3.6)
    axes.set_ylim(0.0, 100.0)
    axes.legend(loc="upper right")
    look.save(figure, "sigma-curves.png")


if __name__ == "__main__":
    main()
