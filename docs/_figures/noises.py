"""The figures of docs/which-noise.md, from the certificates in results/l1-mnist; pictures.py draws them.

four-noises: one image of MNIST under four noises, and two images at the edge of what each certificate allows: as far as
    possible towards an image of another class, by the shortest way in the norm (L2: along the straight line; L1: the
    pixels that differ most, one after the other, as far as the sum lasts; L0: as many of them as are allowed), and with
    all pixels changed alike. Asks for MNIST: RANDSMOOTH_DATA names the folder that holds it.
l1-envelopes: certified accuracy over the L1 radius, at each radius that of the best scale, by two bounds.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import numpy as np
import pandas as pd
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

import randsmooth as rs
from randsmooth import data
from randsmooth.certificates import Certificates
from randsmooth.noise import Noise, Stream, round_down
from randsmooth.report.charts import PALETTE

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results" / "l1-mnist"
STYLE = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
}
GREY = "#444444"
COLOURS = {
    "uniform": PALETTE[1],
    "laplace": PALETTE[4],
    "gaussian": PALETTE[0],
    "splitting": PALETTE[5],
}
COLOURS |= {"splitting, exact": PALETTE[2], "ablation": PALETTE[3]}
PLACE, TOWARDS = 3920, 7  # a one, by its place in the test set; another class
COLUMNS = {  # table -> noise, what a copy is, the certificate
    "gaussian=0.5774": ("gaussian", "Gaussian", "normal noise", "L2 $<$ {}"),
    "uniform=1": ("uniform", "Uniform", "noise from \u22121 to 1", "L1 $<$ {}"),
    "splitting=1-exact": (
        "splitting, exact",
        "Splitting",
        "between thresholds",
        "L1 $\\leq$ {}",
    ),
    "ablation=45": ("ablation", "Ablation", "45 of 784 pixels", "L0 $\\leq$ {}"),
}
PANELS = {
    "clopper-pearson": "the class against all others",
    "pairwise": "the class against the next one",
}
Image = NDArray[np.float64]


def towards(x: Image, other: Image, norm: str, radius: float) -> Image:
    """The image `radius` away from `x` that is nearest to `other`, all (d,)."""
    change = other - x
    if norm == "l2":
        return x + change * min(1.0, radius / np.linalg.norm(change))
    order, size = np.argsort(-np.abs(change), kind="stable"), np.abs(change)
    left = radius - np.concatenate(
        ([0.0], np.cumsum(np.ones_like(x) if norm == "l0" else size[order])[:-1])
    )
    step = (
        np.where(left >= 1.0, size[order], 0.0)
        if norm == "l0"
        else np.clip(left, 0.0, size[order])
    )
    moved = x.copy()
    moved[order] += np.sign(change[order]) * step
    return moved


def alike(x: Image, norm: str, radius: float) -> tuple[Image, float]:
    """`x` (d,) with all pixels changed by as much as `radius` allows, towards grey; and how much that is."""
    size = {"l2": radius / np.sqrt(x.size), "l1": radius / x.size, "l0": 0.0}[norm]
    return np.where(x < 0.5, x + size, x - size), size


def show(axes: Axes, image: Image, *, white: float = 0.0, black: float = 1.0) -> None:
    axes.imshow(image.reshape(28, 28), cmap="gray_r", vmin=white, vmax=black)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color="#bbbbbb", linewidth=0.8)


def show_copy(axes: Axes, noise: Noise, x: torch.Tensor) -> None:
    """What the network sees of one noisy copy; hidden pixels are blue."""
    copy = torch.empty(1, *noise.shape(x.shape))
    noise.draw(copy, x, Stream(1, "figure"))
    whole = noise.name in ("splitting", "ablation")
    show(
        axes,
        copy[0, 0].double().numpy(),
        white=0.0 if whole else -1.0,
        black=1.0 if whole else 2.0,
    )
    if noise.name == "ablation":
        axes.imshow(
            1.0 - copy[0, 1], cmap=mpl.colors.ListedColormap([(0, 0, 0, 0), "#d5dff0"])
        )


def outline(axes: Axes, moved: NDArray[np.int64], colour: str) -> None:
    for i in moved:
        axes.add_patch(
            Rectangle(
                (i % 28 - 0.5, i // 28 - 0.5),
                1,
                1,
                fill=False,
                edgecolor=colour,
                linewidth=1.5,
            )
        )


def nearest(x: torch.Tensor, label: int) -> torch.Tensor:
    """The training image of class `label` that is nearest to `x` in L2."""
    images, labels = (
        part[:] for part in data.load("mnist", "train").batch(list(range(20_000)))
    )
    others = images[labels == label]
    return others[(others - x).flatten(1).norm(dim=1).argmin()]


def of_image(table: Certificates, place: int) -> float:
    """The radius of the image at `place`, which must be certified as what it is."""
    row = int(np.flatnonzero(table.idx == place)[0])
    assert table.predict[row] == table.label[row], (
        f"{table.name}: image {place} is not certified as {table.label[row]}"
    )
    return float(table.radius[row])


def column(places: list[Axes], name: str, x: torch.Tensor, other: Image) -> None:
    """What one noise shows, and what its certificate allows, from above to below."""
    key, title, copy, says = COLUMNS[name]
    table, colour, image = (
        rs.read(RESULTS / f"{name}.parquet"),
        COLOURS[key],
        x.flatten().double().numpy(),
    )
    noise, radius = table.header.noise, of_image(table, PLACE)
    above, middle, below = places
    show_copy(above, noise, x)
    above.set_title(f"{title}\n", fontsize=16, weight="bold", color=colour, pad=4)
    above.text(
        0.5,
        1.03,
        copy,
        transform=above.transAxes,
        ha="center",
        va="bottom",
        fontsize=11,
        color=GREY,
    )
    value = f"{radius:.0f}" if noise.norm == "l0" else f"{round_down(radius, 2)}"
    above.set_xlabel(
        says.format(value), fontsize=15, color=colour, weight="bold", labelpad=5
    )
    sure = (
        "with certainty"
        if key == "splitting, exact"
        else f"alpha = {table.header.alpha:g}"
    )
    above.text(
        0.5,
        -0.275,
        sure,
        transform=above.transAxes,
        ha="center",
        va="center",
        fontsize=10.5,
        color=GREY,
    )
    changed = towards(image, other, noise.norm, radius)
    moved = np.flatnonzero(np.abs(changed - image) > 0.01)
    show(middle, changed)
    if noise.norm != "l2":
        outline(middle, moved, colour)
    words = f"{len(moved)} pixel{'s' * (len(moved) > 1)}"
    middle.set_xlabel(
        words if noise.norm != "l2" else "each pixel a little", fontsize=12
    )
    after, size = alike(image, noise.norm, radius)
    show(below, after)
    below.set_xlabel(
        f"by {255 * size:.1f} grey levels" if size else "not at all", fontsize=12
    )


def four_noises() -> Figure:
    x = data.load("mnist", "test").batch([PLACE])[0][0]
    other = nearest(x, TOWARDS).flatten().double().numpy()
    figure = plt.figure(figsize=(9.4, 7.3))
    grid = figure.add_gridspec(
        3, 5, left=0.012, right=0.988, top=0.9, bottom=0.04, wspace=0.08, hspace=0.36
    )
    first, second = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])
    third = figure.add_subplot(grid[2, 0], frameon=False, xticks=[], yticks=[])
    show(first, x.flatten().double().numpy())
    show(second, other)
    first.set_xlabel("this image is a 1", fontsize=12)
    second.set_xlabel("as far as allowed\ntowards this 7", fontsize=12)
    third.text(
        0.5,
        0.5,
        "or every pixel\nchanged alike,\nof 255 grey levels",
        ha="center",
        va="center",
        fontsize=12,
    )
    for place, name in enumerate(COLUMNS, 1):
        column(
            [figure.add_subplot(grid[row, place]) for row in range(3)], name, x, other
        )
    return figure


def l1_envelopes() -> Figure:
    lines = pd.read_csv(RESULTS / "envelopes.csv")
    with mpl.rc_context(STYLE):
        figure, panels = plt.subplots(
            1, 2, figsize=(9.4, 4.4), layout="constrained", sharey=True
        )
    for axes, (bound, title) in zip(panels, PANELS.items(), strict=True):
        for name, own in lines[lines.bound.isin([bound, "exact"])].groupby(
            "noise", sort=False
        ):
            seen, dash = own[own.accuracy > 0.0], "--" if name == "splitting" else "-"
            low, middle, high = (100 * seen[end] for end in ("low", "accuracy", "high"))
            axes.fill_between(
                seen.radius, low, high, color=COLOURS[name], alpha=0.12, linewidth=0
            )
            axes.plot(
                seen.radius,
                middle,
                dash,
                color=COLOURS[name],
                linewidth=2.0,
                label=name,
            )
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set(title=title, xlabel="L1 radius", xlim=(0.0, 3.4), ylim=(0.0, 100.0))
    panels[0].set_ylabel("certified accuracy (%), best scale")
    panels[1].legend(fontsize=10.5, frameon=False)
    return figure
