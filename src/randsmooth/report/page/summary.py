"""The findings of the comparison page in words."""

from collections.abc import Iterator, Sequence

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import Problem
from randsmooth.metrics import Comparison
from randsmooth.noise import NORMS
from randsmooth.notes import Note
from randsmooth.report.findings import acr_finding
from randsmooth.report.grouping import gathered
from randsmooth.report.remarks import budget_remarks
from randsmooth.report.sheet import Sheet

# Templates of the sentence on the highest ACR. `which` are the tables, as in "Of 3
# tables"; `tied` are those of which any may have it, with their figures.
HAS_HIGHEST_ACR = "{which}, {name} has the {highest} ACR ({figure})."
HIGHEST_ACR_IS_UNDECIDED = (
    "{which}, it cannot be told with {images:,} images which has the {highest} ACR "
    "({tied})."
)


def sentences(sheet: Sheet) -> list[str | Note]:
    """Return the findings in sentences; a `Note` where a sentence names settings.

    The sentence on a single table gives its figures. Those on several tables say which
    budgets differ, which table leads in ACR, what ACR hides about two of the tables, and
    how certified accuracy compares with the baseline.
    """
    labelled = [row for row, table in enumerate(sheet.tables) if table.labelled]
    # A single table needs labels for its figures. Of more, two need them to be compared:
    # else the tables below the sentences say all that is known of the labelled one.
    if len(labelled) < min(2, len(sheet.tables)):
        return [*_unlabelled_sentences(sheet)]
    if len(sheet.tables) == 1:
        return [_figures_of_one(sheet)]
    return [
        *budget_remarks(sheet.tables),
        *_acr_sentences(sheet, _trusted(sheet, labelled)),
        *_verdict_sentences(sheet),
    ]


def _trusted(sheet: Sheet, rows: list[int]) -> list[int]:
    """Return the rows that no failed check concerns."""
    return [row for row in rows if sheet.tables[row].name not in sheet.doubted]


def _unlabelled_sentences(sheet: Sheet) -> list[str]:
    """Return for each table without labels how often it abstains, and declines.

    That is all that is known of it.
    """
    sentences = []
    for row, table in enumerate(sheet.tables):
        if table.labelled:
            continue
        declines = ""
        if table.header.refusal is not None and sheet.declined is not None:
            declines = f", and declines {sheet.declined.figures[row]}%"
        sentences.append(
            f"{table.name}: {len(table):,} images without labels; it abstains on "
            f"{sheet.abstention.figures[row]}%{declines}."
        )
    return sentences


def _figures_of_one(sheet: Sheet) -> str:
    """Return the sentence on a single table: accuracy at the first radius, and ACR."""
    table = sheet.tables[0]
    sentence = f"{table.name}: "
    if sheet.accuracy:
        first = sheet.accuracy[0]
        sentence += f"{first.figures[0]}% at radius {first.title}, "
    if sheet.declined is not None:
        sentence += f"{sheet.declined.figures[0]}% certified as declined, "
    interval = " to ".join(sheet.acr.ends[0])
    sentence += f"ACR {sheet.acr.figures[0]} ({interval}), on {len(table):,} images"
    if NORMS[table.norm].own_units:
        sentence += f" ({NORMS[table.norm].title})"
    return f"{sentence}."


def _acr_sentences(sheet: Sheet, labelled: list[int]) -> list[str]:
    """Return sentences on which table leads in ACR, and on what ACR hides.

    ACR hides something about two tables: the one with the highest ACR but the baseline,
    and the baseline. Where there is none, the one with the second highest ACR stands in.

    Args:
        labelled: the rows of tables that have labels and no failed check.
    """
    if len(labelled) < 2:
        return []
    # A negated key, unlike `reverse`, keeps equal tables in the order of the sheet.
    rows_by_acr = sorted(labelled, key=lambda row: -_acr(sheet, row))
    leaders = list(
        _leading([(sheet.tables[row], sheet.acr.figures[row]) for row in rows_by_acr])
    )
    others = [row for row in rows_by_acr if row != sheet.baseline]
    best = others[0]
    reference = others[1] if sheet.baseline is None else sheet.baseline
    # Another sentence says why a table is not compared.
    if sheet.tables[best].name in sheet.compared.refused:
        return leaders
    try:
        hidden = _hidden_sentence(sheet, best, reference)
    except Problem as reason:
        return [*leaders, f"What ACR hides cannot be said here: {reason}."]
    # What ACR hides about two tables begins with which of them leads.
    return [*leaders, hidden] if len(sheet.tables) > 2 else [hidden]


def _acr(sheet: Sheet, row: int) -> float:
    """Return the ACR of the table in a row, which has labels."""
    acr = sheet.summaries[row].acr
    assert acr is not None, "it is known of tables with labels"
    return acr.value


def _hidden_sentence(sheet: Sheet, best: int, reference: int) -> str:
    """Return the sentence on what ACR hides about two tables.

    It begins with the number of shared images where one table has further images.

    Args:
        best, reference: the rows of the tables; `reference` is the baseline if there
            is one.
    """
    # The verdict on a table against the baseline was judged together with all others.
    # Without a baseline there is none, and `acr_finding` judges these two alone.
    comparison = None
    for compared in sheet.compared.against:
        if compared.row == best:
            comparison = compared.comparison

    table = sheet.tables[best]
    reference_table = sheet.tables[reference]
    on_shared, reference_on_shared = metrics.pair(table, reference_table)
    sentence = str(acr_finding(on_shared, reference_on_shared, comparison))
    images = len(on_shared)
    if images < len(table) or images < len(reference_table):
        return f"On the {images:,} images of both: {sentence}"
    return sentence


def _leading(by_acr: Sequence[tuple[Certificates, str]]) -> Iterator[str]:
    """Yield sentences on which table has the highest ACR, and on tables left out.

    A table is left out if its images cannot be paired with those of the first.

    Args:
        by_acr: the tables and their ACRs as printed, the highest first.
    """
    (first, figure), *rest = by_acr
    leader = f"{first.name} {figure}"
    # Tables whose ACR is not lower beyond chance, and tables that cannot be tested.
    tied = []
    unpaired = []
    for table, printed in rest:
        has_higher_acr = _has_higher_acr(first, table)
        if has_higher_acr is None:
            unpaired.append(f"{table.name} {printed}")
        elif not has_higher_acr:
            tied.append(f"{table.name} {printed}")

    tested = len(by_acr) - len(unpaired)
    if tested > 1:
        which = f"Of {tested} tables"
        if unpaired:
            which += " that can be paired"
        template = HIGHEST_ACR_IS_UNDECIDED if tied else HAS_HIGHEST_ACR
        yield template.format(
            which=which,
            name=first.name,
            highest="higher" if tested == 2 else "highest",
            figure=figure,
            images=len(first),
            tied=", ".join([leader, *tied]),
        )
    if unpaired:
        yield (
            f"ACR is not compared between {leader} and {', '.join(unpaired)}: "
            "no test pairs their images."
        )


def _has_higher_acr(first: Certificates, second: Certificates) -> bool | None:
    """Return whether the ACR of `first` is higher beyond chance, on the shared images.

    The answer is None where the tables cannot be paired.
    """
    try:
        pair = metrics.pair(first, second)
    except Problem:
        return None
    return metrics.acr_difference(*pair).low > 0.0


def _verdict_sentences(sheet: Sheet) -> Iterator[str | Note]:
    """Yield sentences on certified accuracy against the baseline, and on its unit."""
    if sheet.baseline is None:
        yield Note("no_baseline")
        yield from _unit_sentence(sheet)
        return
    reference = sheet.tables[sheet.baseline].name
    names_of_verdict = gathered(
        (str(compared.comparison), sheet.tables[compared.row].name)
        for compared in sheet.compared.against
        if not _is_told_by_finding(sheet, compared.comparison)
    )
    clauses = [
        f"{', '.join(names)}: {verdict}" for verdict, names in names_of_verdict.items()
    ]
    if clauses:
        yield (
            f"By certified accuracy against {reference}, all radii judged together, "
            f"{'; '.join(clauses)}."
        )
    yield from _unit_sentence(sheet)
    for name, reason in sheet.compared.refused.items():
        yield f"{name} is not compared with {reference} image by image: {reason}."


def _is_told_by_finding(sheet: Sheet, comparison: Comparison) -> bool:
    """Return whether the sentence on what ACR hides tells the verdict already.

    Of two tables whose curves cross it names the same radii.
    """
    verdict = comparison.verdict
    crosses = verdict is not None and verdict.outcome == metrics.CROSSES
    return crosses and comparison.acr is not None and len(sheet.tables) == 2


def _unit_sentence(sheet: Sheet) -> Iterator[str]:
    """Yield the meaning of r, where radii are not in the usual unit."""
    if sheet.norm.own_units:
        yield f"r is the {sheet.norm.title}."
