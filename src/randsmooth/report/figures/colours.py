"""Colours that colour-blind readers can tell apart (Okabe & Ito 2008); a dash pattern where they run out."""

from __future__ import annotations

from dataclasses import dataclass

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#9467BD")
BASELINE = "#808080"
DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True)
class Look:
    """How one table's curve is drawn: an #RRGGBB colour and one of DASHES."""

    colour: str
    dash: str


def looks(count: int, baseline: int | None) -> list[Look]:
    """A look for each of `count` tables: grey for the baseline, the palette in order for the others."""
    others = [row for row in range(count) if row != baseline]
    drawn = {
        row: Look(PALETTE[i % len(PALETTE)], DASHES[i // len(PALETTE) % len(DASHES)]) for i, row in enumerate(others)
    }
    return [drawn.get(row, Look(BASELINE, "solid")) for row in range(count)]
