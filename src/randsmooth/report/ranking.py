"""The ranking: entries of one setting, by certified accuracy at a radius named beforehand."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.certificates.folder_names import folders_apart
from randsmooth.errors import NotFound
from randsmooth.escape import NOT_RECORDED, fact_text, printable, shortened
from randsmooth.metrics import P_A_LEVELS, Comparison, Estimate, JudgedAtRadius
from randsmooth.noise import NORMS
from randsmooth.report.answer import answer_radius
from randsmooth.report.baseline import find_gaussian, paired_with
from randsmooth.report.entries import Entry
from randsmooth.report.grouping import gathered
from randsmooth.report.layouts import thinned
from randsmooth.report.printed import acr_decimals
from randsmooth.report.ranking_radius import (
    LEVEL_BESIDE,
    NOT_RANKED,
    RankingRadius,
)
from randsmooth.report.remarks import converted_words
from randsmooth.report.sheet import SheetColumn, column, out_of_reach

# The most columns of radii, of all norms together. A norm may have the second number in
# any case. Where the usual radii are more, they are thinned.
MOST_RADII = 8
MOST_RADII_OF_ONE_OF_MANY_NORMS = 4

# The most tables that are judged together. Of more, hardly any difference could be shown,
# as all have to hold at once, and the comparison takes minutes.
MOST_COMPARED = 40

# The levels of p_A with a column each, besides LEVEL_BESIDE. That of 1/2 is left out: it
# is certified accuracy at radius 0, which has a column of its own.
FURTHER_LEVELS = tuple(x for x in P_A_LEVELS if x not in (0.5, LEVEL_BESIDE))

# Norm -> the radii of its columns.
RadiiOfNorm = Mapping[str, Sequence[float]]


class RankedCell(NamedTuple):
    """One figure as printed.

    Attributes:
        figure: the figure as text; empty where the table does not give it, and at a
            radius that the table cannot certify, whatever its classifier.
        ends: both ends of its interval; empty without a figure.
        mark: "best" or "second" of its column, or empty.
    """

    figure: str
    ends: tuple[str, ...]
    mark: str


@dataclass(frozen=True)
class BoardRow:
    """One table's figures.

    Attributes:
        name: the table's name, which no other table of the setting has.
        entry: the table and what was measured of it alone.
        cells: certified accuracy at the radius that the setting is ranked at, the share
            with p_A of at least LEVEL_BESIDE, accuracy at radius 0, one cell for each of
            FURTHER_LEVELS and for each radius, the share of declined images, ACR.
        ranked_by: the first of these in full.
        at_radii: the accuracies at the radii in full.
        against: the comparison of this table with the setting's Gaussian table; None
            where there is no such table.
        difference: the difference of the figure that ranks to that of the setting's
            Gaussian table, judged at this radius alone; None where it is not known.
        judged: what the intervals of the setting's differences hold for; None where
            nothing is compared at a radius.
        doubted: why the table is not ranked, as a check failed; empty where none did.
    """

    name: str
    entry: Entry
    cells: list[RankedCell]
    ranked_by: Estimate | None
    at_radii: list[Estimate | None]
    against: Comparison | None
    difference: Estimate | None = None
    judged: JudgedAtRadius | None = None
    doubted: str = ""

    @property
    def rank(self) -> tuple[float, ...]:
        """Return the figures by which rows are ordered, the highest first.

        These are the printed shares from left to right; not those of declined images,
        and not ACR. An unknown figure is below all others.
        """
        *ranked, _declined, _acr = self.cells
        return tuple(float(cell.figure or -1) for cell in ranked)

    def shown(self, *, declined: bool) -> list[RankedCell]:
        """Return the cells of a page, with or without that of declined images."""
        if declined:
            return self.cells
        *others, _declined, acr = self.cells
        return [*others, acr]


class RankedSetting(NamedTuple):
    """Tables that may be compared.

    They have one data set, the same images, one noise, n and alpha, and one norm of
    radii.

    Attributes:
        words: the setting in words, which no other setting of the page has.
        at: the radius that the tables are ranked at; None where they are not ranked.
        rows: the tables, in the order of their rank, or of their files.
    """

    words: str
    at: RankingRadius | None
    rows: list[BoardRow]

    @property
    def how_ranked(self) -> str:
        """Return how the rows are ordered, or why they are in the order of files."""
        return NOT_RANKED if self.at is None else str(self.at)

    @property
    def ranked_rows(self) -> list[BoardRow]:
        """Return the rows that have a rank; they come before all others."""
        if self.at is None:
            return []
        return [row for row in self.rows if not row.doubted]

    @property
    def of_the_first(self) -> str:
        """Return a warning that the first table's figures are too high, as the best.

        It is empty where there is no other table, and where none was chosen.
        """
        if len(self.ranked_rows) < 2:
            return ""
        first = self.rows[0]
        sentence = (
            f"{first.name} is the first of {len(self.ranked_rows)} by these very images, "
            "so that its figures are too high on average"
        )
        if first.ranked_by is not None:
            chosen = metrics.share_if_chosen(first.ranked_by, len(self.ranked_rows))
            printed = column("", [chosen])
            low, high = printed.ends[0]
            radius = 0.0 if self.at is None else self.at.radius
            sentence += (
                "; with the choice allowed for, its certified accuracy of "
                f"{printed.figures[0]}% at {radius:g} "
                f"has the 95% interval {low} to {high}%"
            )
        return f"{sentence}."


def by_setting(
    entries: Sequence[Entry],
    radii: Sequence[float] | None = None,
    at: float | None = None,
    doubted: Mapping[str, str] | None = None,
) -> tuple[RadiiOfNorm, list[RankedSetting]]:
    """Group the entries by setting, each ranked by certified accuracy at one radius.

    Args:
        radii: the radii of the columns, in every norm; None for the usual ones above 0,
            thinned to a readable number.
        at: the radius that entries are ranked at, in every norm; None for one sigma of
            each setting. Settings whose noise is not known, or told by the radii, are
            not ranked then.
        doubted: file -> why its table is not ranked. Such tables come last.

    Returns:
        The radii of the columns of each norm, and the settings in the order of the page.

    Raises:
        Problem: no entry, or a radius that makes no sense.
    """
    if not entries:
        raise NotFound(
            "there is no certificate table to rank; "
            "give a folder that holds at least one"
        )
    if at is not None:
        metrics.check_radius(at)
    reasons = doubted or {}
    radii_of_norm = _radii_of_norm(entries, radii)
    in_order = sorted(entries, key=_sorting_key)
    entries_of_setting = gathered((_setting_of(entry), entry) for entry in in_order)

    settings = []
    times_described = Counter[str]()
    # Settings all of whose tables are doubted come last.
    groups = sorted(
        entries_of_setting.values(),
        key=lambda group: all(entry.file in reasons for entry in group),
    )
    for entries_of_one in groups:
        words = _setting_words(entries_of_one[0])
        times_described[words] += 1
        # Settings of the same words differ in which images they are about.
        if times_described[words] > 1:
            words += f"; image set {times_described[words]}"
        trusted = [entry.table for entry in entries_of_one if entry.file not in reasons]
        tables = trusted or [entry.table for entry in entries_of_one]
        ranked_at = answer_radius(tables, None, at)
        rows = _rows(entries_of_one, radii_of_norm, ranked_at, reasons)
        settings.append(RankedSetting(words, ranked_at, rows))
    return radii_of_norm, settings


def _radii_of_norm(
    entries: Sequence[Entry], asked: Sequence[float] | None
) -> RadiiOfNorm:
    """Choose the radii of the columns of each norm that occurs."""
    entries_of_norm = gathered((entry.table.norm, entry) for entry in entries)
    share_of_columns = MOST_RADII // len(entries_of_norm)
    most = max(MOST_RADII_OF_ONE_OF_MANY_NORMS, share_of_columns)
    radii: dict[str, list[float]] = {}
    for norm in NORMS:
        if norm not in entries_of_norm:
            continue
        if asked is None:
            radii[norm] = usual_radii(entries_of_norm[norm], most)
        else:
            radii[norm] = list(dict.fromkeys(asked))
    return radii


def usual_radii(entries: Sequence[Entry], most: int = MOST_RADII) -> list[float]:
    """Return `metrics.usual_radii` above 0, at most so many.

    Where there are more, every second one is dropped.
    """
    usual = metrics.usual_radii([entry.table for entry in entries])
    # The first is 0, which has a column of its own: smoothed accuracy.
    return thinned(usual, most + 1)[1:]


def _setting_of(entry: Entry) -> tuple[Any, ...]:
    """Return the facts that must be equal for two tables to be compared.

    Settings are sorted by these facts, the first one first.
    """
    header = entry.header
    noise = header.noise_title or None
    # Of the noises of one kind, those of a smaller sigma come first.
    kind_of_noise = None
    if noise is not None:
        kind_of_noise = noise.partition(" ")[0]
    return (
        header.dataset,
        # A log that does not name the split is about test images.
        header.split or "test",
        list(NORMS).index(entry.table.norm),
        kind_of_noise,
        header.sigma,
        noise,
        header.n,
        header.alpha,
        len(entry.table),
        entry.images,
    )


def _sorting_key(entry: Entry) -> list[tuple[bool, Any]]:
    """Return the key that sorts settings; what is not recorded comes last."""
    return [(fact is None, 0 if fact is None else fact) for fact in _setting_of(entry)]


def _setting_words(entry: Entry) -> str:
    """Describe the setting of an entry in words."""
    header = entry.header
    images = f"data set {NOT_RECORDED}"
    if header.dataset:
        images = fact_text(header.dataset)
        if header.split:
            images += f" {fact_text(header.split)}"
    n_words = f"n {fact_text(header.n)}"
    if header.routing is not None:
        n_words = "n of each of its tables"
    facts = [
        images.strip(),
        f"{len(entry.table):,} images",
        header.noise_title or f"sigma {NOT_RECORDED}",
        n_words,
        "certain" if header.alpha == 0.0 else f"alpha {fact_text(header.alpha)}",
    ]
    if entry.table.converted:
        facts.append(converted_words(entry.table))
    return ", ".join(facts)


def _rows(
    entries: Sequence[Entry],
    radii_of_norm: RadiiOfNorm,
    ranked_at: RankingRadius | None,
    doubted: Mapping[str, str],
) -> list[BoardRow]:
    """Return one setting's rows, the best first, or by file where they are not ranked.

    The best and the second best figure of each column but ACR are marked. Doubted tables
    are neither ranked nor marked nor compared, and come last.
    """
    name_of_file = dict(
        zip([entry.file for entry in entries], distinct_names(entries), strict=True)
    )
    trusted = [entry for entry in entries if entry.file not in doubted]
    rows = []
    if trusted:
        rows += _rows_of_compared(trusted, name_of_file, radii_of_norm, ranked_at)
    for entry in entries:
        if entry.file in doubted:
            (row,) = _rows_of_compared([entry], name_of_file, radii_of_norm, ranked_at)
            rows.append(replace(row, doubted=doubted[entry.file]))
    return rows


def _rows_of_compared(
    entries: Sequence[Entry],
    name_of_file: Mapping[str, str],
    radii_of_norm: RadiiOfNorm,
    ranked_at: RankingRadius | None,
) -> list[BoardRow]:
    """Return the rows of tables that are compared with each other, or of a single one."""
    norm = entries[0].table.norm
    at_radii = [_accuracies(entry, radii_of_norm[norm]) for entry in entries]
    ranked_by: list[Estimate | None] = [None for _ in entries]
    if ranked_at is not None:
        ranked_by = [_accuracies(entry, [ranked_at.radius])[0] for entry in entries]
    columns = [
        _ranking_cells(entries, ranked_by, ranked_at),
        *_columns(entries, at_radii, radii_of_norm),
    ]
    names = [name_of_file[entry.file] for entry in entries]
    tables = [
        entry.table.renamed(name) for entry, name in zip(entries, names, strict=True)
    ]
    compared_at = [*radii_of_norm[norm]]
    if ranked_at is not None:
        compared_at.append(ranked_at.radius)
    against = _against_gaussian(tables, compared_at)
    judged = None
    differences: dict[int, Estimate] = {}
    if against and ranked_at is not None:
        judged = metrics.judged_at(list(against.values()), ranked_at.radius)
        for place, point in zip(against, judged.points, strict=True):
            if point is not None:
                differences[place] = point.difference
    rows = [
        BoardRow(
            name=names[place],
            entry=entry,
            cells=[cells[place] for cells in columns],
            ranked_by=ranked_by[place],
            at_radii=at_radii[place],
            against=against.get(place),
            difference=differences.get(place),
            judged=judged,
        )
        for place, entry in enumerate(entries)
    ]
    if ranked_at is None:
        return sorted(rows, key=lambda row: row.entry.file)
    return sorted(rows, key=lambda row: row.rank, reverse=True)


def _accuracies(entry: Entry, radii: Sequence[float]) -> list[Estimate | None]:
    """Return certified accuracy at each radius; None where images have no labels."""
    if not entry.table.labelled:
        return [None for _ in radii]
    return [metrics.certified_accuracy(entry.table, radius) for radius in radii]


def _ranking_cells(
    entries: Sequence[Entry],
    accuracies: Sequence[Estimate | None],
    ranked_at: RankingRadius | None,
) -> list[RankedCell]:
    """Return the column by which entries are ranked.

    An entry that cannot certify the radius, whatever its classifier, has an empty cell,
    and so a rank behind all entries that can. Without a radius, all cells are empty.

    Args:
        accuracies: the accuracy of each entry at the radius; None where it is unknown.
        ranked_at: the radius; None where entries are not ranked.
    """
    unreached = frozenset[int]()
    if ranked_at is not None:
        tables = [entry.table for entry in entries]
        unreached = out_of_reach(tables, ranked_at.radius)
    # The page writes the heads of columns itself.
    return _cells(column(title="", estimates=accuracies, out_of_reach=unreached))


def _share_cells(entries: Sequence[Entry], level: float) -> list[RankedCell]:
    """Return the column of the shares of images with p_A of at least `level`."""
    shares = [entry.p_a.get(level) for entry in entries]
    return _cells(column(title="", estimates=shares))


def _columns(
    entries: Sequence[Entry],
    at_radii: Sequence[Sequence[Estimate | None]],
    radii_of_norm: RadiiOfNorm,
) -> list[list[RankedCell]]:
    """Return the columns of a setting after its first, with a cell for every entry.

    All settings of a page have the same columns: those of a norm that is not the
    setting's have empty cells.

    Args:
        at_radii: for each entry its accuracy at each radius of the setting's norm.
        radii_of_norm: norm -> the radii of its columns.
    """
    tables = [entry.table for entry in entries]
    smoothed = [entry.smoothed for entry in entries]
    columns = [
        _share_cells(entries, LEVEL_BESIDE),
        _cells(column(title="", estimates=smoothed)),
        *(_share_cells(entries, level) for level in FURTHER_LEVELS),
    ]
    for norm, radii in radii_of_norm.items():
        for index, radius in enumerate(radii):
            accuracies: list[Estimate | None] = [None for _ in entries]
            if norm == tables[0].norm:
                accuracies = [estimates[index] for estimates in at_radii]
            unreached = out_of_reach(tables, radius)
            at_radius = column(title="", estimates=accuracies, out_of_reach=unreached)
            columns.append(_cells(at_radius))
    # To decline is neither good nor bad.
    declined = column(title="", estimates=[entry.declined for entry in entries])
    columns.append(_cells(declined, ranked=False))
    acr = column(
        title="",
        estimates=[entry.acr for entry in entries],
        scale=1.0,
        decimals=acr_decimals(tables[0].norm),
    )
    # ACR ranks nobody: it is no measure of robustness.
    columns.append(_cells(acr, ranked=False))
    return columns


def distinct_names(entries: Sequence[Entry]) -> list[str]:
    """Return names of the tables that differ.

    Tables of one name have beside it what tells them apart: their settings, else the
    part of their folders that differs. Where neither does, they go by their files.
    """
    entries_of_name = gathered((entry.table.name, entry) for entry in entries)
    name_of_file: dict[str, str] = {}
    for name, alike in entries_of_name.items():
        files = [entry.file for entry in alike]
        marks = [entry.settings for entry in alike]
        if len(set(marks)) < len(marks):
            marks = folders_apart([PurePosixPath(file) for file in files])
        names = [f"{name} ({mark})" if mark else name for mark in marks]
        if len(set(names)) < len(names):
            names = files
        if len(alike) == 1:
            names = [name]
        name_of_file.update(zip(files, names, strict=True))
    return [shortened(printable(name_of_file[entry.file])) for entry in entries]


def _against_gaussian(
    tables: Sequence[Certificates], radii: Sequence[float]
) -> dict[int, Comparison]:
    """Compare each table with the Gaussian one, all judged together.

    There are no comparisons where there is no Gaussian table, where a table repeats an
    image, or where there are more tables than MOST_COMPARED.

    Returns:
        place of the table -> its comparison.
    """
    gaussian = find_gaussian(tables)
    if gaussian is None or len(tables) > MOST_COMPARED:
        return {}
    pairs, refused = paired_with(gaussian, tables)
    if refused:
        return {}
    comparisons = metrics.compare(list(pairs.values()), radii)
    return dict(zip(pairs, comparisons, strict=True))


def _cells(printed: SheetColumn, *, ranked: bool = True) -> list[RankedCell]:
    """Return the cells of a column, with the marks of `rank` if it is `ranked`.

    A column prints a dash, without an interval, for what is unknown or out of reach. The
    cell is empty there.
    """
    figures = [
        figure if ends else ""
        for figure, ends in zip(printed.figures, printed.ends, strict=True)
    ]
    marks = rank(figures) if ranked else ["" for _ in figures]
    return [
        RankedCell(figure, ends, mark)
        for figure, ends, mark in zip(figures, printed.ends, marks, strict=True)
    ]


def rank(printed: Sequence[str]) -> list[str]:
    """Return for each printed figure of a column "best", "second", or an empty text.

    Higher figures are better. Equal figures get the same mark, and empty ones none.
    Figures are compared as printed, so that a reader sees why. A single figure, or one
    that all share, is not called best; of two figures, none is called second.
    """
    known = [float(figure) for figure in printed if figure]
    highest_first = sorted(set(known), reverse=True)
    if len(highest_first) < 2:
        return ["" for _ in printed]
    mark_of_value = {highest_first[0]: "best"}
    if len(known) > 2:
        mark_of_value[highest_first[1]] = "second"
    return [
        mark_of_value.get(float(figure), "") if figure else "" for figure in printed
    ]
