"""Every certificate table there is, on one page that sorts and filters offline: the p_A curve first, ACR last."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from randsmooth import metrics
from randsmooth.atomic import write_atomically
from randsmooth.certificates import Certificates, Header
from randsmooth.errors import InputError
from randsmooth.escape import LONG, printable, shortened
from randsmooth.escape import to_json as json_of
from randsmooth.metrics import P_A_LEVELS, Comparison, Estimate
from randsmooth.report.figures import curves
from randsmooth.report.leaderboard import against
from randsmooth.report.sheet import content as sheet
from randsmooth.report.sheet import verdicts
from randsmooth.report.sheet.facts import UNKNOWN, show
from randsmooth.report.sheet.ranking import Mark, marks
from randsmooth.report.web import html

MOST_RADII = 8  # columns; beyond them the usual radii are thinned


@dataclass(frozen=True)
class Entry:
    """One measured table. Its counts are let go of, so that a folder of many tables fits into memory.

    Attributes:
        table: labels, predictions and radii; no counts.
        file: where it lies below the folder, for the reader.
        smoothed: accuracy of the smoothed classifier.
        p_a: share of images with p_A >= x for each x of P_A_LEVELS; empty where the table does not tell.
        untold: why it does not; empty where it does.
        logged: the table is a published log, which tells p_A from 1/2 upward only.
        images: a hash of which images the table is about.
    """

    table: Certificates
    file: str
    smoothed: Estimate
    p_a: dict[float, Estimate]
    acr: Estimate
    untold: str
    logged: bool
    images: str

    @property
    def header(self) -> Header:
        return self.table.header

    @property
    def method(self) -> str:
        return show((self.header.model or {}).get("method"))

    @property
    def folder(self) -> str:
        parent = Path(self.file).parent.as_posix()
        return "" if parent == "." else shortened(parent)


@dataclass(frozen=True)
class Cell:
    """One figure as printed, with its interval; `figure` is empty where the table does not tell it."""

    figure: str = ""
    low: str = ""
    high: str = ""
    mark: Mark = dataclasses.field(default_factory=Mark)


@dataclass(frozen=True)
class Row:
    """One table's figures: a cell for each of P_A_LEVELS, smoothed accuracy, one for each radius, ACR.

    `against` is its comparison with the setting's Gaussian table, where there is one.
    """

    entry: Entry
    p_a: list[Cell]
    accuracy: list[Cell]
    acr: Cell
    against: Comparison | None

    @property
    def said(self) -> str:
        """`crosses at r = 0.37 (...), ahead beyond`; empty without a comparison."""
        return verdicts.words(self.against) if self.against else ""

    @property
    def rank(self) -> tuple[float, ...]:
        """What rows are ordered by, highest first: the printed p_A shares, then the accuracies."""
        return tuple(float(cell.figure or -1) for cell in [*self.p_a, *self.accuracy])


@dataclass(frozen=True)
class Setting:
    """Tables that may be compared: one data set, the same images, one sigma, n and alpha."""

    words: str
    rows: list[Row]

    @property
    def judged(self) -> list[Row]:
        """The rows that are compared with the Gaussian table among them."""
        return [row for row in self.rows if row.against is not None]


def measure(table: Certificates, file: str) -> Entry:
    """The figures of `table` that do not depend on the others; `file` says where it was found.

    Raises:
        InputError: the table holds no image.
    """
    summary = metrics.summarize(table, [0.0])
    images = hashlib.sha256(table.idx.tobytes() + table.label.tobytes()).hexdigest()
    light = dataclasses.replace(table, name=_name(table, file), counts0=None, counts=None, paths=None)
    return Entry(
        light,
        file,
        smoothed=summary.accuracy[0.0],
        p_a=summary.p_a,
        acr=summary.acr,
        untold=_untold(table),
        logged=table.is_log,
        images=images,
    )


def settings(entries: Sequence[Entry], radii: Sequence[float] | None = None) -> tuple[list[float], list[Setting]]:
    """The radii of the columns, and the entries by setting, each setting's in the order of their p_A curves.

    Args:
        radii: in pixels in [0, 1]; None for the usual ones above 0, thinned to a readable number.

    Raises:
        InputError: no entry, or a radius that makes no sense.
    """
    if not entries:
        raise InputError("there is no certificate table to rank; give a folder that holds at least one")
    at = usual_radii(entries) if radii is None else list(dict.fromkeys(radii))
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(_key(entry), []).append(entry)
    keys = sorted(groups, key=_ascending)
    words = _numbered([_words(groups[key][0]) for key in keys])
    return at, [Setting(text, _rows(groups[key], at)) for text, key in zip(words, keys, strict=True)]


def usual_radii(entries: Sequence[Entry]) -> list[float]:
    """Multiples of 0.25 as far as any table certifies, or of twice as much until they fit the page; not 0."""
    usual = metrics.usual_radii([entry.table for entry in entries])
    while len(usual) > MOST_RADII + 1:
        usual = usual[::2]
    return usual[1:]


def leaderboard_page(
    entries: Sequence[Entry],
    *,
    radii: Sequence[float] | None = None,
    title: str | None = None,
    command: str | None = None,
    left_out: Sequence[str] = (),
) -> str:
    """The page as HTML with everything inlined; arguments and errors as `settings`.

    `left_out` are sentences on files that could not be used, which the page lists.
    """
    at, groups = settings(entries, radii)
    ordered = [row.entry for group in groups for row in group.rows]
    filters = _filters(ordered)
    return html.render(
        "leaderboard",
        "leaderboard.html.j2",
        "leaderboard.js",
        title=title or "Certified robustness: leaderboard",
        groups=groups,
        levels=[f"{x:g}" for x in P_A_LEVELS],
        radii=[f"{r:g}" for r in at],
        filters=filters,
        many={"n": len({entry.header.n for entry in ordered}) > 1, "rule": filters["rule"] != ["fixed"]},
        untold=_lacking(ordered),
        notes=_notes(ordered),
        partly=any(entry.p_a and entry.logged for entry in ordered),
        facts=_facts,
        together=verdicts.together,
        unknown=UNKNOWN,
        total=len(ordered),
        command=command,
        left_out=[shortened(printable(sentence), LONG) for sentence in left_out],
    )


def to_json(entries: Sequence[Entry], *, radii: Sequence[float] | None = None) -> str:
    """A list of records in the page's order, at full precision; arguments and errors as `settings`."""
    at, groups = settings(entries, radii)
    records = [
        _record(row.entry, at, group.words) | {"against": _judged(row.against)}
        for group in groups
        for row in group.rows
    ]
    return json_of(records) + "\n"


def write_leaderboard(entries: Sequence[Entry], path: Path | str, **options: Any) -> None:
    """Write `leaderboard_page(entries, **options)` to `path` and its JSON beside it. Errors as `settings`."""
    path = Path(path)
    text = to_json(entries, radii=options.get("radii"))
    write_atomically(path, leaderboard_page(entries, **options).encode())
    write_atomically(path.with_suffix(".json"), text.encode())


def _name(table: Certificates, file: str) -> str:
    return shortened(printable(table.name).strip() or printable(file))


def _untold(table: Certificates) -> str:
    """Why the table's p_A is not known; empty where it is."""
    missing = curves.missing_facts(table)
    if missing:
        options = ", ".join(f"--{field}" for field in missing)
        return f"a published log does not say its {', '.join(missing)}; give {options} to recover p_A from its radii"
    return "" if metrics.knows_p_a(table) else "samples stopped early, so they do not measure p_A"


def _key(entry: Entry) -> tuple[Any, ...]:
    """What must be equal for two tables to be compared."""
    header = entry.header
    return header.dataset, header.split, header.sigma, header.n, header.alpha, len(entry.table), entry.images


def _ascending(key: Sequence[Any]) -> list[tuple[bool, Any]]:
    """`key` for sorting: what is not recorded comes last."""
    return [(value is None, 0 if value is None else value) for value in key]


def _words(entry: Entry) -> str:
    header = entry.header
    where = f"{show(header.dataset)} {show(header.split) if header.split else ''}".strip()
    facts = [f"{name} {show(getattr(header, name))}" for name in ("sigma", "n", "alpha")]
    named = where if header.dataset else f"data set {UNKNOWN}"
    return ", ".join([named, f"{len(entry.table):,} images", *facts])


def _numbered(words: Sequence[str]) -> list[str]:
    """`words` with a number where two settings, about different images, read the same."""
    again = [list(words[:place]).count(text) for place, text in enumerate(words)]
    return [f"{text}; image set {count + 1}" if count else text for text, count in zip(words, again, strict=True)]


def _rows(entries: Sequence[Entry], radii: Sequence[float]) -> list[Row]:
    """One setting's rows in the order of `Row.rank`; the best and the second best of each column but ACR are marked."""
    p_a = [_column([entry.p_a.get(x) for entry in entries]) for x in P_A_LEVELS]
    accuracy = [_column([entry.smoothed for entry in entries])]
    accuracy += [_column([metrics.certified_accuracy(entry.table, r) for entry in entries]) for r in radii]
    judged = against.compared([entry.table for entry in entries], radii)
    rows = [
        Row(
            entry,
            [column[i] for column in p_a],
            [column[i] for column in accuracy],
            _cell(entry.acr, 1.0, 3),
            judged[i],
        )
        for i, entry in enumerate(entries)
    ]
    return sorted(rows, key=lambda row: row.rank, reverse=True)


def _column(estimates: Sequence[Estimate | None]) -> list[Cell]:
    """Percentages with marks, unless all are equal; those not told are left out of the ranking."""
    cells = [_cell(estimate, 100.0, 1) for estimate in estimates]
    figures = [cell.figure for cell in cells if cell.figure]
    if len(set(figures)) < 2:
        return cells
    told = iter(marks(figures, None))
    return [dataclasses.replace(cell, mark=next(told)) if cell.figure else cell for cell in cells]


def _cell(estimate: Estimate | None, scale: float, decimals: int) -> Cell:
    if estimate is None:
        return Cell()
    value, low, high = (f"{x * scale:.{decimals}f}" for x in (estimate.value, estimate.low, estimate.high))
    return Cell(value, low, high)


def _facts(entry: Entry) -> dict[str, str]:
    """What the page filters and shows of an entry, printed."""
    header = entry.header
    return {
        "dataset": show(header.dataset),
        "sigma": show(header.sigma),
        "n": UNKNOWN if header.n is None else f"{header.n:,}",
        "rule": show(header.rule),
        "method": entry.method,
        "notes": show(header.notes),
    }


def _filters(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """The values that occur of each fact that can be filtered by, in the order of the page."""
    facts = [_facts(entry) for entry in entries]
    return {key: list(dict.fromkeys(fact[key] for fact in facts)) for key in ("dataset", "sigma", "rule")}


def _lacking(entries: Sequence[Entry]) -> dict[str, int]:
    """Why p_A is not told, and of how many tables."""
    reasons = [entry.untold for entry in entries if entry.untold]
    return {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}


def _notes(entries: Sequence[Entry]) -> dict[str, str]:
    """What was inferred of logs or done to tables since, and of which; files tell tables of one name apart."""
    tables = [entry.table.renamed(shortened(entry.file)) for entry in entries]
    return {shortened(note, LONG): ", ".join(files) for note, files in sheet.notes(tables).items()}


def _record(entry: Entry, radii: Sequence[float], setting: str) -> dict[str, Any]:
    header = entry.header
    facts = {key: getattr(header, key) for key in ("sigma", "n0", "n", "alpha", "label_aware")}
    accuracy = [{"radius": r, **_plain(metrics.certified_accuracy(entry.table, r))} for r in radii]
    return {
        "name": entry.table.name,
        "file": entry.file,
        "setting": setting,
        **_texts(entry),
        **facts,
        "logged": entry.logged,
        "notes": list(header.notes),
        "images": len(entry.table),
        "p_A": [{"at_least": x, **_plain(share)} for x, share in entry.p_a.items()],
        "smoothed_accuracy": _plain(entry.smoothed),
        "certified_accuracy": accuracy,
        "acr": _plain(entry.acr),
    }


def _judged(one: Comparison | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"baseline": one.b, "words": verdicts.words(one), "judged_together": dataclasses.asdict(one.scope)}


def _texts(entry: Entry) -> dict[str, str | None]:
    header = entry.header
    method = None if entry.method == UNKNOWN else entry.method
    return {"dataset": header.dataset, "split": header.split, "rule": header.rule, "method": method}


def _plain(estimate: Estimate) -> dict[str, float | int]:
    return dataclasses.asdict(estimate)
