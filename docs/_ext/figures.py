"""A figure from a data file, drawn at the build:

    ```{results-figure} ../results/denoised-mnist/table.csv
    :x: denoiser
    :y: acr=ACR
    :by: classifier
    :kind: bar
    :where: sigma=0.5
    :alt: ACR of two classifiers, alone and behind two denoisers
    ```

`kind` is line (the default), points or bar; each value of the column `by` is a curve of its own. The other options are
those of `results-table`.
"""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any, ClassVar

import matplotlib
from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib.figure import Figure
from records import Row
from sphinx.application import Sphinx
from tables import FromRecords, pairs

matplotlib.rcParams["svg.hashsalt"] = "randsmooth"  # the same figure is the same file
UNCHANGED = ("x", "y", "by", "alt", "title")


class ResultsFigure(FromRecords):
    option_spec: ClassVar[Any] = {
        **FromRecords.option_spec,
        **dict.fromkeys(UNCHANGED, directives.unchanged),
        "kind": lambda text: directives.choice(text, ("line", "points", "bar")),
    }

    def run(self) -> list[nodes.Node]:
        picture = drawn(self.rows(), self.options)
        name = f"{self.path.stem}-{hashlib.sha256(picture).hexdigest()[:12]}.svg"
        folder = Path(self.env.doctreedir).parent / "figures"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(picture)
        where = f"/{os.path.relpath(folder / name, self.env.srcdir)}"
        image = nodes.image(uri=where, alt=self.options.get("alt", ""), classes=["plot"])
        return [image, self.source()]


def drawn(rows: list[Row], options: dict[str, str]) -> bytes:
    """The figure as SVG: a white box, legible on either ground and on a telephone."""
    (x, x_label), (y, y_label) = (next(iter(pairs(options[axis]).items())) for axis in "xy")
    by, kind = options.get("by", ""), options.get("kind", "line")
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    curves = {str(row.get(by, "")): None for row in rows}
    places = [*{str(row[x]): None for row in rows}]
    for i, curve in enumerate(curves):
        its = [row for row in rows if str(row.get(by, "")) == curve]
        if kind == "bar":
            width = 0.8 / len(curves)
            at = [places.index(str(row[x])) + (i + 0.5) * width - 0.4 for row in its]
            axes.bar(at, [row[y] for row in its], width, label=curve)
        else:
            style = "o" if kind == "points" else "o-"
            axes.plot([row[x] for row in its], [row[y] for row in its], style, label=curve)
    if kind == "bar":
        axes.set_xticks(range(len(places)), places)
    axes.set(xlabel=x_label, ylabel=y_label, title=options.get("title", ""))
    axes.grid(axis="y", alpha=0.3)
    if by:
        axes.legend(frameon=False)
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("results-figure", ResultsFigure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
