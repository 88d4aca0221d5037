"""Take pictures of the panels of a report: images/quickstart-PANEL.png. It needs Chromium.

randsmooth quickstart && python docs/_figures/report_panels.py runs/quickstart/report.html
"""

from __future__ import annotations

import sys
from pathlib import Path

import look
from photographs import photographed

WIDTH = 860
NAMES = (
    "table",
    "p-a",
    "accuracy",
    "against-baseline",
    "given-up",
    "acr-alternatives",
    "budget",
    "classes",
    "compared",
)  # of the sections, in the order of the page


def main() -> None:
    parts = {f"quickstart-{name}": f"section:nth-of-type({k})" for k, name in enumerate(NAMES, 1)}
    parts["quickstart-summary"] = "h1 | section"
    parts["quickstart-compared"] += f" | {parts['quickstart-compared']} .box ~ .box tr:nth-child(8)"  # how it begins
    photographed(Path(sys.argv[1]), parts, look.IMAGES, WIDTH)


if __name__ == "__main__":
    main()
