"""The figures of the page "Why not ACR", from docs/_data: for the site with controls; screens.py photographs them.

    python docs/_figures/acr.py path/to/cifar10-sigma0.5   # makes docs/_data/acr-*.csv of published logs

A figure is a list of states. Its control, a slider or a choice, goes from one to the other; everything that a state
shows is computed here. Nothing is computed in the browser. The logs, of the ACR paper's authors, are not ours to pass
on. What is kept of them is how many images have which radius under each method (`acr-radii.csv`), and how each method
compares with Gaussian training on the images that were equally easy for the latter (`acr-pairs.csv`).
"""

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from randsmooth import bounds, metrics, read
from randsmooth.certificates import infer
from randsmooth.noise import Gaussian
from randsmooth.report.charts import GREY, PALETTE, looks

Floats = NDArray[np.float64]
Trace = dict[str, Any]
DATA = Path(__file__).parents[1] / "_data"
SIGMA, N, ALPHA = 0.5, 100_000, 0.001  # of the logs
IN_ALL, CHANCE = (
    10_000,
    0.1,
)  # images, and p_A of one that was given up: one of ten classes
STATED = (
    0.5  # the radius that a paper stated beforehand; its certified accuracy is said
)
NAMES = {  # by their ACR
    "gaussian": "Gaussian",
    "macer": "MACER",
    "smoothadv": "SmoothAdv",
    "consistency": "Consistency",
    "smoothmix": "SmoothMix",
    "catrs": "CAT-RS",
    "ours": "Amplify",
}
OTHERS = list(NAMES)[1:]
COLOURS = dict(
    zip(NAMES, (look.colour for look in looks(list(NAMES.values()))), strict=True)
)
RANGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)  # of p_A
ABOVE = {
    "legend": {
        "orientation": "h",
        "y": 1.02,
        "yanchor": "bottom",
        "x": 0,
        "font": {"size": 11},
    }
}


@dataclass(frozen=True)
class State:
    """What a figure shows at one place of its control: traces as plotly.js takes them, and a sentence."""

    label: str
    text: str
    data: list[Trace]
    layout: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """States, and the control that leads through them: "slider", "choice", or none."""

    states: list[State]
    layout: dict[str, Any]
    control: str = ""
    question: str = ""
    start: int = 0


# --- what is kept of the logs ---------------------------------------------------------------------------------------


@cache
def counted() -> pd.DataFrame:
    """How many images have each radius, a column a method; the first row, of radius -1, counts those without one."""
    return pd.read_csv(DATA / "acr-radii.csv")


@cache
def pairs() -> pd.DataFrame:
    """Of each method but Gaussian and each range of Gaussian's p_A: images, parts of ACR, images lost and won."""
    return pd.read_csv(DATA / "acr-pairs.csv")


def keep(logs: Path, out: Path = DATA) -> None:
    """Write both from the TSV logs in a folder."""
    tables = {
        name: infer(read(logs / f"{name}.tsv"), logs / f"{name}.tsv") for name in NAMES
    }
    radii = {
        n: pd.Series(np.where(t.correct, t.radius, -1.0)).value_counts()
        for n, t in tables.items()
    }
    every = (
        pd.DataFrame(radii)
        .fillna(0)
        .astype(int)
        .sort_index()
        .rename_axis("radius")
        .reset_index()
    )
    every.to_csv(out / "acr-radii.csv", index=False, float_format="%.4g")
    gaussian, rows = tables["gaussian"], []
    p_a = np.nan_to_num(metrics.p_a(gaussian).values)
    for name in OTHERS:
        table = tables[name]
        parts = metrics.waterfall(table, gaussian)
        place = np.maximum(np.searchsorted(parts.edges, p_a, side="left") - 1, 0)
        lost, won = gaussian.correct & ~table.correct, table.correct & ~gaussian.correct
        for i, (low, high) in enumerate(
            zip(parts.edges[:-1], parts.edges[1:], strict=True)
        ):
            acr = (round(float(parts.a[i]), 6), round(float(parts.b[i]), 6))
            changed = (int(lost[place == i].sum()), int(won[place == i].sum()))
            rows.append((name, low, high, int(parts.images[i]), *acr, *changed))
    columns = [
        "method",
        "above",
        "up_to",
        "images",
        "acr",
        "acr_gaussian",
        "lost",
        "won",
    ]
    pd.DataFrame(rows, columns=columns).to_csv(out / "acr-pairs.csv", index=False)


def radii_of(method: str) -> Floats:
    """(10,000,) the radius of each image, in ascending order; 0 where it is wrong or was abstained on."""
    table = counted()
    return np.repeat(table.radius.clip(lower=0.0).to_numpy(), table[method].to_numpy())


def acr_of(method: str) -> float:
    return float(radii_of(method).mean())


def shares_at(method: str, radii: Floats) -> Floats:
    """Certified accuracy at each radius."""
    table = counted()
    right = table[table.radius >= 0.0]
    return (
        np.array([right[method][right.radius >= r].sum() for r in radii])
        / table[method].sum()
    )


def p_a_of(radius: Floats) -> Floats:
    """The share of right answers from which a radius was computed."""
    return bounds.successes_of_q(Gaussian(SIGMA).tail(radius), N, ALPHA) / N


def radius_of(p_a: Floats) -> Floats:
    """The radius that n samples certify of which a share `p_a` is right."""
    return Gaussian(SIGMA).radius(bounds.q_upper(np.rint(p_a * N), N, ALPHA))


# --- the six figures ------------------------------------------------------------------------------------------------


def bars(
    x: list[str], y: Any, colour: str, hover: str, name: str = "", **more: Any
) -> Trace:
    named = {"name": name} if name else {}
    return {
        "type": "bar",
        "x": x,
        "y": y,
        "marker": {"color": colour},
        "hovertemplate": hover,
        **named,
        **more,
    }


def line(
    name: str, x: Floats, y: Floats, colour: str, width: float, hover: str
) -> Trace:
    values = {
        "x": x.round(5).tolist(),
        "y": y.round(4).tolist(),
        "line": {"color": colour, "width": width},
    }
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        **values,
        "hovertemplate": hover,
    }


def axes(
    x: str, y: str, *, categories: bool = False, reach: list[float] | None = None
) -> dict[str, Any]:
    across = {"title": {"text": x}} | ({"type": "category"} if categories else {})
    return {
        "xaxis": across,
        "yaxis": {"title": {"text": y}} | ({"range": reach} if reach else {}),
        "height": 400,
    }


def plain(p: float) -> str:
    """A probability as .66."""
    return f"{p:.2f}".removeprefix("0")


def worth() -> Figure:
    """What a hundredth of p_A is worth."""
    start = np.array(
        [0.51, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95, 0.98, 0.99]
    )
    gained = (radius_of(start + 0.01) - radius_of(start)) / SIGMA
    hover = "from %{x} up by .01: %{y:.3f} sigma<extra></extra>"
    text = (
        f"From .55 to .56 an image gains {gained[1]:.3f} sigma of radius, from .99 to 1 it gains {gained[-1]:.3f} "
        f"sigma: {gained[-1] / gained[1]:.0f} times as much."
    )
    traces = [
        bars([plain(p) for p in start], gained.round(4).tolist(), PALETTE[0], hover)
    ]
    return Figure(
        [State("", text, traces)],
        axes("p_A before", "radius gained, in sigma", categories=True),
    )


def two_scales() -> Figure:
    """One curve on two scales."""
    radii = np.append(np.arange(0.001, 1.90, 0.01), 1.905)
    p_a, fine = p_a_of(radii), np.arange(0.001, 1.5, 0.002)
    ahead = [
        np.argmax(shares_at(name, fine) >= shares_at("gaussian", fine))
        for name in OTHERS
    ]
    meet = p_a_of(
        fine[ahead]
    )  # the smallest p_A from which on a method has as many images as Gaussian training
    whole = float(Gaussian(SIGMA).largest_radius(N, ALPHA))
    texts = (
        "Every hundredth of p_A has the same width; left of .5 logs tell nothing. On this scale Gaussian training is "
        f"ahead of all others at first, and they draw level with it between {plain(min(meet))} and {plain(max(meet))}.",
        "The same curves, stretched to the radius that each p_A certifies: the last hundredth of p_A takes "
        f"{(whole - radius_of(np.array([0.99]))[0]) / whole:.0%} of the width. The area under a curve is its ACR, "
        "which stands beside its name.",
    )
    states = []
    for label, x, span, text in (
        ("p_A", p_a, [0.5, 1.0], texts[0]),
        ("radius", radii, [0.0, 1.91], texts[1]),
    ):
        curves = []
        for name, words in NAMES.items():
            called = f"{words} {acr_of(name):.3f}".replace(" 0.", " .")
            width = 3 if name in ("gaussian", "ours") else 1.5
            curves.append(
                line(
                    called, x, shares_at(name, radii), COLOURS[name], width, "%{y:.1%}"
                )
            )
        states.append(
            State(
                label,
                text,
                curves,
                {"xaxis": {"range": span, "title": {"text": label}}},
            )
        )
    return Figure(
        states,
        axes("p_A", "share of images") | ABOVE | {"height": 440},
        "choice",
        "Scale:",
    )


@dataclass(frozen=True)
class Outcome:
    """What images are worth whose right answers were taken from the hard and given to the easy.

    Attributes:
        p_a: (R,) of the images that were right before.
        given_up: how many of them are not any more.
    """

    p_a: Floats
    given_up: int

    def accuracy(self, radius: float = 0.0) -> float:
        return float((radius_of(self.p_a) > radius).sum() / IN_ALL)

    def acr(self) -> float:
        return float(radius_of(self.p_a).sum() / IN_ALL)

    def in_ranges(self) -> list[int]:
        """Images by p_A; those that the log has no p_A of are below .5."""
        found = np.histogram(self.p_a, RANGES)[0]
        found[0] += IN_ALL - len(self.p_a)
        return [int(each) for each in found]


def give_up(p_a: Floats, below: float) -> Outcome:
    """Let images with p_A under `below` answer by chance, and give the right answers that they lose to the easiest.

    The image that was nearest to 1 becomes certain first, then the next. Images that were not certified at STATED get
    none, and what finds no room is lost: the sum of `p_a` does not grow, nor does certified accuracy at STATED.
    """
    kept, left = np.sort(p_a[p_a >= below])[::-1], p_a[p_a < below]
    freed = float(np.sum(left - CHANCE))
    room = np.where(radius_of(kept) > STATED, 1.0 - kept, 0.0)
    taken = np.minimum(
        room, np.maximum(0.0, freed - np.concatenate(([0.0], np.cumsum(room)[:-1])))
    )
    return Outcome(
        np.concatenate((kept + taken, np.full(len(left), CHANCE))), len(left)
    )


STARTS_AT = 0.9  # of the slider: accuracy at STATED has fallen there, and ACR has risen


def giving_up() -> Figure:
    """What becomes of accuracy and ACR where images are given up."""
    radii = radii_of("gaussian")
    before, states = Outcome(p_a_of(radii[radii > 0.0]), 0), []
    names = [
        "below .5",
        ".5 to .6",
        ".6 to .7",
        ".7 to .8",
        ".8 to .9",
        ".9 to .95",
        ".95 to .99",
    ]
    names += [".99 to .999", "above .999"]
    for below in np.arange(0.50, 0.965, 0.01):
        after = give_up(before.p_a, float(below))
        text = (
            f"{after.given_up:,} images given up. No more noisy copies than before are classified correctly. Accuracy "
            f"{before.accuracy():.1%} → {after.accuracy():.1%}, certified at {STATED:g} "
            f"{before.accuracy(STATED):.1%} → {after.accuracy(STATED):.1%}, ACR {before.acr():.3f} → {after.acr():.3f}."
        )
        sides = (("before", before, GREY), ("after", after, PALETTE[1]))
        traces = [
            bars(names, side.in_ranges(), colour, "%{y:,} images", name)
            for name, side, colour in sides
        ]
        states.append(State(plain(float(below)), text, traces))
    layout = (
        axes("p_A", "images", categories=True, reach=[0, 7000])
        | ABOVE
        | {"barmode": "group", "bargap": 0.15}
    )
    return Figure(
        states,
        layout,
        "slider",
        "Give up images with p_A below",
        start=[state.label for state in states].index(plain(STARTS_AT)),
    )


def by_method(
    what: Callable[[pd.DataFrame, list[str]], tuple[str, list[Trace]]],
    layout: dict[str, Any],
) -> Figure:
    """A choice of methods: the sentence and the bars of each, by ranges of p_A under Gaussian training."""
    states = []
    for name in OTHERS:
        rows = pairs()[pairs().method == name]
        ends = zip(rows.above[1:], rows.up_to[1:], strict=True)
        ranges = [
            "below .5",
            *(f"{low:g} to {high:g}".replace("0.", ".") for low, high in ends),
        ]
        states.append(State(NAMES[name], *what(rows, ranges)))
    return Figure(states, layout, "choice", "Method:", start=len(states) - 1)


def where_from() -> Figure:
    """Where a lead in ACR comes from."""

    def of(rows: pd.DataFrame, ranges: list[str]) -> tuple[str, list[Trace]]:
        lead = (rows.acr - rows.acr_gaussian).to_numpy()
        text = (
            f"ACR is {lead.sum():.3f} above Gaussian training's. {lead[1:].sum() / lead.sum():.0%} of that comes from "
            "images that were easy for it already: on the whole their radii grew."
        )
        hover, images = (
            "%{y:+.4f}, %{customdata:,} images<extra></extra>",
            rows.images.tolist(),
        )
        return text, [
            bars(ranges, lead.round(5).tolist(), PALETTE[0], hover, customdata=images)
        ]

    y = "part of the lead in ACR"
    return by_method(
        of, axes("p_A under Gaussian training", y, categories=True, reach=[0.0, 0.045])
    )


def lost_and_won() -> Figure:
    """Which images a method loses, and which it wins."""

    def of(rows: pd.DataFrame, ranges: list[str]) -> tuple[str, list[Trace]]:
        below = int(rows.lost[(rows.above > 0.0) & (rows.up_to <= 0.8)].sum())
        text = (
            f"{rows.lost.sum():,} images that Gaussian training classifies are lost; {below:,} of them had p_A from .5 "
            f"to .8. {rows.won.sum():,} of the {rows.images.iloc[0]:,} that it does not classify are won."
        )
        sides = (("lost", -rows.lost, PALETTE[1]), ("won", rows.won, PALETTE[2]))
        return text, [
            bars(ranges, y.tolist(), colour, "%{y:+,} images", name)
            for name, y, colour in sides
        ]

    layout = axes(
        "p_A under Gaussian training",
        "images lost (−) and won",
        categories=True,
        reach=[-450, 700],
    )
    return by_method(of, layout | ABOVE | {"barmode": "relative"})


def share_of_acr() -> Figure:
    """Whose radius ACR is."""
    share = np.linspace(0.0, 1.0, 101)
    top = {
        name: np.concatenate(([0.0], np.cumsum(radii_of(name)[::-1])))
        for name in ("gaussian", "catrs", "ours")
    }
    parts = {
        name: sums[np.rint(share * (len(sums) - 1)).astype(int)] / sums[-1]
        for name, sums in top.items()
    }
    curves = [
        line(NAMES[name], share, part, COLOURS[name], 2.5, "%{y:.0%}")
        for name, part in parts.items()
    ]
    without = {name: float(np.mean(radii_of(name) == 0.0)) for name in parts}
    text = (
        f"A quarter of the images make {parts['gaussian'][25]:.0%} of Gaussian training's ACR, and "
        f"{parts['ours'][25]:.0%} of Amplify's. On the right, where the curves are flat, are images without a radius: "
        f"{without['gaussian']:.0%} and {without['ours']:.0%}. What happens to them does not show in ACR at all."
    )
    return Figure(
        [State("", text, curves)],
        axes("share of images, largest radii first", "share of ACR") | ABOVE,
    )


FIGURES: dict[str, Callable[[], Figure]] = {
    "acr-worth": worth,
    "acr-two-scales": two_scales,
    "acr-giving-up": giving_up,
    "acr-where-from": where_from,
    "acr-lost-and-won": lost_and_won,
    "acr-share": share_of_acr,
}


def drawn() -> dict[str, dict[str, Any]]:
    """All figures by name, as the site's script takes them."""
    return {name: asdict(make()) for name, make in FIGURES.items()}


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
