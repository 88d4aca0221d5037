"""Tables of the page on the papers: what each object needs, what was drawn of it here, and cells beside each other."""

from __future__ import annotations

import csv
import json
from typing import Any

from kept import RESULTS, kept
from markdown_rows import table

from randsmooth import metrics
from randsmooth.papers import published
from randsmooth.papers.published_values import OBJECTS


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


ANOTHER_RUN = "another training run of the same settings"
# object, method, sigmas (none: all) -> why cells of these rows differ; the page has the evidence, by the numbers
WHY: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[float, ...], str], ...] = (
    (("acr/table2", "acr/table3"), ("gaussian",), (), ANOTHER_RUN + " (1)"),
    (("acr/table2",), ("consistency", "smoothmix"), (1.0,), "one figure of twelve is another's, or not rounded (2)"),
    (("cat-rs/table1", "cat-rs/table2", "cat-rs/table4"), ("cat-rs",), (), "the submission, and the released code (3)"),
    (("cat-rs/table2",), ("smoothmix",), (), ANOTHER_RUN + " (4)"),
    (
        *(("cat-rs/table1",), ("gaussian", "stability", "smoothadv", "macer"), (0.25, 0.5)),
        "ACR of one released seed, accuracies of none (5)",
    ),
    (("cat-rs/table1", "cat-rs/table4"), ("consistency",), (), "ACR and accuracies of different seeds (6)"),
    (("cat-rs/table4",), ("gaussian",), (), ANOTHER_RUN + " (7)"),
    (("macer/table1", "macer/table8"), ("gaussian", "smoothadv"), (), "ACR is not the log's mean radius (8)"),
    (("macer/table2",), ("gaussian",), (), "figures of Cohen et al.'s page, not of their log (9)"),
    (("macer/table6",), ("gaussian",), (), "logs of 90 epochs for a model of 440 (10)"),
)


def others(_: str = "") -> str:
    """The rows with cells that neither rounding nor chance explains, by the reason.

    Raises:
        ValueError: a row without a reason, or a reason without a row.
    """
    with (RESULTS / "papers" / "cells.csv").open(newline="") as file:
        cells = [row for row in csv.DictReader(file) if row["explained"]]
    groups: dict[int, list[dict[str, str]]] = {}
    for rows in _by_row(cells).values():
        if any(row["explained"] == "False" for row in rows):
            groups.setdefault(_reason(rows[0]), []).extend(rows)
    if len(groups) != len(WHY):
        raise ValueError(f"no rows for the reasons {[WHY[i] for i in range(len(WHY)) if i not in groups]}")
    made = json.loads((RESULTS / "papers" / "made.json").read_text())
    same, all_cells = (sum(found[key] for found in made["tables"].values()) for key in ("explained", "compared"))
    lines = [(_where(rows), *_differ(rows), WHY[i][-1]) for i, rows in sorted(groups.items())]
    return (
        f"{same} of {all_cells} cells agree in rows of which there is the run, by {made['logs']:,} logs. "
        "The others, and rows of which there are only other runs:\n\n"
        + table(("where", "cells that differ", "ACR", "accuracy", "why"), lines)
    )


def _by_row(cells: list[dict[str, str]]) -> dict[tuple[str, ...], list[dict[str, str]]]:
    rows: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for cell in cells:
        rows.setdefault(tuple(cell[key] for key in ("object", "sigma", "method", "setting")), []).append(cell)
    return rows


def _reason(cell: dict[str, str]) -> int:
    """The place in WHY of the row that a cell is of."""
    fits = (
        i
        for i, (things, methods, sigmas, _) in enumerate(WHY)
        if cell["object"] in things and cell["method"] in methods and (not sigmas or float(cell["sigma"]) in sigmas)
    )
    found = next(fits, None)
    if found is None:
        raise ValueError(f"no reason in WHY for {cell['object']}, {cell['method']} at sigma {cell['sigma']}")
    return found


def _where(cells: list[dict[str, str]]) -> str:
    things = ", ".join(f"`{name}`" for name in dict.fromkeys(cell["object"] for cell in cells))
    return f"{things}: {', '.join(dict.fromkeys(cell['method'] for cell in cells))}"


def _differ(cells: list[dict[str, str]]) -> tuple[str, str, str]:
    """How many of the cells differ, and by how much at most, ours minus the paper's."""
    off = [cell for cell in cells if cell["explained"] == "False"]
    largest = []
    for acr, digits in ((True, 3), (False, 1)):
        values = [float(cell["difference"]) for cell in off if (cell["metric"] == "acr") is acr]
        largest.append(f"{max(values, key=abs):+.{digits}f}" if values else "–")
    return f"{len(off)} of {len(cells)}", *largest  # type: ignore[return-value]


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
