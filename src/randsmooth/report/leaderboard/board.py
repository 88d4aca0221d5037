"""Every certificate table there is, on one page that sorts and filters offline: the p_A curve first, ACR last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from randsmooth.atomic import write_atomically
from randsmooth.escape import LONG, NOT_RECORDED, printable, shortened
from randsmooth.metrics import P_A_LEVELS
from randsmooth.report.leaderboard.entries import Entry, facts, filters, notes, reasons_without_p_a
from randsmooth.report.leaderboard.grouping import MOST_COMPARED, Setting, by_setting
from randsmooth.report.leaderboard.json_document import ranked_json
from randsmooth.report.leaderboard.payload import payload
from randsmooth.report.sheet.against_baseline import joint_scope


def leaderboard_page(
    entries: Sequence[Entry],
    *,
    radii: Sequence[float] | None = None,
    title: str | None = None,
    command: str | None = None,
    left_out: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The page as HTML with everything inlined.

    Args:
        radii: of the columns, in pixels in [0, 1]; None for the usual ones above 0, thinned to a readable number.
        command: what was typed to make the page, to be shown on it.
        left_out: heading -> sentences on files that are no part of the ranking, which the page lists.

    Raises:
        InputError: no entry, or a radius that makes no sense.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> from randsmooth.report import measure
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> leaderboard_page([measure(table, "macer.parquet")], title="Two images").count("<h1>Two images</h1>")
        1
    """
    return _page(*by_setting(entries, radii), title, command, left_out)


def _page(
    radii: Sequence[float],
    groups: Sequence[Setting],
    title: str | None = None,
    command: str | None = None,
    left_out: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """`leaderboard_page` of entries that are ranked already."""
    from randsmooth.report.web import html

    rows = [row for group in groups for row in group.rows]
    ordered = [row.entry for row in rows]
    choices = filters(ordered)
    return html.page(
        __package__,
        "leaderboard.html.j2",
        styles=[html.asset(html.__package__, "base.css"), html.asset(__package__, "leaderboard.css")],
        scripts=[
            *(html.asset(html.__package__, name) for name in ("ordering.js", "charts.js")),
            *(html.asset(__package__, name) for name in ("leaderboard.js", "curves.js")),
        ],
        data=html.json_markup(payload(rows, choices)),
        title=title or "Certified robustness: leaderboard",
        groups=groups,
        levels=[f"{x:g}" for x in P_A_LEVELS],
        radii=[f"{r:g}" for r in radii],
        filters=choices,
        many={
            "n": len({entry.header.n for entry in ordered}) > 1,
            "rule": choices["rule"] != ["fixed"],
            "settings": any(entry.settings for entry in ordered),
        },
        without_p_a=reasons_without_p_a(ordered),
        notes=notes(ordered),
        partly=any(entry.p_a and entry.logged for entry in ordered),
        facts=facts,
        together=joint_scope,
        unknown=NOT_RECORDED,
        total=len(ordered),
        command=command,
        left_out={
            printable(heading): [shortened(printable(sentence), LONG) for sentence in sentences]
            for heading, sentences in (left_out or {}).items()
        },
        most_compared=MOST_COMPARED,
    )


def write_leaderboard(entries: Sequence[Entry], path: Path | str, **options: Any) -> None:
    """Write `leaderboard_page(entries, **options)` to `path` and its records as JSON beside it; errors as there.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> from randsmooth.report import measure
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_leaderboard([measure(table, "macer.parquet")], Path(folder) / "board.html")
        ...     sorted(file.name for file in Path(folder).iterdir())
        ['board.html', 'board.json']
    """
    path = Path(path)
    at, groups = by_setting(entries, options.pop("radii", None))
    text = ranked_json(at, groups)
    write_atomically(path, _page(at, groups, **options).encode())
    write_atomically(path.with_suffix(".json"), text.encode())
