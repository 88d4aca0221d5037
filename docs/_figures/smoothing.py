"""The picture of docs/what-is-randomized-smoothing.md: a vote of noisy copies, and the ball that it proves.

    python docs/_figures/smoothing.py        # docs/_static/smoothing-light.png, -dark.png, and both for narrow windows

Everything in it is measured, with the bundled model `demo` and a digit that comes with scikit-learn. First are a
hundred noisy copies. Second is a plane through the image, with the answers of the smoothed classifier and the
certified ball. They stand side by side, or one above the other in a narrow window. A minute on one core.
"""

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from numpy.typing import NDArray

import randsmooth as rs

STATIC = Path(__file__).resolve().parents[1] / "_static"
PLACE, SIGMA, N, ALPHA = 17, 0.5, 10_000, 0.001
SIDE = 10  # of the square of copies
REACH = (-1.6, 2.6, -1.4, 2.8)  # of the plane, in the units of a radius
STEP, VOTES = 0.14, 400
Pixels = NDArray[np.float64]


@dataclass(frozen=True)
class Look:
    """Colours of a page.

    Attributes:
        paper: the page itself.
        ink: text and lines.
        same: copies and points that get the answer of the image.
        other: those that get another answer.
        tint: how much of such a colour an area has.
    """

    paper: str
    ink: str
    same: str
    other: str
    tint: float


LOOKS = {
    "light": Look("#ffffff", "#1a1a1a", "#0072b2", "#d55e00", 0.25),
    "dark": Look("#131416", "#e6e6e6", "#56b4e9", "#ff8c42", 0.35),
}


@dataclass(frozen=True)
class Content:
    """What is drawn.

    Attributes:
        image: (8, 8).
        copies: (SIDE^2, 8, 8), noisy ones.
        answers: (SIDE^2,), of the network about them.
        predict: the answer of the smoothed classifier.
        votes: how many of N copies get it.
        radius: the certified one.
        leads: (rows, columns), in the plane: the share of votes of the answer, less that of the best other class.
        neighbours: images of other classes in the plane, with their places in it.
    """

    image: Pixels
    copies: Pixels
    answers: NDArray[np.int64]
    predict: int
    votes: int
    radius: float
    leads: Pixels
    neighbours: list[tuple[Pixels, float, float]]


def measured() -> Content:
    """Certify the digit, and ask the smoothed classifier about the plane."""
    model = rs.load_model("demo")
    digits = rs.data.load("digits", "test")
    images, _ = digits.batch(torch.arange(len(digits)))
    x = images[PLACE]
    smoothed = rs.SmoothedClassifier(model, sigma=SIGMA, seed=0)
    certified = smoothed.certify(x[None], n0=100, n=N, alpha=ALPHA)
    predict = int(certified.predict[0])

    generator = torch.Generator().manual_seed(0)
    noise = SIGMA * torch.randn(SIDE**2, *x.shape, generator=generator)
    copies = x + noise
    right, up, neighbours = plane(model, x, images, predict)
    return Content(
        image=x[0].double().numpy(),
        copies=copies[:, 0].double().numpy(),
        answers=model(copies).argmax(dim=1).numpy(),
        predict=predict,
        votes=int(certified.counts[0, predict]),
        radius=float(rs.noise.round_down(float(certified.radius[0]), 2)),
        leads=leads_in(model, x, right, up, predict),
        neighbours=neighbours,
    )


def plane(
    model: torch.nn.Module, x: torch.Tensor, images: torch.Tensor, predict: int
) -> tuple[torch.Tensor, torch.Tensor, list[tuple[Pixels, float, float]]]:
    """Return two directions from `x`, towards the nearest images of two other classes, and these images."""
    answers = model(images).argmax(dim=1)
    distances = (images - x).flatten(1).norm(dim=1)
    others = [int(i) for i in distances.argsort() if answers[i] != predict]
    first = others[0]
    second = next(i for i in others if answers[i] != answers[first])
    right = images[first] - x
    right = right / right.norm()
    up = images[second] - x
    up = up - (up * right).sum() * right
    up = up / up.norm()
    found = []
    for i in (first, second):
        change = images[i] - x
        place = float((change * right).sum()), float((change * up).sum())
        found.append((images[i, 0].double().numpy(), *place))
    return right, up, found


def leads_in(
    model: torch.nn.Module,
    x: torch.Tensor,
    right: torch.Tensor,
    up: torch.Tensor,
    predict: int,
) -> Pixels:
    """Return by how much a class leads the vote at each point of the plane; below 0 another class does."""
    left, end, low, high = REACH
    generator = torch.Generator().manual_seed(1)
    noise = SIGMA * torch.randn(VOTES, *x.shape, generator=generator)
    rows = []
    for b in np.arange(low + STEP / 2, high, STEP):
        row = []
        for a in np.arange(left + STEP / 2, end, STEP):
            answers = model(x + a * right + b * up + noise).argmax(dim=1)
            shares = answers.bincount(minlength=10).double() / VOTES
            others = shares.clone()
            others[predict] = 0.0
            row.append(float(shares[predict] - others.max()))
        rows.append(row)
    return np.array(rows)


def drawn(content: Content, look: Look, *, narrow: bool) -> Figure:
    """Draw both parts: side by side, or one above the other for a narrow window."""
    style = {
        "font.size": 10,
        "text.color": look.ink,
        "figure.facecolor": look.paper,
        "savefig.facecolor": look.paper,
    }
    with mpl.rc_context(style):
        rows, columns, size = (2, 1, (3.4, 7.4)) if narrow else (1, 2, (6.4, 3.8))
        figure, (first, second) = plt.subplots(
            rows, columns, figsize=size, layout="constrained"
        )
        draw_copies(first, content, look)
        draw_plane(second, content, look)
    return figure


def draw_copies(axes: Axes, content: Content, look: Look) -> None:
    """The square of copies, each tinted by its answer."""
    size = len(content.image) + 1
    square = np.ones((SIDE * size - 1, SIDE * size - 1, 3)) * to_rgb(look.paper)
    for k, (copy, answer) in enumerate(
        zip(content.copies, content.answers, strict=True)
    ):
        row, column = divmod(k, SIDE)
        colour = look.same if answer == content.predict else look.other
        place = np.s_[
            row * size : row * size + size - 1, column * size : column * size + size - 1
        ]
        square[place] = inked(copy, look, colour)
    axes.imshow(square, interpolation="nearest")
    axes.axis("off")
    same = int((content.answers == content.predict).sum())
    axes.set_title("Ask about noisy copies", fontweight="bold", fontsize=11)
    share = content.votes / N
    axes.text(
        0.5,
        -0.04,
        f"{same} of these {SIDE**2} get “{content.predict}”,\n{share:.1%} of {N:,}",
        transform=axes.transAxes,
        ha="center",
        va="top",
    )


def inked(copy: Pixels, look: Look, colour: str) -> Pixels:
    """Return an image (8, 8, 3) whose ink has this colour."""
    strength = np.clip(copy, 0.0, 1.0)[..., None]
    return (1 - strength) * np.array(to_rgb(look.paper)) + strength * np.array(
        to_rgb(colour)
    )


def draw_plane(axes: Axes, content: Content, look: Look) -> None:
    """The answers in the plane, the images in it, and the certified ball."""
    paper = np.array(to_rgb(look.paper))
    areas = ListedColormap(
        [
            (1 - look.tint) * paper + look.tint * np.array(to_rgb(colour))
            for colour in (look.other, look.same)
        ]
    )
    left, end, low, high = REACH
    across = np.arange(left + STEP / 2, end, STEP)
    along = np.arange(low + STEP / 2, high, STEP)
    axes.set_facecolor(areas(0))
    axes.contourf(across, along, content.leads, levels=[-1.0, 0.0, 1.0], cmap=areas)
    axes.contour(
        across, along, content.leads, levels=[0.0], colors=look.ink, linewidths=0.8
    )
    axes.add_patch(
        Circle(
            (0, 0), content.radius, facecolor=look.same, alpha=0.35, edgecolor="none"
        )
    )
    axes.add_patch(
        Circle((0, 0), content.radius, fill=False, edgecolor=look.same, linewidth=2.5)
    )
    small_image(axes, content.image, 0.0, 0.0, look, look.same)
    for image, a, b in content.neighbours:
        small_image(axes, image, a, b, look, look.other)
    axes.text(
        0.0,
        -content.radius - 0.1,
        f"within {content.radius:.2f}:\nalways “{content.predict}”",
        ha="center",
        va="top",
        fontweight="bold",
    )
    axes.set(
        xlim=(left + STEP / 2, end - STEP / 2),
        ylim=(low + STEP / 2, high - STEP / 2),
        xticks=[],
        yticks=[],
        aspect="equal",
    )
    axes.spines[:].set_color(look.ink)
    axes.set_title("The vote proves a ball", fontweight="bold", fontsize=11)
    axes.text(
        0.5,
        -0.04,
        "each point is an image;\nblue: the vote says "
        f"“{content.predict}”, orange: another digit",
        transform=axes.transAxes,
        ha="center",
        va="top",
    )


def small_image(
    axes: Axes, image: Pixels, a: float, b: float, look: Look, colour: str
) -> None:
    half = 0.3
    axes.imshow(
        inked(image, look, look.ink),
        extent=(a - half, a + half, b - half, b + half),
        zorder=3,
        interpolation="nearest",
    )
    axes.add_patch(
        plt.Rectangle(
            (a - half, b - half),
            2 * half,
            2 * half,
            fill=False,
            edgecolor=colour,
            linewidth=1.5,
            zorder=4,
        )
    )


def main() -> None:
    with torch.inference_mode():
        content = measured()
    for name, look in LOOKS.items():
        for place, narrow in (("", False), ("narrow-", True)):
            path = STATIC / f"smoothing-{place}{name}.png"
            figure = drawn(content, look, narrow=narrow)
            figure.savefig(path, dpi=200, metadata={"Software": None})
            print(path)


if __name__ == "__main__":
    main()
