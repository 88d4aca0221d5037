"""Write examples/notebooks/NAME.ipynb of each docs/tutorials/NAME.md: what opens in Jupyter from a clone, as it is.

python docs/_figures/notebooks.py
"""

import os
import re
from pathlib import Path

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook

ROOT = Path(__file__).resolve().parents[2]
PAGES, NOTEBOOKS = ROOT / "docs" / "tutorials", ROOT / "examples" / "notebooks"
DOWNLOAD = re.compile(r"\{nb-download\}`[^`]*`\. It runs")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
INSTALL = """\
**First install** what it needs, in the environment that Jupyter runs in, in the folder of the clone:

```
pip install '.[torch,report]' jupyterlab
```

The next cell says whether that was done."""
CHECK = """\
import matplotlib
import randsmooth as rs
import torch

print("randsmooth", rs.__version__)"""


def notebook(page: Path) -> str:
    """The notebook of a page, as JSON, without the cells that check what the page claims."""
    text = DOWNLOAD.sub("It runs", page.read_text())
    text = LINK.sub(
        lambda link: f"]({os.path.relpath(page.parent / link[1], NOTEBOOKS)}", text
    )
    read = read_myst_markdown_notebook(text).cells
    cells = [
        each for each in read if "remove-cell" not in each.metadata.get("tags", [])
    ]
    cells = [
        nbformat.v4.new_markdown_cell(INSTALL),
        nbformat.v4.new_code_cell(CHECK),
        *cells,
    ]
    for i, cell in enumerate(cells):
        cell.update(id=f"{page.stem}-{i}", metadata={})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return (
        nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=metadata)) + "\n"
    )


def all_notebooks() -> dict[Path, str]:
    """The notebooks by their paths."""
    pages = (page for page in sorted(PAGES.glob("*.md")) if page.stem != "index")
    return {NOTEBOOKS / f"{page.stem}.ipynb": notebook(page) for page in pages}


if __name__ == "__main__":
    for path, content in all_notebooks().items():
        path.write_text(content, encoding="utf-8")
