"""Draw docs/images/tutorials/NAME.png, by which the index shows a tutorial: the figure of its cell tagged `thumbnail`.

python docs/_figures/tutorials.py [NAME ...]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from myst_nb.core.read import read_myst_markdown_notebook
from PIL import Image

DOCS = Path(__file__).resolve().parent.parent
PIXELS = 450  # wide; drawn at twice the size, and scaled, so that thin lines stay


def draw(name: str) -> None:
    """Run the cells of a tutorial in a folder of their own, up to the figure, and keep that."""
    notebook = read_myst_markdown_notebook((DOCS / "tutorials" / f"{name}.md").read_text())
    out = DOCS / "images" / "tutorials" / f"{name}.png"
    namespace: dict[str, Any] = {"__name__": name}
    with tempfile.TemporaryDirectory() as folder, plt.rc_context():
        os.chdir(folder)
        for cell in notebook.cells:
            wanted = "thumbnail" in cell.metadata.get("tags", [])
            if cell.cell_type == "code":
                plt.show = lambda: None if wanted else plt.close("all")  # noqa: B023
                exec("\n".join(line for line in cell.source.splitlines() if not line.startswith("%")), namespace)
            if wanted:
                keep(plt.gcf(), out)
                break
        os.chdir(DOCS)
    plt.close("all")


def keep(figure: Figure, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=2 * PIXELS / figure.get_size_inches()[0])
    with Image.open(out) as drawn:
        half = drawn.width // 2, drawn.height // 2
        drawn.convert("RGB").resize(half, Image.Resampling.LANCZOS).save(out)


if __name__ == "__main__":
    for each in sys.argv[1:] or [path.stem for path in (DOCS / "tutorials").glob("*.md") if path.stem != "index"]:
        draw(each)
