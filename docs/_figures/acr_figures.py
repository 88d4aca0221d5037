"""The figures of the page "Why not ACR", from docs/_data: for the site with controls, elsewhere as pictures.

    python docs/_figures/acr_figures.py      # draws docs/images/acr-*.png anew

A figure is a list of states. Its control, a slider or a choice, goes from one to the other; everything that a state
shows is computed here. Nothing is computed in the browser.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.noise import Gaussian
from randsmooth.report.figures.charts import BASELINE, PALETTE

Floats = NDArray[np.float64]
DATA, IMAGES = Path(__file__).parents[1] / "_data", Path(__file__).parents[1] / "images"
SIGMA, N, ALPHA = 0.5, 100_000, 0.001  # of the logs
CHANCE = 0.1  # p_A of an image that was given up: one of ten classes
NAMES = {
    "gaussian": "Gaussian",
    "macer": "MACER",
    "smoothadv": "SmoothAdv",
    "consistency": "Consistency",
    "smoothmix": "SmoothMix",
    "catrs": "CAT-RS",
    "ours": "Amplify",
}
COLOURS = dict(zip(NAMES, (BASELINE, *PALETTE), strict=False))
RANGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)  # of p_A
RANGE_NAMES = (
    "below .5",
    ".5 to .6",
    ".6 to .7",
    ".7 to .8",
    ".8 to .9",
    ".9 to .95",
    ".95 to .99",
    ".99 to .999",
    "above .999",
)


@dataclass(frozen=True)
class State:
    """What a figure shows at one place of its control: traces as plotly.js takes them, and a sentence."""

    label: str
    text: str
    data: list[dict[str, Any]]
    layout: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """States, and the control that leads through them; with one state there is none."""

    states: list[State]
    layout: dict[str, Any]
    control: Literal["slider", "choice", ""] = ""
    question: str = ""
    start: int = 0


def plain(p: float) -> str:
    """A probability as .66."""
    return f"{p:.2f}".removeprefix("0")


def counted() -> pd.DataFrame:
    """How many images have each radius, a column a method; the first row counts those without one."""
    return pd.read_csv(DATA / "acr-radii.csv")


def pairs() -> pd.DataFrame:
    return pd.read_csv(DATA / "acr-pairs.csv")


def radii_of(method: str) -> Floats:
    """(10,000,) the radius of each image, in ascending order; 0 where it is wrong or was abstained on."""
    table = counted()
    return np.repeat(table.radius.clip(lower=0.0).to_numpy(), table[method].to_numpy())


def shares_at(method: str, radii: Sequence[float] | Floats) -> Floats:
    """Certified accuracy at each radius."""
    table = counted()
    right = table[table.radius >= 0.0]
    return np.array([right[method][right.radius >= r].sum() for r in radii]) / table[method].sum()


def p_a_of(radius: Floats) -> Floats:
    """The share of right answers from which a radius was computed."""
    return bounds.successes_of_q(Gaussian(SIGMA).tail(radius), N, ALPHA) / N


def radius_of(p_a: Floats) -> Floats:
    """The radius that n samples certify of which a share `p_a` is right."""
    return Gaussian(SIGMA).radius(bounds.q_upper(np.rint(p_a * N), N, ALPHA))


# --- what a hundredth of p_A is worth -------------------------------------------------------------------------------


def worth() -> Figure:
    start = np.array([0.51, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95, 0.98, 0.99])
    gained = (radius_of(start + 0.01) - radius_of(start)) / SIGMA
    bars = {
        "type": "bar",
        "x": [plain(p) for p in start],
        "y": gained.round(4).tolist(),
        "marker": {"color": PALETTE[0]},
        "hovertemplate": "from %{x} up by .01: %{y:.3f} sigma<extra></extra>",
    }
    text = (
        f"From .55 to .56 an image gains {gained[1]:.3f} sigma of radius, from .99 to 1 it gains {gained[-1]:.3f} "
        f"sigma: {gained[-1] / gained[1]:.0f} times as much."
    )
    layout = axes("p_A before", "radius gained, in sigma") | {
        "xaxis": {"type": "category", "title": {"text": "p_A before"}}
    }
    return Figure([State("", text, [bars])], layout)


# --- one curve on two scales ----------------------------------------------------------------------------------------


def two_scales() -> Figure:
    radii = np.append(np.arange(0.001, 1.90, 0.01), 1.905)
    p_a = p_a_of(radii)
    meet = [meeting(name) for name in list(NAMES)[1:]]
    texts = (
        "Every hundredth of p_A has the same width; left of .5 logs tell nothing. On this scale Gaussian training is "
        f"ahead of all others at first, and they draw level with it between {plain(min(meet))} and {plain(max(meet))}.",
        "The same curves, stretched to the radius that each p_A certifies: the last hundredth of p_A takes "
        f"{share_of_last_hundredth():.0%} of the width. The area under a curve is its ACR, which stands beside its "
        "name.",
    )
    scales = (("p_A", p_a, [0.5, 1.0]), ("radius", radii, [0.0, 1.91]))
    states = [
        State(label, text, [curve(name, x) for name in NAMES], {"xaxis": {"range": span, "title": {"text": label}}})
        for (label, x, span), text in zip(scales, texts, strict=True)
    ]
    return Figure(states, axes("p_A", "share of images") | {"legend": ABOVE, "height": 440}, "choice", "Scale:")


def curve(name: str, x: Floats) -> dict[str, Any]:
    radii = np.append(np.arange(0.001, 1.90, 0.01), 1.905)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{NAMES[name]} {acr_of(name):.3f}".replace(" 0.", " ."),
        "x": x.round(5).tolist(),
        "y": shares_at(name, radii).round(4).tolist(),
        "line": {"color": COLOURS[name], "width": 3 if name in ("gaussian", "ours") else 1.5},
        "hovertemplate": "%{y:.1%}",
    }


def meeting(name: str) -> float:
    """The smallest p_A from which on the method has as many images as Gaussian training."""
    radii = np.arange(0.001, 1.5, 0.002)
    ahead = shares_at(name, radii) >= shares_at("gaussian", radii)
    return float(p_a_of(radii[[int(np.argmax(ahead))]])[0])


def acr_of(name: str) -> float:
    return float(radii_of(name).mean())


def share_of_last_hundredth() -> float:
    whole = Gaussian(SIGMA).largest_radius(N, ALPHA)
    return float((whole - radius_of(np.array([0.99]))[0]) / whole)


# --- giving up ------------------------------------------------------------------------------------------------------


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
        return float(np.mean(np.concatenate((self._radii(), self._others())) > radius))

    def acr(self) -> float:
        return float(self._radii().sum() / IN_ALL)

    def _radii(self) -> Floats:
        return radius_of(self.p_a)

    def _others(self) -> Floats:
        return np.zeros(IN_ALL - len(self.p_a))


IN_ALL = 10_000


def give_up(p_a: Floats, below: float) -> Outcome:
    """Let images with p_A under `below` answer by chance, and give the right answers that they lose to the easiest.

    The sum of `p_a` stays as it is: as many noisy images are classified correctly as before. The image that was nearest
    to 1 becomes certain first, then the next. Raises ValueError where the others cannot take so many.
    """
    kept = np.sort(p_a[p_a >= below])[::-1]
    left = p_a[p_a < below]
    freed = float(np.sum(left - CHANCE))
    room = 1.0 - kept
    if freed > room.sum():
        raise ValueError(f"below={below}: {freed:.0f} right answers are free, and there is room for {room.sum():.0f}")
    taken = np.minimum(room, np.maximum(0.0, freed - np.concatenate(([0.0], np.cumsum(room)[:-1]))))
    return Outcome(np.concatenate((kept + taken, np.full(len(left), CHANCE))), len(left))


def giving_up() -> Figure:
    radii = radii_of("gaussian")
    p_a = p_a_of(radii[radii > 0.0])
    before = Outcome(p_a, 0)
    states = []
    for below in np.arange(0.50, 0.91, 0.01):
        try:
            after = give_up(p_a, float(below))
        except ValueError:
            break
        states.append(State(plain(float(below)), said(before, after), bars_of(before, after)))
    layout = axes("p_A", "images") | {"barmode": "group", "bargap": 0.15, "legend": ABOVE}
    layout |= {
        "xaxis": {"type": "category", "title": {"text": "p_A"}},
        "yaxis": {"range": [0, 6000], "title": {"text": "images"}},
    }
    return Figure(states, layout, "slider", "Give up images with p_A below", start=min(10, len(states) - 1))


def said(before: Outcome, after: Outcome) -> str:
    return (
        f"{after.given_up:,} images given up. As many noisy copies as before are classified correctly. "
        f"Accuracy {before.accuracy():.1%} → {after.accuracy():.1%}, certified at 0.5 {before.accuracy(0.5):.1%} → "
        f"{after.accuracy(0.5):.1%}, ACR {before.acr():.3f} → {after.acr():.3f}."
    )


def bars_of(before: Outcome, after: Outcome) -> list[dict[str, Any]]:
    looks = (("before", before, BASELINE), ("after", after, PALETTE[1]))
    return [
        {
            "type": "bar",
            "name": name,
            "x": list(RANGE_NAMES),
            "y": in_ranges(outcome).tolist(),
            "marker": {"color": colour},
            "hovertemplate": "%{y:,} images",
        }
        for name, outcome, colour in looks
    ]


def in_ranges(outcome: Outcome) -> NDArray[np.int64]:
    """(9,) images by p_A; those that the log has no p_A of are below .5."""
    found = np.histogram(outcome.p_a, RANGES)[0]
    found[0] += IN_ALL - len(outcome.p_a)
    return found


# --- where a lead comes from ----------------------------------------------------------------------------------------


def where_from() -> Figure:
    table = pairs()
    states = []
    for name in list(NAMES)[1:]:
        rows = table[table.method == name]
        difference = (rows.acr - rows.acr_gaussian).to_numpy()
        easy = difference[1:].sum() / difference.sum()
        text = (
            f"ACR is {difference.sum():.3f} above Gaussian training's. {easy:.0%} of that comes from images that were "
            "easy for it already: on the whole their radii grew."
        )
        states.append(State(NAMES[name], text, [part_bars(rows, difference)]))
    layout = axes("p_A under Gaussian training", "part of the lead in ACR")
    layout |= {"xaxis": {"type": "category", "title": {"text": "p_A under Gaussian training"}}}
    layout |= {"yaxis": {"range": [0.0, 0.045], "title": {"text": "part of the lead in ACR"}}}
    return Figure(states, layout, "choice", "Method:", start=len(states) - 1)


def part_bars(rows: pd.DataFrame, difference: Floats) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": range_names(rows),
        "y": difference.round(5).tolist(),
        "customdata": rows.images.tolist(),
        "marker": {"color": PALETTE[0]},
        "hovertemplate": "%{y:+.4f}, %{customdata:,} images<extra></extra>",
    }


def range_names(rows: pd.DataFrame) -> list[str]:
    ends = zip(rows.above[1:], rows.up_to[1:], strict=True)
    return ["below .5", *(f"{low:g} to {high:g}".replace("0.", ".") for low, high in ends)]


def lost_and_won() -> Figure:
    table = pairs()
    states = []
    for name in list(NAMES)[1:]:
        rows = table[table.method == name]
        below = int(rows.lost[(rows.above > 0.0) & (rows.up_to <= 0.8)].sum())
        text = (
            f"{rows.lost.sum():,} images that Gaussian training classifies are lost; {below:,} of them had p_A from .5 "
            f"to .8. {rows.won.sum():,} of the {rows.images.iloc[0]:,} that it does not classify are won."
        )
        bars = [bars_by_range(rows, "lost", -rows.lost, PALETTE[1]), bars_by_range(rows, "won", rows.won, PALETTE[2])]
        states.append(State(NAMES[name], text, bars))
    layout = axes("p_A under Gaussian training", "images") | {"barmode": "relative", "legend": ABOVE}
    layout |= {"xaxis": {"type": "category", "title": {"text": "p_A under Gaussian training"}}}
    layout |= {"yaxis": {"range": [-450, 700], "title": {"text": "images lost (−) and won"}}}
    return Figure(states, layout, "choice", "Method:", start=len(states) - 1)


def bars_by_range(rows: pd.DataFrame, name: str, heights: pd.Series, colour: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": name,
        "x": range_names(rows),
        "y": heights.tolist(),
        "marker": {"color": colour},
        "hovertemplate": "%{y:+,} images",
    }


# --- whose radius ACR is --------------------------------------------------------------------------------------------


def share_of_acr() -> Figure:
    curves = [share_curve(name) for name in ("gaussian", "catrs", "ours")]
    of = {name: (top_share(name, 0.25), float(np.mean(radii_of(name) == 0.0))) for name in ("gaussian", "ours")}
    text = (
        f"A quarter of the images make {of['gaussian'][0]:.0%} of Gaussian training's ACR, and {of['ours'][0]:.0%} of "
        "Amplify's. On the right, where the curves are flat, are images without a radius: "
        f"{of['gaussian'][1]:.0%} and {of['ours'][1]:.0%}. What happens to them does not show in ACR at all."
    )
    layout = axes("share of images, largest radii first", "share of ACR") | {"legend": ABOVE}
    return Figure([State("", text, curves)], layout)


def share_curve(name: str) -> dict[str, Any]:
    x = np.linspace(0.0, 1.0, 101)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": NAMES[name],
        "x": x.round(2).tolist(),
        "y": [round(top_share(name, share), 4) for share in x],
        "line": {"color": COLOURS[name], "width": 2.5},
        "hovertemplate": "%{y:.0%}",
    }


def top_share(name: str, share: float) -> float:
    """The part of ACR that the images with the largest radii make."""
    ordered = radii_of(name)[::-1]
    return float(ordered[: round(share * len(ordered))].sum() / ordered.sum())


# --- all of them ----------------------------------------------------------------------------------------------------

ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 11}}
FIGURES: dict[str, Callable[[], Figure]] = {
    "acr-worth": worth,
    "acr-two-scales": two_scales,
    "acr-giving-up": giving_up,
    "acr-where-from": where_from,
    "acr-lost-and-won": lost_and_won,
    "acr-share": share_of_acr,
}


def axes(x: str, y: str) -> dict[str, Any]:
    return {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}, "height": 400}


def drawn() -> dict[str, dict[str, Any]]:
    """All figures by name, as the site's script takes them."""
    return {name: asdict(make()) for name, make in FIGURES.items()}


def pictures(folder: Path) -> None:
    """Each figure's first state as a PNG, for GitHub and for browsers without scripts."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    for name, make in FIGURES.items():
        figure = make()
        state = figure.states[figure.start]
        layout = figure.layout | state.layout
        fig, ax = plt.subplots(figsize=(6.4, 4.0), dpi=110)
        side_by_side = len(state.data) if layout.get("barmode") == "group" else 1
        for place, trace in enumerate(state.data):
            colour = (trace.get("line") or trace["marker"])["color"]
            if trace["type"] == "bar":
                width = 0.8 / side_by_side
                shift = (place - (side_by_side - 1) / 2) * width if side_by_side > 1 else 0.0
                ax.bar(np.arange(len(trace["x"])) + shift, trace["y"], width, color=colour, label=trace.get("name"))
                ax.set_xticks(range(len(trace["x"])), trace["x"], rotation=35, ha="right", fontsize=9)
            else:
                ax.plot(trace["x"], trace["y"], color=colour, lw=trace["line"]["width"], label=trace["name"])
                ax.set_xlim(*(layout["xaxis"].get("range") or (0.0, 1.0)))
        ax.set(xlabel=layout["xaxis"]["title"]["text"], ylabel=layout["yaxis"]["title"]["text"])
        ax.grid(alpha=0.25)
        if state.data[0].get("name"):
            ax.legend(fontsize=9)
        fig.tight_layout()
        fig.savefig(folder / f"{name}.png", metadata={"Software": None})
        plt.close(fig)


if __name__ == "__main__":
    pictures(IMAGES)
