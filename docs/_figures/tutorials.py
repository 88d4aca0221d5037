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
from myst_nb.core.read import read_myst_markdown_notebook

DOCS = Path(__file__).resolve().parent.parent
PIXELS = 450  # wide


def draw(name: str) -> None:
    """Run the cells of a tutorial in a folder of their own, up to the figure, and keep that."""
    out, namespace = DOCS / "images" / "tutorials" / f"{name}.png", dict[str, Any](__name__=name)
    with tempfile.TemporaryDirectory() as folder, plt.rc_context():
        os.chdir(folder)
        for cell in read_myst_markdown_notebook((DOCS / "tutorials" / f"{name}.md").read_text()).cells:
            wanted = "thumbnail" in cell.metadata.get("tags", [])
            plt.show = (lambda: None) if wanted else (lambda: plt.close("all"))
            if cell.cell_type == "code":
                exec("\n".join(line for line in cell.source.splitlines() if not line.startswith("%")), namespace)
            if wanted:
                plt.gcf().savefig(out, dpi=PIXELS / plt.gcf().get_size_inches()[0])
                break
        os.chdir(DOCS)
    plt.close("all")


if __name__ == "__main__":
    for each in sys.argv[1:] or [path.stem for path in (DOCS / "tutorials").glob("*.md") if path.stem != "index"]:
        draw(each)
