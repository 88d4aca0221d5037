"""The sheet: what was measured of every table, a row each, and what a reader must know before comparing them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, count
from typing import Any, TypeVar

import numpy as np

from randsmooth import errors, metrics
from randsmooth.certificates import (
    NO_LABEL,
    Certificates,
    name_images,
    require_reachable,
)
from randsmooth.errors import MissingValue, Problem, WrongTable
from randsmooth.escape import LONG, printable, shortened
from randsmooth.metrics import (
    P_A_LEVELS,
    Comparison,
    Estimate,
    GivenUp,
    Point,
    Summary,
    Waterfall,
)
from randsmooth.noise import NORMS, Norm
from randsmooth.rules import CONFIDENCE_BOUNDS

FOREIGN = "the counts are another program's; its noise, and how it picked the classes, could not be checked"
UNLABELLED = "the images have no labels, so that accuracy, ACR and p_A are not known"
Pair = tuple[Certificates, Certificates]
K = TypeVar("K")
V = TypeVar("V")


def gathered(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The second of each pair by the first, in the order in which these first occur.

    Example:
        >>> gathered([("a", 1), ("b", 2), ("a", 3)])
        {'a': [1, 3], 'b': [2]}
    """
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def remarks(tables: Sequence[Certificates]) -> list[str]:
    """Sentences on what makes the tables hard to compare; none where they differ in their classifiers only.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> def certified(sigma):
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001)
        ...     return from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> remarks([certified(0.25), certified(0.5)])
        ['The tables were made with different sigma (0.25, 0.5).']
    """
    counted = [table for table in tables if not table.is_log]
    found = [
        *_held_remarks(tables),
        *_image_remarks(tables),
        *_noise_remarks(tables),
        *budget_remarks(tables),
        *_unrecorded(tables),
    ]
    for ways, why in (
        (
            {_size(t) for t in counted if t.header.source is None},
            "Radii are about images of different sizes",
        ),
        ({_way_of_judging(t) for t in counted}, "Tables were judged in different ways"),
    ):
        if len(ways) > 1:
            found.append(
                f"{why} ({', '.join(sorted(ways))}): what differs is not the classifiers alone."
            )
    said = gathered((fact, table.name) for table in tables for fact in _facts(table))
    every = len(tables) if len(tables) > 1 else 0
    found += [
        f"{'All tables' if len(names) == every else ', '.join(names)}: {fact}."
        for fact, names in said.items()
    ]
    found += [
        _rule_remark(table)
        for table in tables
        if table.header.rule != "fixed" or table.header.label_aware
    ]
    return [shortened(remark, LONG) for remark in found]


def _held_remarks(tables: Sequence[Certificates]) -> list[str]:
    """Which columns of features no certificate is about, where there are some."""
    held = ", ".join(held_columns(tables))
    return (
        [f"Radii are about changes of the other columns alone; held fixed: {held}."]
        if held
        else []
    )


def _image_remarks(tables: Sequence[Certificates]) -> list[str]:
    """That the tables are about different images: how many idx are in every table, and with other labels."""
    differing = any(metrics.differing_source(a, b) for a, b in combinations(tables, 2))
    if (
        len({(table.idx.tobytes(), table.label.tobytes()) for table in tables}) == 1
        and not differing
    ):
        return []
    images = [
        dict(zip(table.idx.tolist(), table.label.tolist(), strict=True))
        for table in tables
    ]
    shared = set.intersection(*map(set, images))
    wrong = sum(len({labels[i] for labels in images}) > 1 for i in shared)
    common = f"{len(shared):,} of which are in every table{f' by idx, {wrong:,} with other labels' if wrong else ''}"
    for field, word in (
        (("split", "splits"), ("dataset", "data sets")) if differing else ()
    ):
        if (
            len(
                values := sorted(
                    {getattr(table.header, field) for table in tables} - {None}
                )
            )
            > 1
        ):
            common = f"and they are of different {word} ({', '.join(map(shortened, values))})"
    said = [
        f"The tables are not about the same images: each row rests on all of its own, {common}."
    ]
    for table in () if differing else tables:
        both = np.isin(table.idx, [*shared])
        if both.all() or not both.any():
            continue
        share, rest = table.correct[both].mean(), table.correct[~both].mean()
        if abs(share - rest) > SURELY * np.sqrt(
            0.25 / both.sum() + 0.25 / (~both).sum()
        ):
            right = f"{table.name} is right on {100.0 * rest:.1f}% of its others and on {100.0 * share:.1f}% of these"
            said.append(
                f"{right}: chance did not choose which images are missing, and no verdict is fair."
            )
    return said


def _facts(table: Certificates) -> list[str]:
    """What a reader must know of one table."""
    return (
        [UNLABELLED] * (not table.labelled)
        + [FOREIGN] * (table.header.source is not None)
        + [*table.header.notes]
    )


def _noise_remarks(tables: Sequence[Certificates]) -> list[str]:
    """That tables were made under different noises, and which radii follow from those of another norm."""
    noises = {
        table.header.noise_name: table.header.sigma
        for table in tables
        if table.header.names_noise
    }
    found, sigmas = [], [sigma for sigma in noises.values() if sigma is not None]
    if len(noises) > max(1, len(sigmas)):
        listed = ", ".join(sorted(noises))
        found.append(
            f"The tables were made under different noises ({listed}), each p_A under its own."
        )
    elif len(noises) > 1:
        found.append(
            f"The tables were made with different sigma ({', '.join(f'{x:g}' for x in sorted(sigmas))})."
        )
    if len(tables) > 1:
        several = [table.name for table in tables if table.sigmas is not None]
        found += [
            f"{name} has a sigma of its own for each image: no other table shares it."
            for name in several
        ]
    said = gathered(
        (converted_words(table), table.name)
        for table in tables
        if table.converted is not None
    )
    return found + [f"{', '.join(names)}: {words}." for words, names in said.items()]


def converted_words(table: Certificates) -> str:
    """What a reader is told of radii in another norm than the noise's own."""
    own = table.proved_in == table.norm
    proof = (
        "by a proof of their own"
        if own
        else f"that follow from {NORMS[table.proved_in].label}"
    )
    return f"{NORMS[table.norm].label} radii {proof}"


def budget_remarks(tables: Sequence[Certificates]) -> list[str]:
    """What to know before ACRs are compared where n or alpha differ: either raises ACR without a better classifier.

    Tables of all copies of an image have neither.
    """
    found, tables = [], [table for table in tables if table.header.alpha != 0.0]
    for field, form, more in (
        ("n", ",", "more samples"),
        ("alpha", "g", "a larger alpha"),
    ):
        values = sorted(
            {
                value
                for table in tables
                if (value := getattr(table.header, field)) is not None
            }
        )
        if len(values) > 1:
            rejudged = all(
                table.header.rule == "fixed" and not table.is_log for table in tables
            )
            way = f"; --{field} {values[0]} judges all tables alike" if rejudged else ""
            listed = ", ".join(format(value, form) for value in values)
            found.append(
                f"The tables differ in {field} ({listed}), and {more} alone can raise ACR{way}."
            )
    return found


def _unrecorded(tables: Sequence[Certificates]) -> list[str]:
    """Which of sigma, n and alpha nothing tells of some tables: those that are compared may differ in it unseen."""
    silent = {
        name: [t.name for t in tables if getattr(t.header, name) is None]
        for name in ("sigma", "n", "alpha")
    }
    silent["sigma"] = [
        t.name for t in tables if not t.header.names_noise and t.sigmas is None
    ]
    lacking = gathered(
        (tuple(names), name)
        for name, names in silent.items()
        if names and len(tables) > 1
    )
    return [
        f"Nothing tells {' or '.join(facts)} of {', '.join(names)}: their figures cannot be compared where they "
        f"differ in it; give {', '.join(f'--{fact}' for fact in facts)}."
        for names, facts in lacking.items()
    ]


def _size(table: Certificates) -> str:
    """How the images were fitted before noise was added."""
    asked = [
        f"{name} {size}"
        for name in ("resize", "crop")
        if (size := getattr(table.header, name)) is not None
    ]
    return " ".join(asked) or "as stored"


def _way_of_judging(table: Certificates) -> str:
    """The rule, or the bound of the fixed one."""
    bound = (
        table.header.bound
        if table.header.bound in CONFIDENCE_BOUNDS[1:]
        else "Clopper-Pearson"
    )
    return (
        f"{bound} bound"
        if table.header.rule == "fixed"
        else f"--rule {table.header.rule}"
    )


def _rule_remark(table: Certificates) -> str:
    """How many samples a table took whose rule may stop before n, and which figures it does not give therefore."""
    header, name = table.header, table.header.rule.partition("=")[0]
    if header.alpha == 0.0:
        return f"{table.name}: all {header.n:,} noisy copies of an image were counted; its certificates are certain."
    lower = "; it stops where its rule is answered, so that ACR and accuracy at other radii are lower bounds"
    how = (
        "samples stopped where the label was missed"
        if header.gives_up_others
        else "only the label was tested"
    )
    said = [
        f"{table.name} was certified by --rule {header.rule} with {table.samples.mean():,.0f} samples per image on "
        f"average, of at most {(header.n0 or 0) + (header.n or 0):,}",
        lower if name in ("radius", "screen", "grid", "dense") else "",
        "" if metrics.knows_p_a(table) else "; p_A is not measured",
        f"; {how}, so that abstention is not known: for evaluation only"
        if header.label_aware
        else "",
    ]
    return "".join(said) + "."


TINY = 1e-9  # by which 0.6465 is raised, which floats hold a little below it, to be printed as 64.7%
UNJUDGED = "No verdicts: nothing says which table is the baseline; name it with --baseline NAME."
UNKNOWN_FIGURE = "–"  # printed in place of a figure that a table does not give
BASELINE_METHOD = "gaussian"
SURELY = (
    4.0  # of the largest standard errors: two shares so far apart are hardly chance
)


@dataclass(frozen=True)
class Column:
    """One metric of every table.

    Attributes:
        title: the column's head.
        figures: of each table, as printed: a dash where it does not give the metric, and for a row in `out_of_reach`.
        ends: both ends of each 95% interval as printed; empty where `figures` has a dash.
        out_of_reach: the rows whose rule, noise, n and alpha certify no image at this radius, whatever the classifier.
            Their estimate is 0 by definition and measures nothing: tables print a dash, CSV and JSON keep the 0.
    """

    title: str
    figures: list[str]
    ends: list[tuple[str, ...]]
    out_of_reach: frozenset[int] = frozenset()


def column(
    title: str,
    estimates: Sequence[Estimate | None],
    scale: float = 100.0,
    decimals: int = 1,
    out_of_reach: frozenset[int] = frozenset(),
) -> Column:
    """A column whose figures are printed as value * scale with so many decimals, rounded half up.

    Example:
        >>> column("0", [Estimate(6_465 / 10_000, 0.637, 0.656, 10_000)]).figures
        ['64.7']
    """
    known = [
        None if row in out_of_reach else estimate
        for row, estimate in enumerate(estimates)
    ]
    figures = [
        f"{e.value * scale + TINY:.{decimals}f}" if e else UNKNOWN_FIGURE for e in known
    ]
    ends = [
        tuple(f"{x * scale:.{decimals}f}" for x in (e.low, e.high)) if e else ()
        for e in known
    ]
    return Column(title, figures, ends, out_of_reach)


@dataclass(frozen=True)
class Sheet:
    """The tables, a row each, and their metrics, a column each.

    Attributes:
        tables: under distinct names.
        summaries: the metrics of each.
        norm: of all radii.
        radii: of the certified accuracies.
        baseline: the row that the others are compared with; None if there is none.
        acr, accuracy, abstention: the columns; `accuracy` has one for each radius.
        class_names: the name of each label that occurs in a table.
        settings: for each table its noise, n and alpha, as far as the tables differ in them.
        shared: the others of these, which all tables have, and where to look for those in `settings`.
        remarks: sentences that a reader must know before comparing the rows.
    """

    tables: list[Certificates]
    summaries: list[Summary]
    norm: Norm
    radii: list[float]
    baseline: int | None
    acr: Column
    accuracy: list[Column]
    abstention: Column
    class_names: dict[int, str]
    settings: list[str]
    shared: str
    remarks: list[str]

    @property
    def columns(self) -> list[Column]:
        """All columns, in the order that they are printed in."""
        return [self.acr, *self.accuracy, self.abstention]

    @property
    def p_a_columns(self) -> list[Column]:
        """The shares of images by p_A, a column each; none where no table knows its p_A."""
        known = [summary.p_a for summary in self.summaries]
        return [
            column(f"p_A>={x:g}", [shares.get(x) for shares in known])
            for x in P_A_LEVELS
            if any(known)
        ]

    @property
    def without_p_a(self) -> dict[str, list[str]]:
        """Why p_A is not known, and what would tell it -> the names of the tables, as far as these have labels."""
        silent = (
            (metrics.p_a_unknown(table), table.name)
            for table in self.tables
            if table.labelled
        )
        return gathered((str(why), name) for why, name in silent if why)

    @property
    def titles(self) -> list[str]:
        """Each table's name, with its settings where they differ."""
        with_settings = zip(self.tables, self.settings, strict=True)
        return [
            f"{table.name} ({setting})" if setting else table.name
            for table, setting in with_settings
        ]

    @cached_property
    def compared(self) -> tuple[list["AgainstBaseline"], dict[str, str]]:
        """Every table that can be paired with the baseline against it; by name, why the others cannot."""
        if self.baseline is None:
            return [], {}
        pairs, refused = paired_with(self.baseline, self.tables)
        found = zip(
            pairs.items(),
            metrics.compare(list(pairs.values()), self.radii),
            strict=True,
        )
        return [_against(self, row, *pair, one) for (row, pair), one in found], refused

    @property
    def shown(self) -> list[list[int]]:
        """At [row][column] 1 or -1 where a figure is shown to be above or below the baseline's, else 0."""
        shown = [[0] * len(self.columns) for _ in self.tables]
        for one in self.compared[0]:
            shown[one.row] = [
                one.comparison.acr_shown,
                *(at.shown if at else 0 for at in one.points),
                0,
            ]
        return shown


def build_sheet(
    tables: Sequence[Certificates],
    radii: Sequence[float] | None = None,
    baseline: str | None = None,
) -> Sheet:
    """Measure every table.

    Args:
        radii: of the certified accuracies; None for the usual ones.
        baseline: name of the table that the others are compared with; None looks for the Gaussian one.

    Raises:
        Problem: no table, a radius below 0 or not a number, an unknown baseline, or a table without images, with an
            image twice, or with radii that its noise, n and alpha cannot certify; radii in different norms.
    """
    named = with_distinct_names(tables)
    _require_sound(named)
    metrics.require_one_norm(named)
    at = list(dict.fromkeys(metrics.usual_radii(named) if radii is None else radii))
    row = find_baseline(named, baseline)
    summaries = [metrics.summarise(table, at) for table in named]
    return Sheet(
        named,
        summaries,
        NORMS[named[0].norm],
        at,
        row,
        acr=column(
            "ACR", [s.acr for s in summaries], 1.0, 5 if named[0].norm == "linf" else 3
        ),
        accuracy=[
            column(
                f"{r:g}",
                [s.accuracy[r] for s in summaries],
                out_of_reach=out_of_reach(named, r),
            )
            for r in at
        ],
        abstention=column("abstain", [s.abstention for s in summaries]),
        class_names=_class_names(named),
        **_settings(named),
        remarks=remarks(named),
    )


def out_of_reach(tables: Sequence[Certificates], r: float) -> frozenset[int]:
    """The rows of which no image can be certified at radius `r` (see `Column`)."""
    return frozenset(
        row for row, table in enumerate(tables) if not metrics.can_certify(table, r)
    )


def sure_of(tables: Sequence[Certificates]) -> str:
    """How sure the certificates are: at alpha, or certain where all copies of an image were counted."""
    certain = [table.header.alpha == 0.0 for table in tables]
    if all(certain):
        return "which is certain: all noisy copies of an image were counted"
    except_for = ", none where all noisy copies were counted" * any(certain)
    return f"each certificate wrong with probability at most alpha{except_for}"


def held_columns(tables: Sequence[Certificates]) -> list[str]:
    """The names of the columns of features that a table of these holds fixed: no certificate is about their changes."""
    noises = [table.header.smoothing for table in tables if table.header.names_noise]
    return sorted({name for noise in noises for name in noise.held_columns})


def with_distinct_names(tables: Sequence[Certificates]) -> list[Certificates]:
    """The tables under printable names; the second of a name becomes `name (2)`, an empty one `table 3`.

    Raises:
        Problem: there is no table.
    """
    if not tables:
        raise MissingValue(
            "there is no certificate table to report on; give at least one file"
        )
    named: dict[str, Certificates] = {}
    for place, table in enumerate(tables, start=1):
        name = shortened(printable(table.name).strip()) or f"table {place}"
        numbered = chain([name], (f"{name} ({number})" for number in count(2)))
        free = next(each for each in numbered if each not in named)
        named[free] = table.renamed(free)
    return list(named.values())


def _require_sound(tables: Sequence[Certificates]) -> None:
    """Raise Problem for a table without images, with one twice, or with radii beyond its noise, n and alpha."""
    for table in tables:
        if len(table) == 0:
            raise WrongTable(
                f"{table.name} holds no image, so there is nothing to report: leave it out"
            )
        images, rows = np.unique(table.idx, return_counts=True)
        if len(repeated := images[rows > 1]):
            raise WrongTable(
                f"{table.name} has more than one row for {name_images(repeated)}; keep one row an image"
            )
        require_reachable(table)


def find_baseline(
    tables: Sequence[Certificates], name: str | None = None
) -> int | None:
    """The row of the table that the others are compared with; None if it is not clear which one that is.

    Without a `name` it is the Gaussian one (see `find_gaussian`), or the first of two.

    Raises:
        Problem: no table is called `name`.
    """
    names = [table.name for table in tables]
    if name is not None:
        if name not in names:
            raise errors.unknown("baseline", name, names)
        return names.index(name)
    found = find_gaussian(tables)
    return 0 if found is None and len(tables) == 2 else found


def find_gaussian(tables: Sequence[Certificates]) -> int | None:
    """The row of the only table whose header says that the method is gaussian, else that is named gaussian, else whose
    name contains the word. None where several qualify: a guess would mark the wrong figures.
    """
    names = [table.name for table in tables]
    by_method = [
        (table.header.model or {}).get("method") == BASELINE_METHOD for table in tables
    ]
    by_name = [given.lower() == BASELINE_METHOD for given in names]
    by_part = [BASELINE_METHOD in given.lower() for given in names]
    fits = next(filter(any, (by_method, by_name, by_part)), [])
    return fits.index(True) if sum(fits) == 1 else None


def _settings(tables: Sequence[Certificates]) -> dict[str, Any]:
    """Of noise, n and alpha, in words: for each table those in which they differ, and the others, of all together."""
    headers = [table.header for table in tables]
    columns = {
        "noise": [header.noise_name or "sigma not known" for header in headers],
        "n": [
            "n not known" if header.n is None else f"n {header.n:,}"
            for header in headers
        ],
        "alpha": [
            "alpha not known"
            if h.alpha is None
            else f"alpha {h.alpha:g}"
            if h.alpha
            else "certain"
            for h in headers
        ],
    }
    known = {
        name: {one for one in words if not one.endswith("not known")}
        for name, words in columns.items()
    }
    differing = [name for name in columns if len(known[name]) > 1]
    own = [
        ", ".join(words)
        for words in zip(*map(columns.__getitem__, differing), strict=True)
    ]
    shared = [
        f"{name} as beside each name"
        if name in differing
        else " or ".join(dict.fromkeys(words))
        for name, words in columns.items()
    ]
    return {"settings": own or [""] * len(tables), "shared": ", ".join(shared)}


def _class_names(tables: Sequence[Certificates]) -> dict[int, str]:
    """The name of each label that occurs, ascending: of the first header with class names, else `class 3`."""
    names: dict[int, str] = {}
    for label in np.unique(np.concatenate([table.label for table in tables])).tolist():
        known = [
            t.header.classes[label]
            for t in tables
            if t.header.classes and 0 <= label < len(t.header.classes)
        ]
        name = (
            shortened(printable(known[0])) if known and known[0].strip() else str(label)
        )
        names[label] = f"class {name}" if name.isdigit() else name
    names.pop(NO_LABEL, None)
    return names


@dataclass(frozen=True)
class AgainstBaseline:
    """One table against the baseline, on the images that both have.

    Attributes:
        row: of the table in the sheet.
        comparison: at every radius and in ACR, judged together with all other tables' (see `metrics.compare`).
        points: the difference in certified accuracy at each of the sheet's radii; None where it cannot be compared.
        waterfall: the difference in ACR by the baseline's p_A; None where either is not known.
        given_up: the images that changed hands at radius 0 and at the third radius of the sheet.
    """

    row: int
    comparison: Comparison
    points: list[Point | None]
    waterfall: Waterfall | None
    given_up: list[GivenUp]


def paired_with(
    reference: int, tables: Sequence[Certificates]
) -> tuple[dict[int, Pair], dict[str, str]]:
    """By row, each other table and the one in row `reference` on the images of both; by name, why the others cannot."""
    pairs, refused = {}, {}
    for row, table in enumerate(tables):
        if row != reference:
            try:
                pairs[row] = metrics.pair(table, tables[reference])
            except Problem as reason:
                refused[table.name] = str(reason)
    return pairs, refused


def _against(
    sheet: Sheet, row: int, ours: Certificates, theirs: Certificates, one: Comparison
) -> AgainstBaseline:
    given_up = [
        metrics.given_up(ours, theirs, r)
        for r in dict.fromkeys((0.0, *sheet.radii[:3][-1:]))
    ]
    waterfall = (
        metrics.waterfall(ours, theirs)
        if one.acr is not None and metrics.knows_p_a(theirs)
        else None
    )
    return AgainstBaseline(
        row, one, [one.at(r) for r in sheet.radii], waterfall, given_up
    )
