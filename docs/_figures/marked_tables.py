"""Tables of figures in the pages, written from the files that hold these figures.

A table stands between `<!-- MARK: NAME -->` and `<!-- end of MARK -->`, as plain Markdown, which GitHub shows too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def rows(*cells: tuple[str, ...]) -> str:
    """A Markdown table; the first of `cells` is its head."""
    head, *body = (f"| {' | '.join(line)} |" for line in cells)
    return "\n".join([head, "|" + " --- |" * len(cells[0]), *body]) + "\n"


@dataclass(frozen=True)
class MarkedTables:
    """The tables under one mark: what makes each."""

    mark: str
    tables: Mapping[str, Callable[[], str]]

    @property
    def place(self) -> re.Pattern[str]:
        """Where a table stands: its beginning, its name and its end."""
        return re.compile(rf"(<!-- {self.mark}: ([\w-]+) -->\n).*?(<!-- end of {self.mark} -->)", re.DOTALL)

    def filled(self, text: str) -> str:
        """`text` with every table as the files have it now."""
        return self.place.sub(lambda place: f"{place[1]}\n{self.tables[place[2]]()}\n{place[3]}", text)

    def write(self) -> None:
        """Write the tables into docs; with --check only see whether they stand there, and exit with 1 if not."""
        check, stale = "--check" in sys.argv[1:], []
        for page in sorted((ROOT / "docs").glob("**/*.md")):
            text = page.read_text()
            if (now := self.filled(text)) != text:
                stale.append(page.relative_to(ROOT).as_posix())
                if not check:
                    page.write_text(now)
        if check and stale:
            sys.exit(f"not as the measured files say: {', '.join(stale)}; run python {sys.argv[0]}")
