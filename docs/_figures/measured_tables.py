"""Write the tables of measured figures into the guides, from the files of results/bench.

python docs/_figures/measured_tables.py            # writes docs/*.md
python docs/_figures/measured_tables.py --check    # fails if a guide's table is not what results/bench says
"""

from __future__ import annotations

import json
import re
from typing import Any

from marked_tables import ROOT, MarkedTables, rows

BENCH = ROOT / "results" / "bench"
NETWORKS = {"lenet": "LeNet", "resnet20": "ResNet-20"}


def read(name: str) -> dict[str, Any]:
    """results/bench/NAME.json."""
    found: dict[str, Any] = json.loads((BENCH / f"{name}.json").read_text())
    return found


def figures(name: str) -> dict[str, float]:
    """The figures of results/bench/NAME.json by their names."""
    return {figure["name"]: figure["value"] for figure in read(name)["figures"]}


def savings() -> str:
    """How many times fewer samples each rule takes, and what it costs."""
    of, whole = figures("savings"), figures("whole-accuracy")
    over_all = [whole[f"radius {r}: samples of all images over those of two passes"] for r in ("0.25", "0.5", "1")]

    def lost(name: str) -> float:
        return of.get(f"{name}: points of certified accuracy lost, mean", of.get(f"{name}: points lost, mean", 0.0))

    def one(name: str, of_all: str | None = None) -> tuple[str, str]:
        worst = of[f"{name}: points lost, worst log and radius"]
        saved = of[f"{of_all or name}: samples saved"]
        return f"{saved:.0f} times", f"{lost(name):.3f} points of certified accuracy ({worst:.2f} at worst)"

    def mean_radius(name: str) -> tuple[str, str]:
        points = f", {lost(name):.1f} points of certified accuracy" if lost(name) else ""
        return f"{of[f'{name}: samples saved']:.1f} times", f"{of[f'{name}: ACR lost, %']:.1f}% of ACR{points}"

    return rows(
        ("rule", "fewer samples than `fixed`", "what it loses"),
        ("`radius=R`", *one("one radius", "one radius (mean of 0.25, 0.5, 1)")),
        ("`radius=R` with `--n0 0`", *one("one radius, any class")),
        ("`radius=R` with `--n0 0 --label-aware`", *one("one radius, label tested")),
        (
            "`randsmooth accuracy --radius R --within 0.01`",
            f"{min(over_all):.1f} to {max(over_all):.1f} times fewer than the line above",
            "which images are certified; the figure is known to one point, with 95% confidence",
        ),
        ("`grid`", f"{of['grid: samples saved']:.1f} times", f"{lost('grid'):.3f} points of certified accuracy"),
        ("`dense=0.27`", *mean_radius("dense=0.27")),
        ("`dense=0.1`", *mean_radius("dense=0.1")),
        ("`anytime`", "1.1 times", "1.1% of ACR; it may stop at any sample"),
    )


def speeds() -> str:
    """Samples a second by network, processor, backend and arithmetic, as the notes of the int8 benchmark tell them."""
    ways = {
        "published loop, float32": "published loop",
        "torch": "torch, float32",
        "torch in bfloat16": "torch, bfloat16",
        "openvino": "OpenVINO, float32",
        "openvino in bfloat16": "OpenVINO, bfloat16",
        "int8": "OpenVINO, int8",
    }
    cells = [("network", *ways.values())]
    for file, processor in (("int8-cpu", ""), ("int8-cpu-avx2", ", limited to AVX2")):
        notes = {figure["name"]: figure["note"] for figure in read(file)["figures"]}
        for arch, name in NETWORKS.items():
            note = notes[f"samples a second in int8 (openvino) over the fastest in floats, {arch}"]
            told = dict(re.findall(r"(\w[\w ]*(?:, float32)?) (\d[\d,]*\d)", note.partition("samples a second: ")[2]))
            cells.append((name + processor, *(told.get(way, "–") for way in ways)))
    return rows(*cells)


TABLES = MarkedTables("table", {"savings": savings, "speeds": speeds})

if __name__ == "__main__":
    TABLES.write()
