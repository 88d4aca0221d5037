"""Pictures of the parts of a page, by a headless Chromium."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

COLOURS, GAP = 128, 16
QUIET = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --virtual-time-budget=9000"


def photographed(page: Path, parts: dict[str, str], images: Path, width: int, script: str = "") -> None:
    """images/NAME.png of each part of a page: NAME -> what selects it in CSS, perhaps `|` what it ends before."""
    with tempfile.TemporaryDirectory() as folder:
        copy, whole = Path(folder) / "page.html", Path(folder) / "page.png"
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
        probe = f"{script}; setTimeout(() => {{ {BOXES % json.dumps(parts)} }}, 1000);"
        copy.write_text(f"{text}<script>addEventListener('load', () => {{{probe}}});</script>")
        boxes = boxes_in(chromium(copy, f"--window-size={width},3000", "--dump-dom"))
        height = max(bottom for _, bottom in boxes.values()) + GAP
        chromium(copy, f"--window-size={width},{height}", f"--screenshot={whole}", "--hide-scrollbars")
        picture = Image.open(whole).convert("RGB")
    for name, (top, bottom) in boxes.items():
        part = picture.crop((0, max(0, top - GAP), width, bottom + GAP))
        part.quantize(COLOURS, dither=Image.Dither.NONE).save(images / f"{name}.png", optimize=True)


# Leaves top and bottom of each part in the page.
BOXES = """
const found = {}, parts = %s;
const box = (selector) => document.querySelector(selector).getBoundingClientRect();
for (const [name, selector] of Object.entries(parts)) {
  const [first, next] = selector.split(" | ");
  const bottom = next ? box(next).top - 40 : box(first).bottom;
  found[name] = [Math.floor(box(first).top + scrollY), Math.ceil(bottom + scrollY)];
}
document.body.dataset.boxes = JSON.stringify(found);
"""


def boxes_in(dumped: str) -> dict[str, tuple[int, int]]:
    left = re.search(r'data-boxes="([^"]*)"', dumped)
    assert left is not None, "the page did not load, or has no such part"
    return {name: (top, bottom) for name, (top, bottom) in json.loads(html.unescape(left[1])).items()}


def chromium(page: Path, *options: str) -> str:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program is not None, "Chromium is not installed"
    with tempfile.TemporaryDirectory() as profile:
        words = [program, *QUIET.split(), f"--user-data-dir={profile}", *options, page.resolve().as_uri()]
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=120).stdout
