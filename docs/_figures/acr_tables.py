"""Write the tables of the pages about ACR, from docs/_data and results/acr-moves.json.

python docs/_figures/acr_tables.py            # writes them
python docs/_figures/acr_tables.py --check    # fails if a page's table is not what these files say
"""

from __future__ import annotations

import json
from typing import Any

from acr_figures import NAMES, acr_of, p_a_of, pairs, radii_of
from marked_tables import ROOT, MarkedTables, rows

MOVES = ROOT / "results" / "acr-moves.json"
LEVELS = (0.5, 0.75, 0.9, 0.99)
CHANGES = (  # what the page calls it, what the file calls its lowest and its highest end
    ("500 images, every 20th from the first on", "every 20th image (500)", "every 20th image (500)"),
    (
        "500 images, every 20th from any other start",
        "every 20th image, lowest of the 20 ways",
        "every 20th image, highest of the 20 ways",
    ),
    ("the first 500 images", "the first 500 images", "the first 500 images"),
    ("500 images by chance: 95% of the draws", "500 images by chance, 95% of the draws within", ""),
    ("1,000 images by chance: 95% of the draws", "1,000 images by chance, 95% of the draws within", ""),
    ("n = 10,000", "n = 10,000", "n = 10,000"),
    ("n = 1,000", "n = 1,000", "n = 1,000"),
    ("n = 100", "n = 100", "n = 100"),
    ("alpha = 0.01", "alpha = 0.01", "alpha = 0.01"),
    ("alpha = 0.05", "alpha = 0.05", "alpha = 0.05"),
    ("alpha = 0.0001", "alpha = 0.0001", "alpha = 0.0001"),
    ("n0 = 10 (at worst)", "n0 = 10, lost at most", "n0 = 10, lost at most"),
    ("n0 = 1 (at worst)", "n0 = 1, lost at most", "n0 = 1, lost at most"),
    ("another seed of the noise: 95% of them", "another seed of the noise, 95% of them within", ""),
    (
        "radii of a log, rounded to three digits",
        "radii of a log, rounded to three digits",
        "radii of a log, rounded to three digits",
    ),
    (
        "the mean over right images alone",
        "mean radius of the right images alone",
        "mean radius of the right images alone",
    ),
)


def acr_and_p_a() -> str:
    """Each method by its ACR, beside shares of images by p_A and the images lost and won against Gaussian training."""
    head = ("method", "ACR", *(f"p_A ≥ {level:g}".replace("0.", ".") for level in LEVELS), "lost", "won")
    return rows(head, *(_of_method(name) for name in sorted(NAMES, key=acr_of, reverse=True)))


def _of_method(name: str) -> tuple[str, ...]:
    radii = radii_of(name)
    p_a = p_a_of(radii[radii > 0.0])
    shares = (f"{100 * (p_a >= level).sum() / len(radii):.1f}%" for level in LEVELS)
    changed = pairs()[lambda table: table.method == name]
    moved = ("–", "–") if changed.empty else (f"{changed.lost.sum():,}", f"{changed.won.sum():,}")
    return (NAMES[name], f"{acr_of(name):.3f}".removeprefix("0"), *shares, *moved)


def moves() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(MOVES.read_text())
    return found


def acr_moves() -> str:
    """By how many per cent ACR moves, over the methods, with each change."""
    told = moves()
    whole, moved = told["ACR of all images"], told["moved"]
    cells = [("what is changed", "ACR moves by")]
    for words, low, high in CHANGES:
        share = {end: [100 * moved[end][name] / whole[name] for name in whole] for end in (low, high) if end}
        cells.append((words, _range(min(share[low]), max(share[high])) if high else _either_way(share[low])))
    return rows(*cells)


def _range(low: float, high: float) -> str:
    """Two per cents, each with as many digits as tell it from 0."""
    digits = 0 if max(abs(low), abs(high)) >= 10 else 1 if max(abs(low), abs(high)) >= 0.5 else 2
    ends = [f"{value:+.{digits}f}".replace("-", "−") for value in (low, high)]
    return f"{ends[0]}%" if ends[0] == ends[1] else f"{ends[0]}% to {ends[1]}%"


def _either_way(shares: list[float]) -> str:
    """How far ACR lies to either side, over the methods."""
    digits = 1 if max(shares) >= 0.5 else 2
    return f"±{min(shares):.{digits}f}% to ±{max(shares):.{digits}f}%"


def acr_runs() -> str:
    """ACR over seeds of training, runs, networks and training noise."""
    moved = moves()["moved"]
    seeds, mean = moved["MNIST, highest less lowest of the seeds"], moved["MNIST, mean of the seeds"]
    share = [100 * seeds[name] / mean[name] for name in seeds]
    whole = moves()["ACR of all images"]
    other = moved["the log of another paper"]
    runs = {name: 100 * change / whole[name] for name, change in other.items()}
    networks = moved["ACR by network, Consistency"]
    noise = moved["ACR at sigma 0.5 by noise of training"]
    released = ", ".join(f"{NAMES[name]} {_range(value, value)}" for name, value in runs.items() if value)
    return rows(
        ("what is changed", "ACR"),
        (
            "seed of training: five runs each of six methods, MNIST",
            f"from lowest to highest {min(share):.1f}% to {max(share):.1f}%",
        ),
        (
            "another run of the same method, in the logs of CAT-RS (Gaussian: m = 1 there, 4 here), CIFAR-10",
            released,
        ),
        ("the network, under Consistency, CIFAR-10", _named(networks, "cifar_")),
        ("sigma of training, all certified at 0.5 (Cohen et al., 500 images of CIFAR-10)", _named(noise)),
    )


def _named(figures: dict[str, float], prefix: str = "") -> str:
    return ", ".join(
        f"{name.removeprefix(prefix)}: {value:.3f}".replace(" 0.", " .") for name, value in figures.items()
    )


TABLES = MarkedTables("acr-table", {"acr-and-p_a": acr_and_p_a, "acr-moves": acr_moves, "acr-runs": acr_runs})

if __name__ == "__main__":
    TABLES.write()
