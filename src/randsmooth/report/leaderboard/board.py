"""Every certificate table there is, on one page that sorts and filters offline: the p_A curve first, ACR last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from randsmooth import escape
from randsmooth.atomic import write_atomically
from randsmooth.escape import LONG, NOT_RECORDED, printable, shortened
from randsmooth.metrics import P_A_LEVELS, Estimate
from randsmooth.report import web
from randsmooth.report.against_baseline import joint_scope, verdict_words
from randsmooth.report.leaderboard.entries import (
    FILTERS,
    LEVELS,
    STEPS,
    UNIT,
    Entry,
    facts,
    filters,
    notes,
    reasons_without_p_a,
)
from randsmooth.report.leaderboard.grouping import MOST_COMPARED, BoardRow, Cell, Setting, by_setting

DIGITS = 4  # significant, of a radius


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
    rows = [row for group in groups for row in group.rows]
    ordered = [row.entry for row in rows]
    choices = filters(ordered)
    return web.page(
        __package__,
        "leaderboard.html.j2",
        styles=[web.asset(web.__name__, "base.css"), web.asset(__package__, "leaderboard.css")],
        scripts=[
            *(web.asset(web.__name__, name) for name in ("ordering.js", "charts.js")),
            *(web.asset(__package__, name) for name in ("leaderboard.js", "curves.js")),
        ],
        data=web.json_markup(_payload(rows, choices)),
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
        left_out={printable(heading): list(map(_long, sentences)) for heading, sentences in (left_out or {}).items()},
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
    text = to_json(at, groups)
    write_atomically(path, _page(at, groups, **options).encode())
    write_atomically(path.with_suffix(".json"), text.encode())


def _payload(rows: Sequence[BoardRow], choices: dict[str, list[str]]) -> dict[str, Any]:
    """What the page's script knows beside what is printed, in the order of the lines; shared texts are kept once.

    Each line is [places in the filters, places in the notes, file, intervals, end, accuracy, p_A]. `intervals` are
    those of its figures, [] where there is none.
    """
    places = {key: {value: place for place, value in enumerate(values)} for key, values in choices.items()}
    said: dict[str, int] = {}
    lines = [_line(row, places, said) for row in rows]
    kept = {"filters": list(FILTERS), "notes": list(said), "lines": lines}
    return kept | {"steps": STEPS, "unit": UNIT, "levels": LEVELS.tolist()}


def _line(row: BoardRow, places: dict[str, dict[str, int]], said: dict[str, int]) -> list[Any]:
    entry, known = row.entry, facts(row.entry)
    return [
        [places[key][known[key]] for key in FILTERS],
        [said.setdefault(_long(note), len(said)) for note in entry.header.notes],
        _long(entry.file),
        [_interval(cell) for cell in [*row.p_a, *row.accuracy, row.acr]],
        float(f"{entry.curves.end:.{DIGITS}g}"),
        entry.curves.accuracy,
        entry.curves.p_a,
    ]


def _long(text: str) -> str:
    return shortened(printable(text), LONG)


def _interval(cell: Cell) -> list[float]:
    return [float(cell.low), float(cell.high)] if cell.figure else []


def to_json(radii: Sequence[float], groups: Sequence[Setting]) -> str:
    """For programs: a list of records at full precision in the page's order, one a line (see `by_setting`)."""
    records = [escape.to_json(_record(row, radii, group.words), indent=None) for group in groups for row in group.rows]
    return "[\n" + ",\n".join(records) + "\n]\n"


def _record(row: BoardRow, radii: Sequence[float], setting: str) -> dict[str, Any]:
    entry, header, judged = row.entry, row.entry.header, row.against
    method, repository = (None if text == NOT_RECORDED else text for text in (entry.method, entry.repository))
    at_radii = zip(radii, row.at_radii, strict=True)
    return {
        "name": entry.table.name,
        "file": entry.file,
        "setting": setting,
        **{key: getattr(header, key) for key in ("dataset", "split", "rule")},
        "method": method,
        "settings": entry.settings or None,
        "repository": repository,
        **{key: getattr(header, key) for key in ("sigma", "n0", "n", "alpha", "label_aware")},
        "logged": entry.logged,
        "notes": list(header.notes),
        "images": len(entry.table),
        "p_A": [{"at_least": x, **_ends(share)} for x, share in entry.p_a.items()],
        "smoothed_accuracy": entry.smoothed and _ends(entry.smoothed),
        "certified_accuracy": [{"radius": r, **(_ends(found) if found else {"value": None})} for r, found in at_radii],
        "acr": entry.acr and _ends(entry.acr),
        "against": judged
        and {"baseline": judged.b, "words": verdict_words(judged), "judged_together": asdict(judged.scope)},
    }


def _ends(estimate: Estimate) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
