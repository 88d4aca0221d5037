"""Tables of the page on the papers: what each object needs, what was drawn of it here, and cells beside each other."""

from __future__ import annotations

import csv
import json
from typing import Any

from kept import RESULTS, kept
from markdown_rows import table

from randsmooth import metrics
from randsmooth.papers import published
from randsmooth.papers.objects import OBJECTS


def objects(paper: str) -> str:
    """Every table and figure of a paper: what it shows, what it needs, and what is here of it."""
    made = json.loads((RESULTS / "papers" / "made.json").read_text())["tables"]
    rows = []
    for thing in OBJECTS:
        if thing.name.startswith(f"{paper}/"):
            rows.append((f"`{thing.name}`", thing.title, _needs(thing), _here(thing, made.get(thing.name))))
    return table(("object", "what it shows", "needs", "here"), rows)


def _needs(thing: Any) -> str:
    models = len(thing.rows())
    if not models:
        return "nothing: a formula"
    return f"{models} model{'s' * (models != 1)}" + (", not only their logs" if thing.needs_models else "")


def _here(thing: Any, found: dict[str, int] | None) -> str:
    if found is not None and not found["filled"]:
        return "only logs of other runs"
    if found is not None:
        rows = f"{found['filled']} of {found['rows']} rows"
        return f"{rows}; {found['explained']} of {found['compared']} cells as printed"
    return "–" if thing.rows() else "drawn at once"


def results(name: str) -> str:
    """A table of a paper with the paper's figure over ours, for the rows of which there are logs."""
    with (RESULTS / "papers" / "cells.csv").open(newline="") as file:
        cells = [row for row in csv.DictReader(file) if row["object"] == name]
    shown = [metric for metric in dict.fromkeys(row["metric"] for row in cells) if _wanted(metric)]
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in cells:
        key = (f"{float(row['sigma']):g}", " ".join(filter(None, [row["method"], row["setting"]])))
        lines.setdefault((*key, f"{int(row['images']):,}"), {})[row["metric"]] = _beside(row)
    rows = [(*key, *(found.get(metric, "–") for metric in shown)) for key, found in lines.items()]
    return table(("sigma", "method", "images", *map(_title, shown)), rows)


def _wanted(metric: str) -> bool:
    kind, _, radius = metric.partition("@")
    return metric == "acr" or (kind == "accuracy" and float(radius) in (0.0, 0.5, 1.0, 1.5))


def _title(metric: str) -> str:
    return "ACR" if metric == "acr" else f"at {metric.partition('@')[2]}"


def _beside(row: dict[str, str]) -> str:
    """The published figure and ours, in bold where neither rounding nor chance explains the difference."""
    if not row["published"]:
        return "–"
    digits = 3 if row["metric"] == "acr" else 1
    theirs, ours = (f"{float(row[key]):.{digits}f}" for key in ("published", "here"))
    differs = row["explained"] == "False"
    return f"{theirs} / {f'**{ours}**' if differs else ours}"


def on_mnist(_: str = "") -> str:
    """Our eight epochs of a third of MNIST beside table 1 of CAT-RS, in ACR."""
    printed = published("cat-rs", "table1")
    printed = printed[printed["metric"] == "acr"].set_index(["sigma", "method"])["value"]
    rows = []
    for method in ("gaussian", "stability", "smoothadv", "macer", "consistency", "smoothmix", "cat-rs"):
        cells = []
        for sigma in (0.25, 0.5, 1.0):
            acr = metrics.acr(kept(f"mnist-methods/sigma{sigma:g}/{method}.parquet"))
            cells.append(f"{printed[sigma, method]:.3f} / {acr.value:.3f} ({acr.low:.3f} to {acr.high:.3f})")
        rows.append((method, *cells))
    return table(("method", "sigma 0.25", "sigma 0.5", "sigma 1"), rows)


def at_scale(_: str = "") -> str:
    """Our models of full length beside the logs that the authors released."""
    return (RESULTS / "mnist-at-scale" / "sigma0.5.md").read_text()
