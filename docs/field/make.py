"""Judge all released certification logs that are at hand, and write what docs/field shows of them.

    python -m docs.field.make [FOLDER ...] [--alone runs/field.html]

The folders hold clones of repositories, or folders called OWNER+NAME; by default `published-logs` beside
$RANDSMOOTH_DATA. Which logs were released is read from PATHS.txt in one of them, or else from the last field.csv.
Writes field.csv, curves.json and the marked parts of GUIDES, and the page for reading it here.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from docs.field import page
from docs.field.curves import Curves, curves_of, write_json
from docs.field.findings import coverage_table, headline, sentences, settings_table
from docs.field.logs import Place, default_folders, listed, walk
from docs.field.pairs import USUAL, pairs_of
from docs.field.rows import JUDGED, Row, judge_all, rows_of, write_csv

from randsmooth.atomic import write_atomically
from randsmooth.errors import Problem
from randsmooth.escape import say
from randsmooth.progress import Progress, console, silent

INDEX = page.HERE / "index.md"
GUIDES = (INDEX, page.HERE.parent / "why-not-acr.md")
MARKED = re.compile(
    r"(<!-- (?P<name>\w+): written by make\.py -->\n).*?(<!-- end -->)", re.DOTALL
)


def judge_folders(
    folders: Sequence[Path], progress: Progress = silent
) -> tuple[list[Row], Curves]:
    """The rows of field.csv and what curves.json holds. Raises Problem where a folder is none, or holds no log."""
    known = listed(folders) or _listed_before()
    logs = walk(folders, known)
    if not logs:
        raise Problem(
            f"no log below {', '.join(map(str, folders))}; give folders of clones"
        )
    with progress("reading", len(logs), "logs") as reporter:
        judged, refused = judge_all(logs, reporter)
    with progress("comparing", len(judged), "logs") as reporter:
        rows = rows_of(judged, refused, known, reporter)
    return rows, curves_of(judged, rows, progress)


def _listed_before() -> list[Place]:
    rows = page.read_kept()[0] if page.CSV.exists() else []
    return [
        Place(row["repository"], row["path"]) for row in rows if row["listed"] == "yes"
    ]


def guide_with(text: str, rows: Sequence[Row], curves: Curves) -> str:
    """A page of the documentation with its marked parts written from the figures."""
    parts = {
        "sentences": "\n".join(
            f"{number}. {one}"
            for number, one in enumerate(sentences(rows, curves), start=1)
        ),
        "headline": headline(pairs_of(rows, curves, USUAL)),
        "settings": settings_table(rows, curves),
        "coverage": coverage_table(rows),
    }
    return MARKED.sub(
        lambda found: f"{found[1]}{parts[found['name']]}\n{found[3]}", text
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        help="of clones; default: those beside $RANDSMOOTH_DATA",
    )
    parser.add_argument(
        "--alone",
        type=Path,
        default=Path("runs/field.html"),
        help="the page, for reading it here",
    )
    asked = parser.parse_args(arguments)
    try:
        rows, curves = judge_folders(asked.folders or default_folders(), console)
    except Problem as reason:
        say(f"error: {reason}", file=sys.stderr)
        return 2
    write_atomically(page.CSV, write_csv(rows).encode())
    write_atomically(page.JSON, write_json(curves).encode())
    kept = page.read_kept()  # the figures as anybody reads them
    for guide in GUIDES:
        write_atomically(guide, guide_with(guide.read_text(), *kept).encode())
    write_atomically(asked.alone, page.whole_page(*kept).encode())
    say(f"{sum(row['status'] == JUDGED for row in rows):,} logs judged")
    for path in (page.CSV, page.JSON, *GUIDES, asked.alone):
        say(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
