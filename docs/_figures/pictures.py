"""The pictures of the guides, each drawn by a function of its name.

    python docs/_figures/pictures.py [NAME ...]        # docs/images/NAME.png; by default all

samples-by-rule: how many samples an image takes under each rule, by its p_A. The rules themselves are asked when to
    look and when to stop; the answers of an image are drawn by its p_A. Under a minute.
sigma-curves: one method trained at three sigmas, from the certificates in results/mnist-methods.
routed-curves: a routed classifier beside its experts and their envelope, from results/routing-mnist.
sigma-strip: a digit under noise of the usual sigmas.
abstains-votes: images and the votes of their samples, one for each way to abstain; model, images and settings are those
    of docs/troubles.md.
what-n-buys: the radius that n samples prove, by p_A.
frontier: what rules and bounds prove by their samples, on published logs, from results/frontier.json.
four-noises, l1-envelopes: see noises.py.
methods: the history of each method's small run (results/methods-training), terms of the loss above, shares below.
"""

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import noises
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import randsmooth as rs
from randsmooth.noise import Gaussian
from randsmooth.report.charts import PALETTE
from randsmooth.rules import make_rule

ROOT = Path(__file__).resolve().parents[2]
IMAGES, RESULTS = ROOT / "docs" / "images", ROOT / "results"
SIGMA, ALPHA = 0.5, 0.001
STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
}
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


def chart(height: float = 3.7) -> tuple[Figure, Axes]:
    """One pair of axes, legible on a telephone; inches."""
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(5.6, height), layout="constrained")
    axes.grid(color="#dddddd", linewidth=0.6)
    return figure, axes


def samples_by_rule() -> Figure:
    figure, axes = chart(height=4.2)
    reach = np.arange(
        -0.2, 1.921, 0.02
    )  # the radius sigma Phi^-1(p_A) that an image's p_A allows
    rules = ("fixed", "dense=0.1", "dense=0.27", "grid", "radius=0.5")
    for name, colour in zip(rules, ("#808080", *PALETTE), strict=False):
        rule, rng, means = (
            make_rule(name, noise=Gaussian(SIGMA), n=100_000, alpha=ALPHA),
            np.random.default_rng(0),
            [],
        )
        for p_a in norm.cdf(reach / SIGMA):
            taken = []
            for _ in range(30):
                path: list[int] = []
                drawn = 0
                while (look := rule.next_look(path)) is not None:
                    path.append(
                        int(rng.binomial(look - drawn, p_a)) + (path[-1] if path else 0)
                    )
                    drawn = look
                taken.append(drawn)
            means.append(np.mean(taken))
        axes.semilogy(reach, means, color=colour, linewidth=1.8, label=name)
    shown = (0.4, 0.5, 0.7, 0.9, 0.97, 0.99, 0.999, 0.9999)
    axes.set_xticks(SIGMA * norm.ppf(shown), [f"{p:g}" for p in shown], rotation=45)
    axes.set(xlabel="p_A of the image", ylabel="samples, mean")
    beside = axes.secondary_xaxis("top")
    beside.set_xticks(np.arange(0.0, 1.76, 0.25))
    beside.set_xlabel("radius that this p_A allows at sigma 0.5")
    figure.legend(loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    return figure


def sigma_curves() -> Figure:
    figure, axes = chart()
    for sigma, colour in zip(("0.25", "0.5", "1"), PALETTE, strict=False):
        table = rs.read(
            RESULTS / "mnist-methods" / f"sigma{sigma}" / "gaussian.parquet"
        )
        radii, shares = rs.metrics.accuracy_curve(table)
        axes.step(
            [*radii, radii[-1]],
            [*(100 * shares), 0.0],
            where="pre",
            color=colour,
            label=f"sigma {sigma}",
        )
        farthest = Gaussian(float(sigma)).largest_radius(
            table.header.n, table.header.alpha
        )
        axes.plot(farthest, 0.0, marker="|", color=colour, markersize=14, clip_on=False)
    axes.set(
        xlabel="L2 radius",
        ylabel="certified accuracy (%)",
        xlim=(0.0, 3.6),
        ylim=(0.0, 100.0),
    )
    axes.legend(loc="upper right")
    return figure


def routed_curves() -> Figure:
    """Certified accuracy of the routed table, its experts, and the best expert at each radius."""
    figure, axes = chart()
    folder = RESULTS / "routing-mnist"
    experts = [
        rs.read(folder / f"sigma-{sigma}.parquet") for sigma in ("0.25", "0.5", "1")
    ]
    for table, colour in zip(experts, PALETTE[1:], strict=False):
        radii, shares = rs.metrics.accuracy_curve(table)
        name = f"sigma {table.header.sigma:g}"
        axes.step(
            [*radii, radii[-1]],
            [*(100 * shares), 0.0],
            where="pre",
            color=colour,
            label=name,
        )
    envelope = rs.metrics.envelope(experts)
    axes.step(
        envelope.radii,
        100 * envelope.share,
        where="pre",
        color="#808080",
        linestyle=":",
        label="best of these at each radius: no classifier",
    )
    radii, shares = rs.metrics.accuracy_curve(rs.read(folder / "routed.parquet"))
    axes.step(
        [*radii, radii[-1]],
        [*(100 * shares), 0.0],
        where="pre",
        color=PALETTE[0],
        linewidth=2.4,
        label="routed",
    )
    axes.set(
        xlabel="L2 radius",
        ylabel="certified accuracy (%)",
        xlim=(0.0, 2.4),
        ylim=(0.0, 100.0),
    )
    axes.legend(loc="upper right", fontsize=8.5)
    return figure


def sigma_strip() -> Figure:
    digit, sigmas = load_digits().images[0] / 16, (0.0, 0.12, 0.25, 0.5, 1.0)
    figure, axes = plt.subplots(
        1, len(sigmas), figsize=(5.6, 1.3), layout="constrained"
    )
    for place, sigma in zip(axes, sigmas, strict=True):
        noisy = digit + sigma * np.random.default_rng(0).standard_normal(digit.shape)
        place.imshow(
            noisy, cmap="gray", vmin=-0.5, vmax=1.5
        )  # noise leaves [0, 1] on either side
        place.set_title(f"sigma {sigma:g}" if sigma else "image", fontsize=10)
        place.axis("off")
    return figure


def abstains_votes() -> Figure:
    import torch

    x, y = load_digits(return_X_y=True)
    model = SVC().fit(x[:1500] / 16, y[:1500])
    images = torch.from_numpy(x[1500:1600].reshape(-1, 1, 8, 8).astype(np.float32) / 16)
    found = rs.SmoothedClassifier(model, sigma=0.4, seed=0).certify(
        images, n=200, alpha=ALPHA
    )
    votes = np.sort(found.counts / 200, axis=1)[:, ::-1]
    away = found.predict == -1
    kinds = {  # the image of each kind that shows it best
        "certified": np.argmax(np.where(away, 0.0, votes[:, 0])),
        "too few samples": np.argmax(np.where(away, votes[:, 0], 0.0)),
        "two classes alike": np.argmax(
            np.where(away, 3.0 * votes[:, 1] - votes[:, 0], -9.0)
        ),
        "many classes": np.argmin(np.where(away, votes[:, 0], 1.0)),
    }
    figure, axes = plt.subplots(
        2,
        4,
        figsize=(5.6, 3.1),
        layout="constrained",
        height_ratios=(1, 1.1),
        sharey="row",
    )
    for (above, below), (kind, i) in zip(axes.T, kinds.items(), strict=True):
        above.imshow(images[i, 0], cmap="gray")
        above.set_title(kind, fontsize=9)
        above.axis("off")
        colours = [PALETTE[0] if k == y[1500 + i] else "#9a9a9a" for k in range(10)]
        below.bar(range(10), found.counts[i] / 200, color=colours)
        below.axhline(0.5, color="#D55E00", linewidth=1.0)
        below.set(ylim=(0.0, 1.0), xticks=range(0, 10, 3))
        below.tick_params(labelsize=8)
        below.spines[["top", "right"]].set_visible(False)
    axes[1, 0].set_ylabel("share of votes", fontsize=9)
    figure.supxlabel("class (blue: the label)", fontsize=9)
    return figure


def what_n_buys() -> Figure:
    figure, axes = chart()
    number, shares = (
        np.unique(np.geomspace(20, 10_000_000, 300).astype(int)),
        (1, 0.9999, 0.999, 0.99, 0.9, 0.7, 0.55),
    )
    for share, colour in zip(shares, PALETTE, strict=True):
        radius = [
            Gaussian(1.0).radius(rs.bounds.q_upper(int(share * n), n, ALPHA))
            for n in number
        ]
        axes.semilogx(number, radius, color=colour, linewidth=1.8, label=f"{share:g}")
        if share < 1.0:
            axes.axhline(norm.ppf(share), color=colour, linewidth=0.8, linestyle=":")
    axes.axvline(100_000, color="#808080", linewidth=0.8)
    axes.set(xlabel="n, samples an image", ylabel="radius / sigma", ylim=(0.0, 5.2))
    axes.legend(
        title="share of samples\nthat agree",
        fontsize=8.5,
        title_fontsize=8.5,
        ncols=2,
        loc="upper left",
    )
    return figure


# What each line of the frontier is called in results/frontier.json, and how it is drawn.
FRONTIER_LINES = {
    "fixed": ("fixed", "", "#808080", "solid"),
    "dense": ("dense", "", PALETTE[0], "solid"),
    "grid": ("grid", "", PALETTE[2], "solid"),
    "upto=1.5": ("upto", "", PALETTE[1], "solid"),
    "e-process that knows p_A, stops as dense": (
        "e-process, prior that knows p_A",
        "dense",
        PALETTE[3],
        "dashed",
    ),
    "e-process that knows p_A, stops as upto": (
        "e-process, prior that knows p_A",
        "upto",
        PALETTE[4],
        "dashed",
    ),
    "n chosen by p_A": ("p_A known, Clopper-Pearson", "", "#000000", "dashed"),
    "no rule exceeds": ("no rule exceeds", "", "#000000", "dotted"),
}


def frontier() -> Figure:
    rows = pd.DataFrame(json.loads((RESULTS / "frontier.json").read_text())["rows"])
    with mpl.rc_context(STYLE):
        figure, (above, below) = plt.subplots(
            2, figsize=(5.6, 7.6), sharex=True, layout="constrained"
        )
    for label, (name, stops, colour, dashes) in FRONTIER_LINES.items():
        for axes, column, aim in (
            (above, "acr_share", "ACR"),
            (below, "points_lost_mean", "accuracy"),
        ):
            # A limit has a line of its own for each aim.
            line = rows[rows.contestant.isin([name, f"{name}, for {aim}"])]
            line = line[line.setting.str.contains(stops)].sort_values("samples")
            value = line[column] * (100 if column == "acr_share" else 1)
            axes.semilogx(
                line.samples,
                value,
                color=colour,
                linestyle=dashes,
                marker="." if dashes == "solid" else None,
                label=label if axes is above else None,
            )
    for axes in (above, below):
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.axvline(5000, color="#bbbbbb", linewidth=1.0)
        axes.set_xlim(1500, 110_000)
    above.set(ylim=(78, 101), ylabel="ACR, % of that of 100,000 samples")
    below.set(
        ylim=(-0.1, 4.0),
        xlabel="mean samples of an image",
        ylabel="points of certified accuracy lost,\nmean over radii 0.25 to 1.5",
    )
    ticks = (2000, 5000, 10_000, 20_000, 50_000, 100_000)
    below.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    below.minorticks_off()
    figure.legend(loc="outside lower center", ncols=2, fontsize=8.5, frameon=False)
    return figure


PICTURES = {
    "samples-by-rule": samples_by_rule,
    "sigma-curves": sigma_curves,
    "routed-curves": routed_curves,
    "sigma-strip": sigma_strip,
    "abstains-votes": abstains_votes,
    "what-n-buys": what_n_buys,
    "frontier": frontier,
    "four-noises": noises.four_noises,
    "l1-envelopes": noises.l1_envelopes,
}


def history_of(history: pd.DataFrame) -> Figure:
    """Two panels over the epochs; a white ground, for light pages and dark ones."""
    figure = Figure(figsize=(5.2, 5.2), layout="constrained", facecolor="white")
    above, below = figure.subplots(2, 1, sharex=True)
    terms = [
        name
        for name in history
        if name not in OTHERS and name not in SHARES and not name.startswith("weight_")
    ]
    spoken = {
        name: name.replace("_", "-" if name == "cross_entropy" else " ")
        for name in terms
    }
    for axes, names in (
        (above, spoken),
        (below, {name: words for name, words in SHARES.items() if name in history}),
    ):
        for (name, words), colour, marker in zip(
            names.items(), PALETTE, "osD^vP*", strict=False
        ):
            axes.plot(
                history["epoch"] + 1,
                history[name],
                color=colour,
                marker=marker,
                markersize=4,
                label=words,
            )
        for drop in history["epoch"][history["lr"].diff() < 0]:
            axes.axvline(drop + 0.5, color="#999999", linewidth=1, linestyle=":")
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=10)
    above.set(ylabel="terms of the loss", ylim=(0, None))
    below.set(ylabel="share", ylim=(0, 1), xlabel="epochs trained")
    return figure


def main() -> None:
    asked = sys.argv[1:] or [*PICTURES, "methods"]
    for name in asked:
        if name != "methods":  # on white, which is legible beside dark pages, too
            path = IMAGES / f"{name}.png"
            PICTURES[name]().savefig(
                path, dpi=170, facecolor="white", pil_kwargs={"optimize": True}
            )
            print(path)
    if "methods" in asked:
        (IMAGES / "methods").mkdir(parents=True, exist_ok=True)
        with mpl.rc_context(
            {"svg.hashsalt": "randsmooth", "font.size": 11}
        ):  # the same figure is the same file
            for path in sorted((RESULTS / "methods-training").glob("*.csv")):
                history_of(pd.read_csv(path)).savefig(
                    IMAGES / "methods" / f"{path.stem}.svg", metadata={"Date": None}
                )


if __name__ == "__main__":
    main()
