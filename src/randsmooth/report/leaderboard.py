"""The leaderboard as one HTML page that sorts and filters offline, and as JSON."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from randsmooth import escape, metrics
from randsmooth.atomic import write_atomically
from randsmooth.certificates.files import names_of
from randsmooth.escape import LONG, NOT_RECORDED, NUMBER, printable, shortened
from randsmooth.metrics import P_A_LEVELS, Comparison, Estimate
from randsmooth.noise import NORMS
from randsmooth.report import web
from randsmooth.report.entries import P_A_GRID, RADIUS_STEPS, SHARE_UNIT, Entry
from randsmooth.report.grouping import gathered
from randsmooth.report.ranking import (
    MOST_COMPARED,
    BoardRow,
    RadiiOfNorm,
    RankedSetting,
    by_setting,
)
from randsmooth.report.remarks import sure_of

TITLE = "Certified robustness: leaderboard"
FILTERS = ("dataset", "noise", "method", "repository", "rule")
STYLES = ("base.css", "leaderboard.css")
SCRIPTS = ("ordering.js", "charts.js", "leaderboard.js", "curves.js")
FILES_OF_A_NOTE = 5  # that the page names, of all that have it
RADIUS_DIGITS = 4  # significant digits of the radius at which a curve ends


def leaderboard_page(
    entries: Sequence[Entry],
    *,
    radii: Sequence[float] | None = None,
    title: str | None = None,
    command: str | None = None,
    left_out: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the page as HTML with everything inlined.

    Args:
        radii: of the columns, in every norm; None for the usual ones above 0, thinned
            to a readable number.
        title: of the page; None for the usual one.
        command: what was typed to make the page, to be shown on it.
        left_out: heading -> sentences on files that are no part of the ranking, which
            the page lists.

    Raises:
        Problem: no entry, or a radius that makes no sense.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> from randsmooth.report import measure
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(
        ...     header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0
        ... )
        >>> page = leaderboard_page([measure(table, "macer.parquet")], title="Two images")
        >>> page.count("<h1>Two images</h1>")
        1
    """
    radii_of_norm, settings = by_setting(entries, radii)
    return _page(radii_of_norm, settings, title, command, left_out or {})


def write_leaderboard(
    entries: Sequence[Entry],
    path: Path | str,
    *,
    radii: Sequence[float] | None = None,
    title: str | None = None,
    command: str | None = None,
    left_out: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write the page of `leaderboard_page` to `path`, and its records as JSON beside it.

    Arguments and errors are as there.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> from randsmooth.report import measure
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(
        ...     header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_leaderboard([measure(table, "macer.parquet")], Path(folder) / "board.html")
        ...     sorted(file.name for file in Path(folder).iterdir())
        ['board.html', 'board.json']
    """
    radii_of_norm, settings = by_setting(entries, radii)
    records = to_json(radii_of_norm, settings)
    page = _page(radii_of_norm, settings, title, command, left_out or {})
    write_atomically(Path(path), page.encode())
    write_atomically(Path(path).with_suffix(".json"), records.encode())


def filters(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """Return the values that occur of each fact that can be filtered by."""
    facts = [entry.facts for entry in entries]
    return {
        key: sorted({of_entry[key] for of_entry in facts}, key=_filter_order)
        for key in FILTERS
    }


def _filter_order(value: str) -> tuple[bool, str, float, str]:
    """Order values by the alphabet, noises of one name then by their width.

    What is not recorded comes last.
    """
    lower = value.lower()
    unknown = value == NOT_RECORDED
    # `gaussian 0.5`, or `gaussian (sigma 0.5)`
    without_brackets = value.removesuffix(")").partition(" (")[0]
    name, _, width = without_brackets.rpartition(" ")
    if NUMBER.fullmatch(width):
        return unknown, name, float(width), lower
    return unknown, lower, 0.0, lower


def notes(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the notes in the headers, each with the files that have it.

    Of many files the first are named.
    """
    files = gathered(
        (_long(note), shortened(entry.file))
        for entry in entries
        for note in entry.header.notes
    )
    return {note: names_of(names, FILES_OF_A_NOTE) for note, names in files.items()}


def _page(
    radii_of_norm: RadiiOfNorm,
    settings: Sequence[RankedSetting],
    title: str | None,
    command: str | None,
    left_out: Mapping[str, Sequence[str]],
) -> str:
    """Return the page of entries that are ranked already."""
    rows = [row for setting in settings for row in setting.rows]
    entries = [row.entry for row in rows]
    choices = filters(entries)
    sample_sizes = {entry.header.n for entry in entries}
    return web.page(
        web.__name__,
        "leaderboard.html.j2",
        styles=[web.asset(web.__name__, name) for name in STYLES],
        scripts=[web.asset(web.__name__, name) for name in SCRIPTS],
        data=_payload(rows, choices),
        title=title or TITLE,
        groups=settings,
        levels=[f"{level:g}" for level in P_A_LEVELS],
        radii=[
            (NORMS[norm], [f"{radius:g}" for radius in radii])
            for norm, radii in radii_of_norm.items()
        ],
        sure=sure_of([entry.table for entry in entries]),
        filters=choices,
        many={
            "n": len(sample_sizes) > 1,
            "rule": choices["rule"] != ["fixed"],
            "settings": any(entry.settings for entry in entries),
        },
        without_sigma=sum(entry.header.noise is None for entry in entries),
        without_p_a=Counter(
            entry.p_a_unknown for entry in entries if entry.p_a_unknown
        ),
        notes=notes(entries),
        partly=any(entry.p_a and entry.logged for entry in entries),
        unknown=NOT_RECORDED,
        total=len(entries),
        command=command,
        left_out={
            printable(heading): [_long(sentence) for sentence in sentences]
            for heading, sentences in left_out.items()
        },
        most_compared=MOST_COMPARED,
    )


def _payload(rows: Sequence[BoardRow], choices: dict[str, list[str]]) -> dict[str, Any]:
    """Return what the page's script knows beside what is printed.

    The lines are in the order of the page. Each is [places in the filters, places in
    the notes, file, intervals, end, accuracy, p_A, what its radii are]. `intervals` are
    those of its figures, [] where there is none. Notes that lines share are kept once.
    """
    place_of_note: dict[str, int] = {}
    lines = []
    for row in rows:
        entry = row.entry
        facts = entry.facts
        noted = []
        for note in entry.header.notes:
            text = _long(note)
            place_of_note.setdefault(text, len(place_of_note))
            noted.append(place_of_note[text])
        lines.append(
            [
                [choices[key].index(facts[key]) for key in FILTERS],
                noted,
                _long(entry.file),
                [[float(end) for end in cell.ends] for cell in row.cells],
                float(f"{entry.curves.end:.{RADIUS_DIGITS}g}"),
                entry.curves.accuracy,
                entry.curves.p_a,
                NORMS[entry.table.norm].title,
            ]
        )
    return {
        "filters": list(FILTERS),
        "notes": list(place_of_note),
        "lines": lines,
        "steps": RADIUS_STEPS,
        "unit": SHARE_UNIT,
        "levels": P_A_GRID.tolist(),
    }


def _long(text: str) -> str:
    return shortened(printable(text), LONG)


def to_json(radii_of_norm: RadiiOfNorm, settings: Sequence[RankedSetting]) -> str:
    """Return a list of records for programs, at full precision.

    They are in the page's order, one a line (see `by_setting`).
    """
    lines = []
    for setting in settings:
        for row in setting.rows:
            radii = radii_of_norm[row.entry.table.norm]
            record = _record(row, radii, setting)
            lines.append(escape.to_json(record, indent=None))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _record(
    row: BoardRow, radii: Sequence[float], setting: RankedSetting
) -> dict[str, Any]:
    entry = row.entry
    header = entry.header
    facts = entry.facts
    return {
        "name": entry.table.name,
        "file": entry.file,
        "setting": setting.words,
        "dataset": header.dataset,
        "split": header.split,
        "rule": header.rule,
        "method": _recorded(facts["method"]),
        "settings": _recorded(facts["settings"]),
        "repository": _recorded(facts["repository"]),
        "sigma": header.sigma,
        "n0": header.n0,
        "n": header.n,
        "alpha": header.alpha,
        "label_aware": header.label_aware,
        "noise": header.noise_title or None,
        "norm": entry.table.norm,
        "proved_in": entry.table.proved_in,
        "logged": entry.logged,
        "notes": list(header.notes),
        "images": len(entry.table),
        "p_A": [
            {"at_least": level, **asdict(share)} for level, share in entry.p_a.items()
        ],
        "smoothed_accuracy": entry.smoothed and asdict(entry.smoothed),
        "smoothed_accuracy_if_chosen": _smoothed_if_chosen(entry, len(setting.rows)),
        "certified_accuracy": [
            {"radius": radius, **_accuracy(estimate)}
            for radius, estimate in zip(radii, row.at_radii, strict=True)
        ],
        "acr": entry.acr and asdict(entry.acr),
        "against": row.against and _against(row.against),
    }


def _recorded(text: str) -> str | None:
    return None if text == NOT_RECORDED else text


def _smoothed_if_chosen(entry: Entry, tables: int) -> dict[str, Any] | None:
    """Return smoothed accuracy with the choice of the first of so many allowed for."""
    if entry.smoothed is None:
        return None
    chosen = metrics.share_if_chosen(entry.smoothed, tables)
    return {**asdict(chosen), "tables": tables}


def _accuracy(estimate: Estimate | None) -> dict[str, Any]:
    if estimate is None:
        return {"value": None}
    return asdict(estimate)


def _against(comparison: Comparison) -> dict[str, Any]:
    return {
        "baseline": comparison.b,
        "words": str(comparison),
        "judged_together": asdict(comparison.scope),
    }
