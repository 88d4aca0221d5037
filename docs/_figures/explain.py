"""The pictures of docs/explain.md: python docs/_figures/explain.py [MODEL], from the root of the repository.

Needs Chromium and the extras `torch` and `serve`. Without MODEL, a model of digits is trained first, in a minute.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import randsmooth as rs  # noqa: E402
from chromium import chromium  # noqa: E402

INDEX, SEED = 17, 1


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        model = sys.argv[1] if len(sys.argv) > 1 else _trained(place / "model")
        _page(model, place)
        _app(model, place)


def _trained(folder: Path) -> str:
    rs.train("digits", method="gaussian", sigma=0.25, epochs=30, seed=0, out=folder)
    return str(folder)


def _page(model: str, place: Path) -> None:
    """The top of the page for one digit."""
    images = rs.data.load("digits", "test")
    (x,), (y,) = images.batch(torch.tensor([INDEX]))
    name = f"digits:{INDEX}"
    rs.explain(model, x, label=int(y), name=name, n=10_000, seed=SEED, out=place / "page.html")
    with chromium() as page:
        page.look(1000, 1180)
        page.go((place / "page.html").as_uri())
        page.picture(place / "page.png", whole=False)
    _save(place / "page.png", "explain_page.png")


def _app(model: str, place: Path) -> None:
    """The app, with a digit in it."""
    images = rs.data.load("digits", "test")
    (x,), _ = images.batch(torch.tensor([INDEX]))
    Image.fromarray((x[0] * 255).round().byte().numpy()).save(place / "digit.png")
    app = rs.app.serve(rs.app.Served.of(model, "A model of digits"), wait=False)
    try:
        with chromium() as page:
            page.look(1000, 900)
            page.go(app.local_url)
            page.until("!!document.querySelector('input[type=file]') && !!document.querySelector('.certificate h1')")
            page.choose("input[type=file]", place / "digit.png")
            page.until(
                "[...document.querySelectorAll('.certificate .note')].some(e => / a second\\.$/.test(e.textContent))"
            )
            page.picture(place / "app.png", whole=False)
    finally:
        app.close()
    _save(place / "app.png", "serve_app.png")


def _save(picture: Path, name: str) -> None:
    """As a PNG of 128 colours, which is small."""
    Image.open(picture).convert("RGB").quantize(128).save(ROOT / "docs" / "images" / name, optimize=True)


if __name__ == "__main__":
    main()
