"""What the pictures of the guides have in common: a size that is legible on a telephone, and colours."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from randsmooth.report.figures.charts import PALETTE

IMAGES = Path(__file__).resolve().parents[1] / "images"
COLOURS = PALETTE
STYLE = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True}


def chart(height: float = 3.7) -> tuple[Figure, Axes]:
    """One pair of axes; inches."""
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(5.6, height), layout="constrained")
    axes.grid(color="#dddddd", linewidth=0.6)
    return figure, axes


def save(figure: Figure, name: str) -> None:
    """Write docs/images/NAME on white, which is legible beside dark pages, too."""
    figure.savefig(IMAGES / name, dpi=170, facecolor="white", pil_kwargs={"optimize": True})
    print(IMAGES / name, f"{(IMAGES / name).stat().st_size / 1000:.0f} kB")
