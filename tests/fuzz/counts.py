"""Counts of another program, as `from_counts` reads them. They carry no digest."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from certificates.walks import HEADER, table_of
from fuzz.draw import Draw
from fuzz.plain import bent, to_json
from fuzz.reader import Files, Reader
from fuzz.tables import impossible, meaning
from randsmooth.certificates import from_counts
from randsmooth.noise import Gaussian
from randsmooth.report import render

SIGMA, N, ALPHA = 0.5, 200, 0.05


class Counts(Reader):
    """Values between commas or tabs: what is read is possible, and no radius is larger than n samples prove."""

    name = "counts"
    signed = False
    file = "counts.csv"

    def valid(self) -> list[Files]:
        return [{self.file: text.encode()} for text in (_wide(), _wide("\t"), _lists(), _picked_alone())]

    def read(self, folder: Path) -> Any:
        table = from_counts(folder / self.file, sigma=SIGMA, alpha=ALPHA)
        render([table], format="json")
        return meaning(table) | {"most": Gaussian(SIGMA).largest_radius(table.header.n or 0, ALPHA)}

    def fault(self, read: Any) -> str:
        most = read["most"]
        if (read["radius"] > most * (1.0 + 1e-9)).any():
            return "a radius that no counts prove"
        if (read["counts"] < 0).any() or (read["counts0"] < 0).any():
            return "a count below 0"
        if (read["counts"].sum(axis=1) != read["header"]["n"]).any():
            return "counts that do not add up"
        return _impossible_but_labels({key: value for key, value in read.items() if key != "most"})

    def bent(self, files: Files, draw: Draw) -> Files | None:
        """A cell with another number or text, or two cells or columns exchanged."""
        rows = [line.split(b",") for line in files[self.file].splitlines()]
        row, other = draw.pick(rows), draw.pick(rows)
        at, to = draw.below(len(row)), draw.below(len(row))
        way = draw.below(4)
        if way == 0:
            for each in rows:
                each[at % len(each)], each[to % len(each)] = each[to % len(each)], each[at % len(each)]
        elif way == 1:
            row[at] = other[at % len(other)]
        else:
            row[at] = str(draw.number() if way == 2 else draw.value()).encode(errors="surrogatepass")
        return {self.file: b"\n".join(map(b",".join, rows)) + b"\n"}


class CountLines(Counts):
    """The same as JSON lines."""

    name = "count-lines"
    file = "counts.jsonl"

    def valid(self) -> list[Files]:
        return [{self.file: "".join(json.dumps(row) + "\n" for row in _rows(k)).encode()} for k in range(2)]

    def bent(self, files: Files, draw: Draw) -> Files | None:
        lines = files[self.file].splitlines()
        at = draw.below(len(lines))
        lines[at] = to_json(bent(json.loads(lines[at]), draw), draw)
        return {self.file: b"\n".join(lines) + b"\n"}


def _impossible_but_labels(table: dict[str, Any]) -> str:
    """As `impossible`; images without labels have -1 throughout."""
    label = table["label"]
    return impossible(table | {"label": np.zeros_like(label)} if len(label) and (label == -1).all() else table)


@cache
def _rows(seed: int) -> list[dict[str, Any]]:
    table = table_of(HEADER.having(n=N, alpha=ALPHA, sigma=SIGMA, rule="fixed"), 6, seed)
    counts0, counts = table.evidence()
    columns = {"idx": table.idx, "label": table.label, "counts": counts, "counts0": counts0, "seconds": table.seconds}
    return [{name: column[row].tolist() for name, column in columns.items()} for row in range(len(table))]


def _wide(mark: str = ",") -> str:
    names = ["idx", "label", *(f"counts_{k}" for k in range(3)), *(f"counts0_{k}" for k in range(3)), "seconds"]
    lines = [[row["idx"], row["label"], *row["counts"], *row["counts0"], row["seconds"]] for row in _rows(0)]
    return "".join(mark.join(map(str, line)) + "\n" for line in [names, *lines])


def _lists() -> str:
    lines = [f'{row["idx"]},{row["label"]},"{row["counts"]}","{row["counts0"]}"' for row in _rows(1)]
    return "\n".join(["idx,label,counts,counts0", *lines]) + "\n"


def _picked_alone() -> str:
    picked = [int(np.argmax(row["counts0"])) for row in _rows(2)]
    lines = [f"{row['label']},{k},{row['counts'][k]},{N}" for row, k in zip(_rows(2), picked, strict=True)]
    return "\n".join(["label,picked,n_A,n", *lines]) + "\n"
