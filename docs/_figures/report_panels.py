"""Take pictures of the panels of a report, by a headless Chromium: images/quickstart-PANEL.png.

    randsmooth quickstart && python docs/_figures/report_panels.py runs/quickstart/report.html

Each panel is shown alone, in a copy of the page, and the empty ground around it is cut off.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import look
from PIL import Image, ImageChops

WIDTH, HEIGHT, MARGIN = 860, 2400, 12
HIGHEST = {"compared": 800}  # of a panel that goes on as it begins
PANELS = {  # name of the picture -> the panel's number among the sections of the page; 0 is what stands before them
    "summary": 0,
    "table": 1,
    "p-a": 2,
    "accuracy": 3,
    "against-baseline": 4,
    "given-up": 5,
    "acr-alternatives": 6,
    "budget": 7,
    "classes": 8,
    "compared": 9,
}
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --virtual-time-budget=6000"
)


def alone(page: str, section: int) -> str:
    """The page with nothing but its title and first lines, or its `section`-th panel, in light colours."""
    shown = (
        ""
        if section == 0
        else f"section:nth-of-type({section}) {{display: block !important}} h1, .lead {{display: none}}"
    )
    style = f"<style>section {{display: none !important}} {shown} section {{margin: 0 !important}}</style>"
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    return page.replace("</head>", f"{style}</head>", 1)


def picture(page: str, section: int, folder: Path) -> Image.Image:
    """The panel as it is drawn in a window."""
    file, shot = folder / "page.html", folder / "page.png"
    file.write_text(alone(page, section))
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium is installed")
    size = [f"--window-size={WIDTH},{HEIGHT}", f"--user-data-dir={folder / 'profile'}", f"--screenshot={shot}"]
    subprocess.run([chromium, *OPTIONS.split(), *size, file.as_uri()], check=True, capture_output=True, timeout=120)
    return Image.open(shot).convert("RGB")


def cut(image: Image.Image) -> Image.Image:
    """Without the empty ground around what is shown."""
    ground = Image.new("RGB", image.size, image.getpixel((1, image.height - 2)))
    left, top, right, bottom = ImageChops.difference(image, ground).getbbox() or (0, 0, *image.size)
    box = (
        max(0, left - MARGIN),
        max(0, top - MARGIN),
        min(image.width, right + MARGIN),
        min(image.height, bottom + MARGIN),
    )
    return image.crop(box)


def main() -> None:
    page = Path(sys.argv[1]).read_text()
    with tempfile.TemporaryDirectory() as folder:
        for name, section in PANELS.items():
            path = look.IMAGES / f"quickstart-{name}.png"
            shown = cut(picture(page, section, Path(folder)))
            shown = shown.crop((0, 0, shown.width, min(shown.height, HIGHEST.get(name, shown.height))))
            shown.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
            print(path, f"{path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
