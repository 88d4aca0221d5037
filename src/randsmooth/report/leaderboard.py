"""The leaderboard as one HTML page that sorts and filters offline, and as JSON."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import escape, metrics
from randsmooth.atomic import write_atomically
from randsmooth.escape import (
    LONG,
    NOT_RECORDED,
    NUMBER,
    names_of,
    printable,
    shortened,
)
from randsmooth.metrics import Comparison, Estimate
from randsmooth.noise import NORMS, Norm
from randsmooth.report import web
from randsmooth.report.answer import judged_facts
from randsmooth.report.charts import PROBABILITY_TICKS, at_quantiles, looks
from randsmooth.report.checks import CheckBlock
from randsmooth.report.curves import LEAST_P_A
from randsmooth.report.entries import P_A_GRID, RADIUS_STEPS, SHARE_UNIT, Entry
from randsmooth.report.grouping import gathered
from randsmooth.report.ranking import (
    FURTHER_LEVELS,
    MOST_COMPARED,
    BoardRow,
    RadiiOfNorm,
    RankedSetting,
    by_setting,
)
from randsmooth.report.ranking_radius import LEVEL_BESIDE
from randsmooth.report.remarks import in_print, sure_of

# The title of the page, unless another is given.
TITLE = "Certified robustness: leaderboard"
# The facts of a table that the page's reader can filter by.
FILTERS = ("dataset", "noise", "method", "repository", "rule")
STYLES = ("base.css", "leaderboard.css")
SCRIPTS = ("ordering.js", "charts.js", "leaderboard.js", "curves.js")

# Files that a note names; of more files it names the first ones.
MOST_FILES_NAMED = 5
# Decimals of a place on the axis of p_A.
QUANTILE_DECIMALS = 4
# Significant digits of the radius at which a curve ends.
RADIUS_DIGITS = 4


def leaderboard_page(
    entries: Sequence[Entry],
    *,
    radii: Sequence[float] | None = None,
    at: float | None = None,
    title: str | None = None,
    command: str | None = None,
    left_out: Mapping[str, Sequence[str]] | None = None,
    labels: Mapping[str, NDArray[np.int64]] | None = None,
    anyway: bool = False,
) -> str:
    """Return the page as HTML with everything inlined.

    Args:
        radii: the radii of the columns, in every norm; None for the usual ones above 0,
            thinned to a readable number.
        at: the radius whose certified accuracy ranks the tables, named before they were
            seen; None for one sigma of each setting.
        title: the title of the page; None for the usual one.
        command: the command that makes the page, to be shown on it.
        left_out: heading -> sentences on files that are no part of the ranking, which
            the page lists.
        labels, anyway: as in `render`.

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
    block = check_entries(entries, labels, anyway=anyway)
    radii_of_norm, settings = by_setting(entries, radii, at, block.doubted)
    return _page(radii_of_norm, settings, block, title, command, left_out or {})


def check_entries(
    entries: Sequence[Entry],
    labels: Mapping[str, NDArray[np.int64]] | None = None,
    *,
    anyway: bool = False,
) -> CheckBlock:
    """Check the tables of a leaderboard, under the names of their files.

    Args:
        entries: the measured tables.
        labels, anyway: as in `render`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> from randsmooth.report import measure
        >>> entry = measure(from_radii([0.5, 0.2]), "a.tsv")
        >>> check_entries([entry]).doubted
        {}
    """
    tables = [entry.table.renamed(_printable(entry.file)) for entry in entries]
    block = CheckBlock.of_folder(tables, labels, anyway=anyway)
    # The ranking knows tables by their files.
    files = {_printable(entry.file): entry.file for entry in entries}
    failed = {files[name]: reason for name, reason in block.failed.items()}
    return replace(block, failed=failed)


def write_leaderboard(
    entries: Sequence[Entry],
    path: Path | str,
    *,
    radii: Sequence[float] | None = None,
    at: float | None = None,
    title: str | None = None,
    command: str | None = None,
    left_out: Mapping[str, Sequence[str]] | None = None,
    labels: Mapping[str, NDArray[np.int64]] | None = None,
    anyway: bool = False,
) -> CheckBlock:
    """Write the page of `leaderboard_page` to `path`, and its records as JSON beside it.

    The other arguments, and the errors, are those of `leaderboard_page`.

    Returns:
        The checks of the tables.

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
        ...     _ = write_leaderboard([measure(table, "macer.parquet")], Path(folder) / "board.html")
        ...     sorted(file.name for file in Path(folder).iterdir())
        ['board.html', 'board.json']
    """
    block = check_entries(entries, labels, anyway=anyway)
    radii_of_norm, settings = by_setting(entries, radii, at, block.doubted)
    records = to_json(radii_of_norm, settings)
    page = _page(radii_of_norm, settings, block, title, command, left_out or {})
    write_atomically(Path(path), page.encode())
    write_atomically(Path(path).with_suffix(".json"), records.encode())
    return block


def filters(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """Return, for each fact that can be filtered by, the values that occur, sorted."""
    values_of_fact = {}
    for fact in FILTERS:
        values = {entry.facts[fact] for entry in entries}
        values_of_fact[fact] = sorted(values, key=_filter_order)
    return values_of_fact


def _filter_order(value: str) -> tuple[bool, str, float, str]:
    """Return a key that sorts values by the alphabet, noises of one name by their width.

    A value that is not recorded comes last.
    """
    lower = value.lower()
    unknown = value == NOT_RECORDED
    # A noise reads `sigma 0.5`, or `uniform 0.6 (L1)`.
    without_brackets = value.removesuffix(")").partition(" (")[0]
    name, _, width = without_brackets.rpartition(" ")
    if NUMBER.fullmatch(width):
        return unknown, name, float(width), lower
    return unknown, lower, 0.0, lower


def notes(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the notes in the headers, each with the files that have it.

    Where many files have a note, the first of them are named.
    """
    files_of_note = gathered(
        (_printable(str(note)), shortened(entry.file))
        for entry in entries
        for note in entry.header.notes
    )
    return {
        note: names_of(files, MOST_FILES_NAMED) for note, files in files_of_note.items()
    }


def _page(
    radii_of_norm: RadiiOfNorm,
    settings: Sequence[RankedSetting],
    block: CheckBlock,
    title: str | None,
    command: str | None,
    left_out: Mapping[str, Sequence[str]],
) -> str:
    """Fill the template of the page with entries that are ranked already."""
    rows = [row for setting in settings for row in setting.rows]
    entries = [row.entry for row in rows]
    values_of_fact = filters(entries)
    one_radius = len(ranking_radii(settings)) == 1
    shows = _optional_columns(entries, values_of_fact)
    # Templates, styles and scripts lie in one package.
    package = web.__name__
    return web.page(
        package,
        "leaderboard.html.j2",
        styles=[web.asset(package, name) for name in STYLES],
        scripts=[web.asset(package, name) for name in SCRIPTS],
        data=_payload(
            rows, values_of_fact, one_radius=one_radius, declined=shows["declined"]
        ),
        title=title or TITLE,
        settings=settings,
        check_lines=block.lines,
        check_notes=[*map(in_print, block.notes)],
        one_radius=one_radius,
        ranking_title=ranking_title(settings),
        is_ranked=any(setting.at is not None for setting in settings),
        level_beside=f"{LEVEL_BESIDE:g}",
        further_levels=[f"{level:g}" for level in FURTHER_LEVELS],
        columns_of_norm=_radius_columns(radii_of_norm),
        how_sure=sure_of([entry.table for entry in entries]),
        filters=values_of_fact,
        shows=shows,
        without_noise=sum(entry.header.noise is None for entry in entries),
        p_a_unknown=_reasons_without_p_a(entries),
        notes=notes(entries),
        # The page says in how far logs tell p_A.
        p_a_of_logs=any(entry.p_a and entry.logged for entry in entries),
        not_recorded=NOT_RECORDED,
        total=len(entries),
        command=command,
        left_out={
            printable(heading): [_printable(sentence) for sentence in sentences]
            for heading, sentences in left_out.items()
        },
        most_compared=MOST_COMPARED,
    )


def _radius_columns(radii_of_norm: RadiiOfNorm) -> list[tuple[Norm, list[str]]]:
    """Return each norm, whose words head its columns, with their radii as printed."""
    return [
        (NORMS[norm], [f"{radius:g}" for radius in radii])
        for norm, radii in radii_of_norm.items()
    ]


def _optional_columns(
    entries: Sequence[Entry], values_of_fact: Mapping[str, Sequence[str]]
) -> dict[str, bool]:
    """Return which of the columns are shown that would tell most readers nothing.

    They are n where all tables have the same, the rule where all have the usual one,
    the settings where no log tells any, and the share of declined images where no model
    may decline.
    """
    sample_sizes = {entry.header.n for entry in entries}
    return {
        "n": len(sample_sizes) > 1,
        "rule": values_of_fact["rule"] != ["fixed"],
        "settings": any(entry.settings for entry in entries),
        "declined": any(entry.declined is not None for entry in entries),
    }


def _reasons_without_p_a(entries: Sequence[Entry]) -> Counter[str]:
    """Count, for each reason why p_A is not known, the tables that it holds for."""
    return Counter(entry.p_a_unknown for entry in entries if entry.p_a_unknown)


def ranking_radii(settings: Sequence[RankedSetting]) -> set[float | None]:
    """Return the radii at which settings are ranked; None stands for no ranking."""
    return {None if setting.at is None else setting.at.radius for setting in settings}


def ranking_title(settings: Sequence[RankedSetting]) -> str:
    """Return the head of the column that ranks the tables."""
    radii = ranking_radii(settings) - {None}
    title = "certified accuracy (%)"
    if not radii:
        return f"{title} at a named radius"
    if len(radii) == 1:
        return f"{title} at {radii.pop():g}"
    if all(setting.at is None or setting.at.is_sigma for setting in settings):
        return f"{title} at sigma"
    return f"{title} at the setting's radius"


def _payload(
    rows: Sequence[BoardRow],
    values_of_fact: Mapping[str, Sequence[str]],
    *,
    one_radius: bool,
    declined: bool,
) -> dict[str, Any]:
    """Return the data that the page's script needs beside the printed figures.

    The lines are in the order of the page. Each is [places in the filters, places in
    the notes, file, intervals, end, accuracy, p_A, what its radii are, colour].
    `intervals` has a pair for each column of figures, from left to right, and [] for a
    figure without one. The script prints them in small type below the figures where the
    reader asks for them, and else when the pointer is on a figure. Notes that lines
    share are kept once.

    `accuracy` has shares at `steps` equal steps from radius 0 to `end`, and p_A shares
    at the last of `levels`. Shares are whole numbers, and `unit` stands for 1.

    Args:
        rows: the lines.
        values_of_fact: fact -> its values, in the order of the filter.
        one_radius: whether all settings are ranked at one radius. Only then does the
            script sort all lines in one list by the accuracy that ranks.
        declined: whether the page shows the share of declined images.
    """
    looks_of_rows = looks(
        [row.name for row in rows], [row.entry.method for row in rows]
    )
    place_of_note: dict[str, int] = {}
    lines = []
    for row, look in zip(rows, looks_of_rows, strict=True):
        entry = row.entry
        note_places = []
        for note in entry.header.notes:
            text = _printable(str(note))
            place_of_note.setdefault(text, len(place_of_note))
            note_places.append(place_of_note[text])
        filter_places = [
            values_of_fact[fact].index(entry.facts[fact]) for fact in FILTERS
        ]
        lines.append(
            [
                filter_places,
                note_places,
                _printable(entry.file),
                [
                    [float(end) for end in cell.ends]
                    for cell in row.shown(declined=declined)
                ],
                float(f"{entry.curves.end:.{RADIUS_DIGITS}g}"),
                entry.curves.accuracy,
                entry.curves.p_a,
                NORMS[entry.table.norm].title,
                look.colour,
            ]
        )
    return {
        "filters": list(FILTERS),
        "one_radius": one_radius,
        "notes": list(place_of_note),
        "lines": lines,
        "steps": RADIUS_STEPS,
        "unit": SHARE_UNIT,
        "levels": P_A_GRID.tolist(),
        # Where the values of p_A lie on their axis, and its ends and marks. The normal
        # quantiles of 0 and 1 are infinite: `at_quantiles` gives finite ones for them.
        "quantiles": at_quantiles(P_A_GRID).round(QUANTILE_DECIMALS).tolist(),
        "ends": at_quantiles([LEAST_P_A, 1.0]).round(QUANTILE_DECIMALS).tolist(),
        "marks": [
            [round(float(at), QUANTILE_DECIMALS), f"{p:g}"]
            for p, at in zip(
                PROBABILITY_TICKS, at_quantiles(PROBABILITY_TICKS), strict=True
            )
            # Marks stand to the right of the vertical axis, which is at LEAST_P_A.
            if p > LEAST_P_A
        ],
    }


def _printable(text: str) -> str:
    """Return a text of a file, safe to print and cut where it is very long."""
    return shortened(printable(text), LONG)


def to_json(radii_of_norm: RadiiOfNorm, settings: Sequence[RankedSetting]) -> str:
    """Return a JSON list of the tables' figures, for programs, at full precision.

    The records are in the page's order, one a line (see `by_setting`).
    """
    lines = []
    for setting in settings:
        for place, row in enumerate(setting.rows, start=1):
            radii = radii_of_norm[row.entry.table.norm]
            # Rows without a rank come last.
            rank = None if setting.at is None or row.doubted else place
            record = _record(row, rank, radii, setting)
            lines.append(escape.to_json(record, indent=None))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _record(
    row: BoardRow, rank: int | None, radii: Sequence[float], setting: RankedSetting
) -> dict[str, Any]:
    """Return the facts and figures of the table at a rank of its setting.

    Args:
        radii: the radii of the columns, in the norm of the table.
    """
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
        "notes": [str(note) for note in header.notes],
        "images": len(entry.table),
        "how_ranked": setting.how_ranked,
        "rank": rank,
        "doubted": row.doubted or None,
        "ranked_by": _ranked_by(row, setting),
        "ranked_by_if_chosen": _if_chosen(row, len(setting.ranked_rows)),
        "difference": row.difference and asdict(row.difference),
        "differences_judged": row.judged and judged_facts(row.judged),
        "p_A": [
            {"at_least": level, **asdict(share)} for level, share in entry.p_a.items()
        ],
        "smoothed_accuracy": entry.smoothed and asdict(entry.smoothed),
        "certified_accuracy": [
            {"radius": radius, **_accuracy(estimate)}
            for radius, estimate in zip(radii, row.at_radii, strict=True)
        ],
        "declined": entry.declined and asdict(entry.declined),
        "acr": entry.acr and asdict(entry.acr),
        "against": row.against and _against(row.against),
    }


def _recorded(text: str) -> str | None:
    """Return a fact, or None for the words that say that it is not recorded."""
    return None if text == NOT_RECORDED else text


def _ranked_by(row: BoardRow, setting: RankedSetting) -> dict[str, Any] | None:
    """Return the figure that ranks a table, and at which radius; None if none does."""
    if setting.at is None:
        return None
    return {
        "radius": setting.at.radius,
        "named": setting.at.is_named,
        "least_p_A": setting.at.least_p_a,
        **_accuracy(row.ranked_by),
    }


def _if_chosen(row: BoardRow, tables: int) -> dict[str, Any] | None:
    """Return the figure that ranks a table, allowing for the choice among `tables`."""
    if row.ranked_by is None or row.doubted:
        return None
    chosen = metrics.share_if_chosen(row.ranked_by, tables)
    return {**asdict(chosen), "tables": tables}


def _accuracy(estimate: Estimate | None) -> dict[str, Any]:
    """Return an accuracy with its interval, or a value of None where it is not known."""
    if estimate is None:
        return {"value": None}
    return asdict(estimate)


def _against(comparison: Comparison) -> dict[str, Any]:
    """Return how a table compares with the baseline of its setting."""
    return {
        "baseline": comparison.b,
        "words": str(comparison),
        "judged_together": asdict(comparison.scope),
    }
