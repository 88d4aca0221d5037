"""Draw the history of each method's small run: terms of the loss above, shares below.

python docs/_figures/draw_methods.py        # results/methods-training/*.csv -> docs/images/methods/*.svg
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from randsmooth.report.figures.charts import PALETTE

DOCS = Path(__file__).parents[1]
RESULTS, IMAGES = DOCS.parent / "results" / "methods-training", DOCS / "images" / "methods"
# Besides these a history has terms of the loss. Left out: shares of single weights, of which there are many.
SHARES = {
    "easy_share": "easy",
    "hard_share": "hard",
    "attack_success": "attack succeeds",
    "sure_share": "sure: all m right",
    "mixed_share": "mixed",
    "discarded_share": "discarded",
}
OTHERS = {"epoch", "lr", "seconds", "mean_weight"}
TERMS = {"cross_entropy": "cross-entropy"}

matplotlib.rcParams["svg.hashsalt"] = "randsmooth"  # the same figure is the same file
matplotlib.rcParams["font.size"] = 11


def drawn(history: pd.DataFrame) -> Figure:
    """Two panels over the epochs, legible on a telephone; a white ground, for light pages and dark ones."""
    figure = Figure(figsize=(5.2, 5.2), layout="constrained", facecolor="white")
    above, below = figure.subplots(2, 1, sharex=True)
    terms = [name for name in history if name not in OTHERS and name not in SHARES and not name.startswith("weight_")]
    _lines(above, history, {name: TERMS.get(name, name.replace("_", " ")) for name in terms})
    above.set_ylabel("terms of the loss")
    above.set_ylim(bottom=0)
    _lines(below, history, {name: words for name, words in SHARES.items() if name in history})
    below.set_ylabel("share")
    below.set_ylim(0, 1)
    below.set_xlabel("epochs trained")
    return figure


def _lines(axes: Axes, history: pd.DataFrame, names: dict[str, str]) -> None:
    for (name, words), colour, marker in zip(names.items(), PALETTE, "osD^vP*", strict=False):
        axes.plot(history["epoch"] + 1, history[name], color=colour, marker=marker, markersize=4, label=words)
    for drop in history["epoch"][history["lr"].diff() < 0]:
        axes.axvline(drop + 0.5, color="#999999", linewidth=1, linestyle=":")
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=10)


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for path in sorted(RESULTS.glob("*.csv")):
        drawn(pd.read_csv(path)).savefig(IMAGES / f"{path.stem}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
