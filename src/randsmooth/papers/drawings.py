"""The function that draws each table and figure, from what is at hand."""

from collections.abc import Callable, Mapping

from randsmooth.papers import from_certificates, from_models, theory
from randsmooth.papers.context import Context
from randsmooth.papers.objects import Drawing, PaperObject
from randsmooth.papers.output import Output
from randsmooth.papers.rows import PaperRow

FORMULAS: Mapping[Drawing, Callable[[], Output]] = {
    Drawing.RADIUS_AND_SLOPE: theory.figure_2,
    Drawing.BUDGETS_FOR_ACR: theory.theorem_1,
    Drawing.DENSITY_ON_SPHERE: theory.theorem_2,
    Drawing.SAMPLING_WEIGHTS: theory.figure_4,
    Drawing.HINGE_BOUNDS: theory.proposition_1,
    Drawing.THREE_GUARANTEES: theory.confidence_figure,
}
OF_ROWS: Mapping[Drawing, Callable[[Context, list[PaperRow]], Output]] = {
    Drawing.TABLE: from_certificates.table,
    Drawing.TABLE_WITH_COSTS: from_models.table_with_costs,
    Drawing.ACCURACY_CURVES: from_certificates.curves,
    Drawing.ABLATION_CURVES: from_certificates.ablations,
    Drawing.P_A_CURVES: from_certificates.p_a,
    Drawing.BEST_SIGMAS: from_certificates.section_7,
    Drawing.ACR_BY_BUDGET: from_certificates.budget,
    Drawing.TRADE_OFF_AT_2: from_certificates.trade_off_at_2,
    Drawing.TRADE_OFFS: from_certificates.trade_offs,
    Drawing.GRADIENT_TABLE: from_models.gradient_table,
    Drawing.GRADIENTS_UNDER_ATTACK: from_models.gradients_before_and_after,
    Drawing.REMAINING_DATA: from_models.remaining,
    Drawing.SOFT_AND_HARD: from_models.soft_against_hard,
}


def draw_object(thing: PaperObject, context: Context) -> Output | None:
    """Draw a table or figure, with notes on its logs.

    The answer is None where there is nothing to draw it from.
    """
    if thing.drawing in FORMULAS:
        return FORMULAS[thing.drawing]()
    rows = [*_drawable(thing, context), *context.more_rows(thing)]
    if not rows:
        return None
    made = OF_ROWS[thing.drawing](context, rows)
    made.notes += context.notes_on(rows)
    return made


def _drawable(thing: PaperObject, context: Context) -> list[PaperRow]:
    """Return the rows that can be drawn.

    What certificates fill shows all rows of the paper once there is one of them.
    """
    rows = thing.rows()
    if thing.needs_models:
        return [row for row in rows if context.model(row) is not None]
    if context.shown(rows) or context.more_rows(thing):
        return rows
    return []
