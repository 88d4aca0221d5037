"""Make the reports of the gallery, photograph their parts, and put what the terminal printed into the page.

    python docs/_figures/gallery.py --work runs/gallery

All comes from certificates in results/ and from models of digits that are trained on the way, but for the table of a
paper, which takes published logs (--logs). It needs Chromium.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from photographs import COLOURS, photographed
from PIL import Image

ROOT = Path(__file__).parents[2]
PAGE, IMAGES = ROOT / "docs" / "gallery.md", ROOT / "docs" / "images" / "gallery"
METHODS = "results/mnist-methods/sigma1"
COMPARED = [f"{METHODS}/{name}.parquet" for name in ("gaussian", "amplify", "cat-rs", "consistency")]
WIDTH = 1000


def run(*words: str) -> str:
    """What `randsmooth WORDS` prints, at the root of the repository: a page names the files as they were given."""
    command = [sys.executable, "-m", "randsmooth", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout


def put(name: str, text: str) -> None:
    """Put `text` into the block of the page that follows the comment `<!-- printed: NAME -->`."""
    page = PAGE.read_text()
    block = re.compile(rf"(<!-- printed: {re.escape(name)} -->\n+```text\n).*?(^```$)", re.MULTILINE | re.DOTALL)
    lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    changed, count = block.subn(lambda found: f"{found[1]}{lines}\n{found[2]}", page)
    assert count == 1, f"{PAGE} has no place for {name}"
    PAGE.write_text(changed)


def comparison(work: Path) -> None:
    run("compare", *COMPARED, "--out", f"{work}/compare.html", "--overwrite")
    parts = {
        "compare-p-a": "section:has(#p_a)",
        "compare-accuracy": "section:has(#radius)",
        "compare-against": "section:has(#against-baseline) | #paired-differences",
        "compare-table": "section:has(#table)",
    }
    photographed(ROOT / work / "compare.html", parts, IMAGES, WIDTH)
    put("evaluate", run("evaluate", *COMPARED, "--radii", "0,1,2"))


def board(work: Path) -> None:
    """Of all eight methods at three noise levels, with the curves of two."""
    run("leaderboard", METHODS, "--out", f"{work}/leaderboard.html", "--overwrite")
    photographed(ROOT / work / "leaderboard.html", {"leaderboard": "main"}, IMAGES, WIDTH, PRESS)


PRESS = "for (const button of [...document.querySelectorAll('#board tbody button')].slice(0, 3)) button.click()"


def papers(work: Path, logs: Path | None) -> None:
    run("reproduce", "acr/figure2", "--out", f"{work}/reproduced")
    picture = Image.open(ROOT / work / "reproduced" / "acr-figure2.png").convert("RGB")
    picture.thumbnail((WIDTH, WIDTH))
    folder = IMAGES.parent / "papers"
    folder.mkdir(exist_ok=True)
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(folder / "acr-figure2.png", optimize=True)
    if logs is not None:
        printed = run("reproduce", "acr/table2", "--from", str(logs), "--out", f"{work}/reproduced")
        put("reproduce", printed.partition("note:")[0])


def grid(work: Path) -> None:
    """The sweep of examples/grid.yaml, and the plan of a certification of one of its models."""
    printed = run("sweep", "examples/grid.yaml", "--out", f"{work}/sweep")
    put("sweep", printed[printed.index("digits test") :].replace(f"{work}/", "runs/"))  # without its progress
    put("status", run("sweep", "status", f"{work}/sweep"))
    model = next(path.parent for path in sorted((ROOT / work / "sweep").glob("*gaussian*/model/config.json")))
    put("plan", run("plan", str(model.relative_to(ROOT)), "--rule", "grid", "--workers", "8,50"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("runs/gallery"))
    parser.add_argument("--logs", type=Path, help="published logs, for the table of a paper")
    options = parser.parse_args()
    (ROOT / options.work).mkdir(parents=True, exist_ok=True)
    IMAGES.mkdir(parents=True, exist_ok=True)
    comparison(options.work)
    board(options.work)
    papers(options.work, options.logs)
    grid(options.work)


if __name__ == "__main__":
    main()
