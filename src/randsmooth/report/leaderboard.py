"""The leaderboard: one table is an entry, groups of one setting are ranked, and the page shows them."""

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from randsmooth import escape, metrics
from randsmooth.atomic import write_atomically
from randsmooth.certificates import Certificates, Header
from randsmooth.certificates.files import names_of
from randsmooth.errors import NotFound
from randsmooth.escape import LONG, NOT_RECORDED, NUMBER, printable, setting, shortened
from randsmooth.metrics import P_A_LEVELS, Comparison, Estimate
from randsmooth.noise import NORMS
from randsmooth.report import web
from randsmooth.report.sheet import (
    Column,
    column,
    converted_words,
    find_gaussian,
    gathered,
    out_of_reach,
    paired_with,
    sure_of,
)

NAMED = 5  # files that a note names
FILTERS = ("dataset", "noise", "method", "repository", "rule")
STEPS = 60  # of the radius, up to the largest of a right image
LEVELS = np.round(
    np.append(np.linspace(0.0, 0.975, 40), (0.98, 0.985, 0.99, 0.995, 0.999, 1.0)), 3
)  # of p_A
UNIT = 1000  # a share is kept in tenths of a percent
DIGITS = 4  # significant, of a radius
MOST_RADII, FEWEST_RADII = (
    8,
    4,
)  # columns, of all norms and of each; beyond them the usual radii are thinned
MOST_COMPARED = 40  # tables judged together: with more, next to nothing can be shown of any, and it takes minutes


@dataclass(frozen=True)
class Curves:
    """What a page draws of a table: certified accuracy by radius, and the share of images by p_A.

    Attributes:
        end: the largest radius of a right image.
        accuracy: (STEPS + 1,) certified accuracy at radii from 0 to `end`, in 1/UNIT; empty without labels.
        p_a: shares of images with p_A >= the last so many of LEVELS, in 1/UNIT: of a log from 1/2 on, or none at all.
    """

    end: float
    accuracy: list[int]
    p_a: list[int]


def curves_of(table: Certificates) -> Curves:
    """The curves of a table, as far as it determines them.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> curves = curves_of(from_radii([0.0, 0.3, 0.8, 1.2]))
        >>> curves.end, curves.accuracy[0], curves.accuracy[-1], curves.p_a
        (1.2, 750, 250, [])
    """
    end = float(np.max(table.radius * table.correct, initial=0.0))
    radii = np.minimum(np.linspace(0.0, 1.0, STEPS + 1) * end, end)
    accuracy = metrics.certified_shares(table, radii) if table.labelled else np.zeros(0)
    p_a = metrics.p_a_curve(table, LEVELS) if metrics.knows_p_a(table) else np.zeros(0)
    kept = [
        np.rint(shares * UNIT).astype(int).tolist()
        for shares in (accuracy, p_a[~np.isnan(p_a)])
    ]
    return Curves(end, *kept)


@dataclass(frozen=True)
class Entry:
    """One measured table. Its counts are not kept, so that a folder of many tables fits into memory.

    Attributes:
        table: labels, predictions and radii; no counts.
        file: where it lies below the folder, for the reader.
        smoothed: accuracy of the smoothed classifier; None, as `acr`, where the images have no labels.
        p_a: share of images with p_A >= x for each x of `metrics.P_A_LEVELS`; empty where p_A is not known.
        p_a_unknown: why it is not; empty where it is.
        logged: the table is a published log, which gives p_A from 1/2 upward only.
        images: a hash of which images the table is about; of a log that does not say, a hash of its own.
        curves: what the page draws of it on demand.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001, model={"method": "macer"})
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> entry = measure(table, "digits/macer.parquet")
        >>> entry.method, entry.folder
        ('macer', 'digits')
    """

    table: Certificates
    file: str
    smoothed: Estimate | None
    p_a: dict[float, Estimate]
    acr: Estimate | None
    p_a_unknown: str
    logged: bool
    images: str
    curves: Curves

    @property
    def header(self) -> Header:
        return self.table.header

    @property
    def method(self) -> str:
        return setting((self.header.model or {}).get("method"))

    @property
    def settings(self) -> str:
        """Hyperparameters and variation, as far as the path of a released log tells them: `m 2, lbd 10, eta 0.5`."""
        told = (self.header.model or {}) if self.logged else {}
        trained = told.get("sigma")
        parts = [
            setting(told["hyperparameters"]) if told.get("hyperparameters") else "",
            printable(str(told.get("variation") or "")),
            ""
            if trained in (None, self.header.sigma)
            else f"trained at sigma {trained:g}",
            f"run {told['run']}" if told.get("run") else "",
        ]
        return shortened(", ".join(filter(None, parts)))

    @property
    def folder(self) -> str:
        parent = Path(self.file).parent.as_posix()
        return "" if parent == "." else shortened(parent)

    @property
    def facts(self) -> dict[str, str]:
        """What the page shows beside the figures, printed."""
        header = self.header
        return {
            "dataset": setting(header.dataset),
            "noise": header.noise_words or NOT_RECORDED,
            "n": NOT_RECORDED if header.n is None else f"{header.n:,}",
            "rule": setting(header.rule),
            "method": self.method,
            "settings": self.settings or NOT_RECORDED,
            "repository": setting(
                (header.model or {}).get("repository") if self.logged else None
            ),
        }


def measure(table: Certificates, file: str) -> Entry:
    """The figures of `table` that do not depend on the other tables; `file` says where it was found.

    Raises:
        Problem: the table holds no image.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> measure(table, "digits/macer.parquet").p_a[0.75].value
        0.5
    """
    summary = metrics.summarise(table, [0.0])
    unknown = table.idx.min() < 0
    images = hashlib.sha256(
        file.encode(errors="replace")
        if unknown
        else table.idx.tobytes() + table.label.tobytes()
    )
    name = shortened(printable(table.name).strip() or printable(file))
    light = dataclasses.replace(table, name=name, counts0=None, counts=None, paths=None)
    return Entry(
        light,
        file,
        smoothed=summary.accuracy[0.0],
        p_a=summary.p_a,
        acr=summary.acr,
        p_a_unknown=str(metrics.p_a_unknown(table) or ""),
        logged=table.is_log,
        images=images.hexdigest(),
        curves=curves_of(table),
    )


def filters(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """The values that occur of each fact that can be filtered by: by the alphabet, a noise's then by its width."""

    def ascending(value: str) -> tuple[bool, str, float, str]:
        name, _, width = value.removesuffix(")").partition(" (")[0].rpartition(" ")
        number = float(width) if NUMBER.fullmatch(width) else None
        return (
            value == NOT_RECORDED,
            value.lower() if number is None else name,
            number or 0.0,
            value.lower(),
        )

    known = [entry.facts for entry in entries]
    return {
        key: sorted({fact[key] for fact in known}, key=ascending) for key in FILTERS
    }


def notes(entries: Sequence[Entry]) -> dict[str, str]:
    """The notes in the headers, each with the files that have it, the first of many."""
    files = gathered(
        (_long(note), shortened(entry.file))
        for entry in entries
        for note in entry.header.notes
    )
    return {note: names_of(names, NAMED) for note, names in files.items()}


class Shown(NamedTuple):
    """One figure as printed, with both ends of its interval; empty where the table does not give it.

    `mark` is "best" or "second" of its column, or empty.
    """

    figure: str
    ends: tuple[str, ...]
    mark: str


@dataclass(frozen=True)
class BoardRow:
    """One table's figures.

    Attributes:
        cells: one for each of P_A_LEVELS, smoothed accuracy, one for each radius, ACR.
        at_radii: the accuracies at the radii in full.
        against: its comparison with the setting's Gaussian table, where there is one.
    """

    entry: Entry
    cells: list[Shown]
    at_radii: list[Estimate | None]
    against: Comparison | None

    @property
    def rank(self) -> tuple[float, ...]:
        """What rows are ordered by, highest first: the printed p_A shares, then the accuracies; not ACR."""
        return tuple(float(cell.figure or -1) for cell in self.cells[:-1])


class Setting(NamedTuple):
    """Tables that may be compared: one data set, the same images, one noise, n and alpha, and one norm of radii."""

    words: str
    rows: list[BoardRow]

    @property
    def of_the_first(self) -> str:
        """What a reader must know of the figures of the first table, as it was chosen; empty of a single table."""
        if len(self.rows) == 1:
            return ""
        entry = self.rows[0].entry
        name = shortened(printable(entry.table.name))
        said = (
            f"{name} is the first of {len(self.rows)} by these very images, "
            "so that its figures are too high on average"
        )
        if entry.smoothed is None:
            return f"{said}."
        chosen = metrics.share_if_chosen(entry.smoothed, len(self.rows))
        printed = column("", [chosen])
        low, high = printed.ends[0]
        figure = f"its smoothed accuracy of {printed.figures[0]}% has the 95% interval {low} to {high}%"
        return f"{said}; with the choice allowed for, {figure}."


Columns = Mapping[str, Sequence[float]]
"""Radii of the columns by their norm."""


def by_setting(
    entries: Sequence[Entry], radii: Sequence[float] | None = None
) -> tuple[Columns, list[Setting]]:
    """The radii of the columns, and the entries by setting, each setting's in the order of their p_A curves.

    Args:
        radii: in every norm; None for the usual ones above 0, thinned to a readable number.

    Raises:
        Problem: no entry, or a radius that makes no sense.
    """
    if not entries:
        raise NotFound(
            "there is no certificate table to rank; give a folder that holds at least one"
        )
    of_norm = {
        norm: [entry for entry in entries if entry.table.norm == norm] for norm in NORMS
    }
    asked = None if radii is None else list(dict.fromkeys(radii))
    most = max(FEWEST_RADII, MOST_RADII // sum(map(bool, of_norm.values())))
    at = {
        norm: usual_radii(own, most) if asked is None else asked
        for norm, own in of_norm.items()
        if own
    }
    # what is not recorded comes last; a name may be empty
    ordered = sorted(
        entries,
        key=lambda entry: [
            (fact is None, 0 if fact is None else fact) for fact in _key(entry)
        ],
    )
    settings, sets = list[Setting](), Counter[str]()
    for group in gathered((_key(entry), entry) for entry in ordered).values():
        sets[words := _words(group[0])] += 1
        settings.append(
            Setting(
                words + f"; image set {sets[words]}" * (sets[words] > 1),
                _rows(group, at),
            )
        )
    return at, settings


def usual_radii(entries: Sequence[Entry], most: int = MOST_RADII) -> list[float]:
    """`metrics.usual_radii`, every second of them until there are so many at `most`; not 0."""
    usual = metrics.usual_radii([entry.table for entry in entries])
    while len(usual) > most + 1:
        usual = usual[::2]
    return usual[1:]


def _key(entry: Entry) -> tuple[Any, ...]:
    """What must be equal for two tables to be compared. A log of test images often does not say that they are."""
    header = entry.header
    noise, order = header.noise_words or None, list(NORMS).index(entry.table.norm)
    budget = (
        order,
        noise and noise.partition(" ")[0],
        header.sigma,
        noise,
        header.n,
        header.alpha,
    )
    return (
        header.dataset,
        header.split or "test",
        *budget,
        len(entry.table),
        entry.images,
    )


def _words(entry: Entry) -> str:
    header = entry.header
    where = f"{setting(header.dataset)} {setting(header.split) if header.split else ''}".strip()
    facts = [header.noise_words or f"sigma {NOT_RECORDED}", f"n {setting(header.n)}"]
    facts.append("certain" if header.alpha == 0.0 else f"alpha {setting(header.alpha)}")
    facts += [converted_words(entry.table)] if entry.table.converted else []
    named = where if header.dataset else f"data set {NOT_RECORDED}"
    return ", ".join([named, f"{len(entry.table):,} images", *facts])


def _rows(entries: Sequence[Entry], at: Columns) -> list[BoardRow]:
    """One setting's rows by rank; the best and the second best of each column but ACR are marked."""
    own = entries[0].table.norm
    radii = at[own]
    known = [
        [
            metrics.certified_accuracy(e.table, r) if e.table.labelled else None
            for r in radii
        ]
        for e in entries
    ]
    shares = [[entry.p_a.get(x) for entry in entries] for x in P_A_LEVELS]
    columns = [
        _cells(column("", of))
        for of in (*shares, [entry.smoothed for entry in entries])
    ]
    tables = [entry.table for entry in entries]
    for norm, there in at.items():
        unknown = [[None] * len(entries)] * len(there)  # radii of another norm
        found = zip(*known, strict=True) if norm == own else unknown
        each = zip(there, found, strict=True)
        columns += [
            _cells(column("", of, out_of_reach=out_of_reach(tables, r)))
            for r, of in each
        ]
    columns.append(
        _cells(column("", [entry.acr for entry in entries], 1.0, 3), ranked=False)
    )
    if len({table.name for table in tables}) < len(tables):
        tables = [
            entry.table.renamed(shortened(printable(entry.file))) for entry in entries
        ]
    against = _against_gaussian(tables, radii)
    lines = enumerate(zip(entries, zip(*columns, strict=True), known, strict=True))
    rows = [
        BoardRow(entry, list(cells), at_radii, against.get(i))
        for i, (entry, cells, at_radii) in lines
    ]
    return sorted(rows, key=lambda row: row.rank, reverse=True)


def _against_gaussian(
    tables: Sequence[Certificates], radii: Sequence[float]
) -> dict[int, Comparison]:
    """By row, all judged together.

    None of the Gaussian table itself; none at all where there is no such table, where a table repeats an image, or
    where there are more than MOST_COMPARED.
    """
    reference = find_gaussian(tables)
    if reference is None or len(tables) > MOST_COMPARED:
        return {}
    pairs, refused = paired_with(reference, tables)
    return (
        {}
        if refused
        else dict(zip(pairs, metrics.compare(list(pairs.values()), radii), strict=True))
    )


def _cells(found: Column, *, ranked: bool = True) -> list[Shown]:
    """The figures of a column, marked unless all are equal; those that are not known stay out of the ranking."""
    figures = [
        figure if ends else ""
        for figure, ends in zip(found.figures, found.ends, strict=True)
    ]
    marks = rank(figures) if ranked else [""] * len(figures)
    return [Shown(*cell) for cell in zip(figures, found.ends, marks, strict=True)]


def rank(printed: Sequence[str]) -> list[str]:
    """ "best", "second" or nothing for each printed figure of a column, empty where unknown; equal ones share a place.

    The higher the better. Figures are ranked as printed, so that a reader sees why. A single figure, or one that all
    share, is not called best; of two, none is called second best.
    """
    known = [float(text) for text in printed if text]
    places = sorted({*known}, reverse=True)
    if len(places) < 2:
        return [""] * len(printed)
    marks = {places[0]: "best", places[1]: "second" if len(known) > 2 else ""}
    return [marks.get(float(text), "") if text else "" for text in printed]


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
        radii: of the columns, in every norm; None for the usual ones above 0, thinned to a readable number.
        title: of the page.
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
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> leaderboard_page([measure(table, "macer.parquet")], title="Two images").count("<h1>Two images</h1>")
        1
    """
    at, groups = by_setting(entries, radii)
    return _page(at, groups, title, command, left_out)


def _page(
    at: Columns,
    groups: Sequence[Setting],
    title: str | None,
    command: str | None,
    left_out: Mapping[str, Sequence[str]] | None,
) -> str:
    """`leaderboard_page` of entries that are ranked already."""
    rows = [row for group in groups for row in group.rows]
    ordered = [row.entry for row in rows]
    choices = filters(ordered)
    return web.page(
        web.__name__,
        "leaderboard.html.j2",
        styles=[
            web.asset(web.__name__, "base.css"),
            web.asset(web.__name__, "leaderboard.css"),
        ],
        scripts=[
            web.asset(web.__name__, f"{name}.js")
            for name in ("ordering", "charts", "leaderboard", "curves")
        ],
        data=_payload(rows, choices),
        title=title or "Certified robustness: leaderboard",
        groups=groups,
        levels=[f"{x:g}" for x in P_A_LEVELS],
        radii=[(NORMS[norm], [f"{r:g}" for r in radii]) for norm, radii in at.items()],
        sure=sure_of([entry.table for entry in ordered]),
        filters=choices,
        many={
            "n": len({entry.header.n for entry in ordered}) > 1,
            "rule": choices["rule"] != ["fixed"],
            "settings": any(entry.settings for entry in ordered),
        },
        without_sigma=sum(not entry.header.noise_words for entry in ordered),
        without_p_a=Counter(
            entry.p_a_unknown for entry in ordered if entry.p_a_unknown
        ),
        notes=notes(ordered),
        partly=any(entry.p_a and entry.logged for entry in ordered),
        unknown=NOT_RECORDED,
        total=len(ordered),
        command=command,
        left_out={
            printable(heading): list(map(_long, sentences))
            for heading, sentences in (left_out or {}).items()
        },
        most_compared=MOST_COMPARED,
    )


def write_leaderboard(
    entries: Sequence[Entry],
    path: Path | str,
    *,
    radii: Sequence[float] | None = None,
    title: str | None = None,
    command: str | None = None,
    left_out: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write the `leaderboard_page` to `path` and its records as JSON beside it.

    The other arguments and the errors are those of `leaderboard_page`.

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
    at, groups = by_setting(entries, radii)
    text = to_json(at, groups)
    write_atomically(path, _page(at, groups, title, command, left_out).encode())
    write_atomically(path.with_suffix(".json"), text.encode())


def _payload(rows: Sequence[BoardRow], choices: dict[str, list[str]]) -> dict[str, Any]:
    """What the page's script knows beside what is printed, in the order of the lines; shared texts are kept once.

    Each line is [places in the filters, places in the notes, file, intervals, end, accuracy, p_A, what its radii are].
    `intervals` are those of its figures, [] where there is none.
    """
    said: dict[str, int] = {}
    lines = [
        [
            [choices[key].index(row.entry.facts[key]) for key in FILTERS],
            [
                said.setdefault(_long(note), len(said))
                for note in row.entry.header.notes
            ],
            _long(row.entry.file),
            [list(map(float, cell.ends)) for cell in row.cells],
            float(f"{row.entry.curves.end:.{DIGITS}g}"),
            row.entry.curves.accuracy,
            row.entry.curves.p_a,
            NORMS[row.entry.table.norm].title,
        ]
        for row in rows
    ]
    kept = {"filters": list(FILTERS), "notes": list(said), "lines": lines}
    return kept | {"steps": STEPS, "unit": UNIT, "levels": LEVELS.tolist()}


def _long(text: str) -> str:
    return shortened(printable(text), LONG)


def to_json(at: Columns, groups: Sequence[Setting]) -> str:
    """For programs: a list of records at full precision in the page's order, one a line (see `by_setting`)."""
    records = [
        escape.to_json(_record(row, at, group), indent=None)
        for group in groups
        for row in group.rows
    ]
    return "[\n" + ",\n".join(records) + "\n]\n"


def _record(row: BoardRow, at: Columns, group: Setting) -> dict[str, Any]:
    entry, header, judged = row.entry, row.entry.header, row.against
    chosen = entry.smoothed and metrics.share_if_chosen(entry.smoothed, len(group.rows))
    known = {
        key: None if text == NOT_RECORDED else text for key, text in entry.facts.items()
    }
    at_radii = zip(at[entry.table.norm], row.at_radii, strict=True)
    return {
        "name": entry.table.name,
        "file": entry.file,
        "setting": group.words,
        **{key: getattr(header, key) for key in ("dataset", "split", "rule")},
        **{key: known[key] for key in ("method", "settings", "repository")},
        **{
            key: getattr(header, key)
            for key in ("sigma", "n0", "n", "alpha", "label_aware")
        },
        "noise": header.noise_words or None,
        "norm": entry.table.norm,
        "proved_in": entry.table.proved_in,
        "logged": entry.logged,
        "notes": list(header.notes),
        "images": len(entry.table),
        "p_A": [{"at_least": x, **asdict(share)} for x, share in entry.p_a.items()],
        "smoothed_accuracy": entry.smoothed and asdict(entry.smoothed),
        "smoothed_accuracy_if_chosen": chosen
        and {**asdict(chosen), "tables": len(group.rows)},
        "certified_accuracy": [
            {"radius": r, **(asdict(found) if found else {"value": None})}
            for r, found in at_radii
        ],
        "acr": entry.acr and asdict(entry.acr),
        "against": judged
        and {
            "baseline": judged.b,
            "words": str(judged),
            "judged_together": asdict(judged.scope),
        },
    }
