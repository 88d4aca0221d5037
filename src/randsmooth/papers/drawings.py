"""The function that draws each table and figure, from the evidence for its rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from randsmooth.papers import best_sigmas, from_certificates, from_models, theory
from randsmooth.papers.find_certificates import CertificateFile
from randsmooth.papers.objects import Drawing
from randsmooth.papers.output import Output
from randsmooth.papers.row_evidence import ObjectEvidence, RowEvidence
from randsmooth.papers.rows import named
from randsmooth.papers.runs import Scale
from randsmooth.report.grouping import gathered

# Drawings that follow from formulas alone, and their functions.
FORMULAS: Mapping[Drawing, Callable[[], Output]] = {
    Drawing.RADIUS_AND_SLOPE: theory.figure_2,
    Drawing.BUDGETS_FOR_ACR: theory.theorem_1,
    Drawing.DENSITY_ON_SPHERE: theory.theorem_2,
    Drawing.SAMPLING_WEIGHTS: theory.figure_4,
    Drawing.HINGE_BOUNDS: theory.proposition_1,
    Drawing.THREE_GUARANTEES: theory.confidence_figure,
}
# Drawings of the evidence for a paper's rows, and their functions.
OF_ROWS: Mapping[Drawing, Callable[[Sequence[RowEvidence], Scale], Output]] = {
    Drawing.TABLE: from_certificates.table,
    Drawing.TABLE_WITH_COSTS: from_models.table_with_costs,
    Drawing.ACCURACY_CURVES: from_certificates.curves,
    Drawing.ABLATION_CURVES: from_certificates.ablations,
    Drawing.P_A_CURVES: from_certificates.p_a,
    Drawing.BEST_SIGMAS: best_sigmas.section_7,
    Drawing.ACR_BY_BUDGET: from_certificates.budget,
    Drawing.TRADE_OFF_AT_2: from_certificates.trade_off_at_2,
    Drawing.TRADE_OFFS: from_certificates.trade_offs,
    Drawing.GRADIENT_TABLE: from_models.gradient_table,
    Drawing.GRADIENTS_UNDER_ATTACK: from_models.gradients_before_and_after,
    Drawing.REMAINING_DATA: from_models.remaining,
    Drawing.SOFT_AND_HARD: from_models.soft_against_hard,
}


def draw_object(evidence: ObjectEvidence) -> Output | None:
    """Draw a table or figure from the evidence at hand, with notes on its logs.

    Returns:
        The drawing; None where neither formulas nor evidence give anything to draw.
    """
    thing = evidence.thing
    if thing.drawing in FORMULAS:
        return FORMULAS[thing.drawing]()
    rows = [*evidence.rows, *evidence.further]
    if thing.needs_models:
        rows = [of_row for of_row in rows if of_row.model is not None]
    elif all(of_row.found is None for of_row in rows):
        # With certificates of a single row, the drawing shows all rows of the paper.
        return None
    if not rows:
        return None
    output = OF_ROWS[thing.drawing](rows, evidence.scale)
    # Files have no footnotes on the logs: these notes are for the terminal alone.
    return replace(output, notes=[*output.notes, *notes_on(rows)])


def notes_on(evidence: Sequence[RowEvidence]) -> list[str]:
    """Return the notes in the headers of the certificates shown, with the rows of each.

    Further sentences say which file is shown for a row, where others fit it as well.
    """
    shown = [
        (of_row.row, of_row.found) for of_row in evidence if of_row.found is not None
    ]
    rows_of_note = gathered(
        (str(note), row) for row, found in shown for note in found.table.header.notes
    )
    sentences = []
    for note, noted in rows_of_note.items():
        which = named(noted)
        if len(noted) == len(shown) > 1:
            which = "all"
        sentences.append(f"{which}: {note}")
    for of_row in evidence:
        sentences += _choice(of_row)
    return sentences


def _choice(of_row: RowEvidence) -> Iterator[str]:
    """Yield a sentence on the file that is shown for a row, and on others that fit.

    There is none for a log that is the only file: the tables say that much.
    """
    shown = of_row.found
    others = of_row.others
    if shown is None or (shown.log and not others):
        return
    sentence = f"{named([of_row.row])}: {shown.path} is shown"
    if others:
        names = ", ".join(_short_path(found, shown) for found in others)
        sentence += f" of {len(others) + 1} files that fit; the others: {names}"
    yield sentence


def _short_path(found: CertificateFile, shown: CertificateFile) -> str:
    """Return the path of a file; its name alone where `shown` lies in the same folder."""
    if found.path.parent == shown.path.parent:
        return found.path.name
    return str(found.path)
