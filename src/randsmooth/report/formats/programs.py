"""A comparison for programs, at full precision: CSV and JSON."""

from dataclasses import asdict
from typing import Any

from randsmooth import escape, metrics
from randsmooth.certificates import Certificates
from randsmooth.metrics import (
    LEVEL,
    P_A_LEVELS,
    Difference,
    Estimate,
    Point,
    Summary,
    Verdict,
    Waterfall,
)
from randsmooth.number_text import shortest
from randsmooth.report.baseline import AgainstBaseline
from randsmooth.report.sheet import Sheet

# A curve of differences with so many radii or more is thinned, to at least so many.
FEWEST_CURVE_POINTS = 800


def to_csv(sheet: Sheet) -> str:
    """Return the metrics as CSV, a row for each table.

    A metric M has the columns M, M_low, M_high; certified accuracy is accuracy@RADIUS.

    `norm` is that of the radii, and `proved_in` that from whose radii they follow where
    the two differ. At a radius that a table's noise, n and alpha cannot certify its
    accuracy is 0; printed tables have a dash there. p_A@X, the share of images with
    p_A >= X, abstention and declined are empty for a table that does not give them. A name that
    a spreadsheet would take for a formula has ' before it; JSON has it as it is.
    """
    metric_names = ["acr"]
    metric_names += [f"accuracy@{shortest(radius)}" for radius in sheet.radii]
    metric_names += ["abstention", "declined"]
    metric_names += [f"p_A@{level:g}" for level in P_A_LEVELS]

    head = ["name", "images", "norm", "proved_in"]
    for name in metric_names:
        head += [name, f"{name}_low", f"{name}_high"]
    rows: list[list[Any]] = [head]
    for table, summary in zip(sheet.tables, sheet.summaries, strict=True):
        row = [table.name, len(table), table.norm, table.proved_in]
        for estimate in _estimates(summary):
            if estimate is None:
                row += [None, None, None]
            else:
                row += [estimate.value, estimate.low, estimate.high]
        rows.append(row)
    return escape.to_csv(rows)


def _estimates(summary: Summary) -> list[Estimate | None]:
    """Return all metrics of a table, in the order of the columns."""
    shares = [summary.p_a.get(level) for level in P_A_LEVELS]
    not_certified = [summary.abstention, summary.declined]
    return [summary.acr, *summary.accuracy.values(), *not_certified, *shares]


def to_json(sheet: Sheet) -> str:
    """Return the comparison as one JSON object.

    Its keys are `checks` (each with its kind, state, facts and sentence), `answer` (its
    kind and sentence, the radius, and the figures there of each table), `tables`
    (each with its metrics and its header's facts), `against`, `baseline`, `radii`, `level`.

    `norm` is that of the radii, and a table's `proved_in` that from whose radii they
    follow. `certified_accuracy` is 0 at a radius that a table's noise, n and alpha
    cannot certify, as in CSV. A table's `abstention` and `declined` are null, and its `p_A` empty,
    where it does not give them. Without labels `acr` is null, too, and so is each
    `value` of `certified_accuracy`. `against` holds each table's comparison with the
    baseline, or why there is none; its intervals hold all together, over what
    `judged_together` says. `p_value_alone` is McNemar's of one radius, not corrected
    for the others.
    """
    baseline = None
    if sheet.baseline is not None:
        baseline = sheet.tables[sheet.baseline].name
    judged_together = None
    scope = sheet.compared.scope
    if scope is not None:
        judged_together = {"words": str(scope), **asdict(scope)}
    against = [_against(sheet, compared) for compared in sheet.compared.against]
    for name, reason in sheet.compared.refused.items():
        against.append({"name": name, "not_compared": reason})
    content = {
        "level": LEVEL,
        "norm": sheet.tables[0].norm,
        "radii": sheet.radii,
        "baseline": baseline,
        "checks": sheet.check_block.content,
        "answer": sheet.answer.content,
        "judged_anyway": sheet.anyway,
        "remarks": [str(remark) for remark in sheet.remarks],
        "tables": [
            _table(table, summary)
            for table, summary in zip(sheet.tables, sheet.summaries, strict=True)
        ],
        "judged_together": judged_together,
        "against": against,
    }
    return escape.to_json(content) + "\n"


def _table(table: Certificates, summary: Summary) -> dict[str, Any]:
    """Return the metrics and the header of one table, null for unknown metrics."""
    return {
        "name": table.name,
        "images": len(table),
        "proved_in": table.proved_in,
        "acr": summary.acr and asdict(summary.acr),
        "certified_accuracy": [
            {"radius": radius, **_accuracy(estimate)}
            for radius, estimate in summary.accuracy.items()
        ],
        "abstention": summary.abstention and asdict(summary.abstention),
        "declined": summary.declined and asdict(summary.declined),
        "p_A": [
            {"at_least": level, **asdict(share)} for level, share in summary.p_a.items()
        ],
        "header": table.header.model_dump(),
    }


def _accuracy(estimate: Estimate | None) -> dict[str, Any]:
    """Return an accuracy and its interval; all null for a table without labels."""
    if estimate is None:
        return {"value": None, "low": None, "high": None}
    return asdict(estimate)


def _against(sheet: Sheet, compared: AgainstBaseline) -> dict[str, Any]:
    """Return the comparison of one table with the baseline, null for unknown parts."""
    comparison = compared.comparison
    # `x and f(x)` is None where x is None, and f(x) otherwise.
    return {
        "name": sheet.tables[compared.row].name,
        "images": comparison.images,
        "limit": comparison.limit and str(comparison.limit),
        "verdict": comparison.verdict and _verdict(comparison.verdict),
        "acr_difference": comparison.acr and asdict(comparison.acr),
        "certified_accuracy": [
            _difference_at(radius, point)
            for radius, point in zip(sheet.radii, compared.points, strict=True)
        ],
        "curve": comparison.curve and _curve(comparison.curve),
        "waterfall": compared.waterfall and _waterfall(compared.waterfall),
        "given_up": [
            {"radius": at.r, "lost": at.lost.tolist(), "won": at.won.tolist()}
            for at in compared.given_up
        ],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict in words, and its facts."""
    return {"words": str(verdict), **asdict(verdict)}


def _difference_at(radius: float, point: Point | None) -> dict[str, Any]:
    """Return the difference at a radius; null where tables cannot be compared there."""
    if point is None:
        return {"radius": radius, "difference": None}
    p_value = metrics.mcnemar(point.only_a, point.only_b)
    return {"radius": radius, **asdict(point), "p_value_alone": p_value}


def _curve(curve: Difference) -> dict[str, Any]:
    """Return a curve of differences at some of its radii."""
    step = max(1, len(curve.radii) // FEWEST_CURVE_POINTS)
    return {
        "radii": curve.radii[::step].tolist(),
        "value": curve.value[::step].tolist(),
        "low": curve.low[::step].tolist(),
        "high": curve.high[::step].tolist(),
    }


def _waterfall(parts: Waterfall) -> dict[str, Any]:
    """Return the parts of a difference in ACR by the p_A of the baseline."""
    return {
        "edges": parts.edges.tolist(),
        "parts": parts.difference.tolist(),
        "from_easy": parts.easy_difference,
    }
