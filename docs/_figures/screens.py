"""Pictures of pages in Chromium, and what the terminal prints, for the guides. Run from the root of the repository.

    python docs/_figures/screens.py quickstart       # after `randsmooth quickstart`: images/quickstart-PANEL.png
    python docs/_figures/screens.py site             # after `make docs`: images/acr-NAME.png, each as it is at first,
                                                     # and of each tutorial the figure of its cell tagged `thumbnail`
    python docs/_figures/screens.py explain          # the first page's digit, and the app with an example
    python docs/_figures/screens.py gallery [LOGS]   # the reports of docs/gallery.md; the table of a paper takes logs

It needs the extras `torch` and `serve`. Models of digits are trained on the way, in some minutes.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import randsmooth as rs  # noqa: E402
from chromium import chromium  # noqa: E402

SITE = ROOT / "runs" / "docs" / "html"
IMAGES, PAGE, WORK = (
    ROOT / "docs" / "images",
    ROOT / "docs" / "gallery.md",
    "runs/gallery",
)
METHODS = "results/mnist-methods/sigma1"
COMPARED = [
    f"{METHODS}/{name}.parquet"
    for name in ("gaussian", "amplify", "cat-rs", "consistency")
]
# Pictures of the quickstart's report, and the panels that they show.
PANELS = {
    "table": "accuracy-table",
    "p-a": "p-a-shares",
    "accuracy": "accuracy-curves",
    "against-baseline": "against-baseline",
    "given-up": "given-up",
    "acr-alternatives": "acr-alternatives",
    "budget": "budget-curve",
    "classes": "classes",
    "compared": "provenance",
}
# Unfolds a report.
UNFOLD = (
    "for (const panel of document.querySelectorAll('details.panel')) panel.open = true"
)
PRESS = "for (const button of [...document.querySelectorAll('#board tbody button')].slice(0, 3)) button.click()"
BOX = """(() => {
  const found = (selector) => document.querySelector(selector);
  const box = (selector) => found(selector).getBoundingClientRect();
  const above = (selector) => box(selector).top - parseFloat(getComputedStyle(found(selector)).marginTop);
  const bottom = %r ? above(%r) : box(%r).bottom;
  const {left, top, right} = box(%r);
  return [Math.floor(left), Math.floor(top + scrollY), Math.ceil(right), Math.ceil(bottom + scrollY)];
})()"""


def saved(picture: Image.Image, path: Path) -> None:
    """As a PNG of 256 colours, which is small."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def photographed(
    page: Path, parts: dict[str, str], width: int, script: str = "0", margin: int = 16
) -> None:
    """docs/images/NAME.png of each part of a page: NAME -> what selects it in CSS, perhaps `|` what it ends before.

    A margin of so many pixels is left around it.
    """
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        browser.look(width, 3000)
        browser.go(page.resolve().as_uri())
        browser.run(f"{script}; new Promise((done) => setTimeout(done, 1000))")
        browser.picture(Path(folder) / "whole.png")
        whole = Image.open(Path(folder) / "whole.png")
        for name, selector in parts.items():
            first, _, end = selector.partition(" | ")
            left, top, right, bottom = browser.run(
                BOX % (end, end or first, first, first)
            )
            box = (
                max(0, left - margin),
                max(0, top - margin),
                min(width, right + margin),
                bottom + margin,
            )
            saved(whole.crop(box), IMAGES / f"{name}.png")


def quickstart() -> None:
    parts = {f"quickstart-{name}": f"#panel-{panel}" for name, panel in PANELS.items()}
    parts["quickstart-compared"] += (
        f" | {parts['quickstart-compared']} .box ~ .box tr:nth-child(8)"  # how it begins
    )
    page = ROOT / "runs" / "quickstart" / "report.html"
    # A wider margin would show how the panel above ends.
    photographed(page, parts, 860, UNFOLD, margin=2)
    # The first lines, as a reader meets them: what follows is folded.
    photographed(page, {"quickstart-summary": "h1 | #evidence"}, 860)


def site() -> None:
    from acr import FIGURES

    parts = {name: f"[data-figure={name}] .js-plotly-plot" for name in FIGURES}
    photographed(SITE / "why-not-acr.html", parts, 700, margin=0)
    for page in (ROOT / "docs" / "tutorials").glob("*.md"):
        if page.stem != "index":
            place = SITE / "tutorials" / f"{page.stem}.html"
            photographed(
                place,
                {f"tutorials/{page.stem}": ".tag_thumbnail .cell_output img"},
                700,
                margin=0,
            )


def explain() -> None:
    """The page of the first page's command, and the app after a click on an example."""
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        place = Path(name)
        # The command of the first page, with a seed: the same picture each time.
        page = place / "page.html"
        run("explain", "demo", "digits:17", "--seed", "1", "--out", str(page))
        browser.look(1000, 1180)
        browser.go(page.as_uri())
        browser.picture(place / "page.png", whole=False)
        saved(Image.open(place / "page.png"), IMAGES / "explain_page.png")
        app = rs.app.serve(rs.app.Served.of("demo", "demo"), wait=False)
        try:
            browser.look(1000, 1000)
            browser.go(app.local_url)
            browser.until(
                "!!document.querySelector('#example-0') && !!document.querySelector('.certificate h1')"
            )
            browser.run("document.querySelector('#example-0').click()")
            notes = "[...document.querySelectorAll('.certificate .note')]"
            browser.until(f"{notes}.some(e => / a second\\.$/.test(e.textContent))")
            browser.picture(place / "app.png", whole=False)
        finally:
            app.close()
        saved(Image.open(place / "app.png"), IMAGES / "serve_app.png")


def run(*words: str, columns: int = 80) -> str:
    """What `randsmooth WORDS` prints, at the root of the repository: a page names the files as they were given."""
    return subprocess.run(
        [sys.executable, "-m", "randsmooth", *words],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"COLUMNS": str(columns)},
    ).stdout


def put(name: str, text: str) -> None:
    """Put `text` into the block of the gallery that follows the comment `<!-- printed: NAME -->`."""
    block = re.compile(
        rf"(<!-- printed: {re.escape(name)} -->\n+```text\n).*?(^```$)",
        re.MULTILINE | re.DOTALL,
    )
    lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    changed, count = block.subn(
        lambda found: f"{found[1]}{lines}\n{found[2]}", PAGE.read_text()
    )
    assert count == 1, f"{PAGE} has no place for {name}"
    PAGE.write_text(changed)


def gallery(logs: str = "") -> None:
    """Comparison, leaderboard, a paper's figure and table, a sweep and a plan."""
    (ROOT / WORK).mkdir(parents=True, exist_ok=True)
    run("compare", *COMPARED, "--out", f"{WORK}/compare.html", "--overwrite")
    # The first lines, as a reader meets them: what follows is folded.
    photographed(
        ROOT / WORK / "compare.html", {"gallery/compare-answer": "h1 | #evidence"}, 1000
    )
    parts = {
        "gallery/compare-p-a": "#panel-p-a-shares",
        "gallery/compare-accuracy": "#panel-accuracy-curves",
        "gallery/compare-against": "#panel-against-baseline | #paired-differences",
    }
    photographed(ROOT / WORK / "compare.html", parts, 1000, UNFOLD, margin=2)
    # So that all radii are seen.
    wide = f"document.body.style.maxWidth = 'none'; {UNFOLD}"
    photographed(
        ROOT / WORK / "compare.html",
        {"gallery/compare-table": "#panel-accuracy-table"},
        1280,
        wide,
        margin=2,
    )
    put("evaluate", run("evaluate", *COMPARED, "--radii", "0,1,2"))
    run("leaderboard", METHODS, "--out", f"{WORK}/leaderboard.html", "--overwrite")
    # So wide that all columns are seen.
    photographed(
        ROOT / WORK / "leaderboard.html", {"gallery/leaderboard": "main"}, 1280, PRESS
    )
    run("reproduce", "acr/figure2", "--out", f"{WORK}/reproduced")
    picture = Image.open(ROOT / WORK / "reproduced" / "acr-figure2.png")
    picture.thumbnail((1000, 1000))
    saved(picture, IMAGES / "papers" / "acr-figure2.png")
    if logs:
        printed = run(
            *("reproduce", "acr/table2", "--from", logs, "--out", f"{WORK}/reproduced"),
            columns=100,
        )
        # The checks name a hundred logs.
        table = printed[printed.index("acr/table2:") :]
        put("reproduce", table.partition(f"\n{WORK}/")[0])
    printed = run("sweep", "examples/grid.yaml", "--out", f"{WORK}/sweep")
    put(
        "sweep", printed[printed.index("digits test") :].replace(f"{WORK}/", "runs/")
    )  # without its progress
    put("status", run("sweep", "status", f"{WORK}/sweep"))
    model = next(
        path.parent
        for path in sorted((ROOT / WORK / "sweep").glob("*gaussian*/model/config.json"))
    )
    put(
        "plan",
        run(
            "plan", str(model.relative_to(ROOT)), "--rule", "grid", "--workers", "8,50"
        ),
    )


if __name__ == "__main__":
    {"quickstart": quickstart, "site": site, "explain": explain, "gallery": gallery}[
        sys.argv[1]
    ](*sys.argv[2:])
