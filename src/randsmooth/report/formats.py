"""The table of a comparison as text for a terminal, Markdown, LaTeX, CSV or JSON."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from randsmooth import errors, escape, metrics
from randsmooth.certificates import Certificates
from randsmooth.escape import printable
from randsmooth.metrics import LEVEL, P_A_LEVELS, Summary
from randsmooth.report.sheet import (
    UNJUDGED,
    UNKNOWN_FIGURE,
    AgainstBaseline,
    Column,
    Sheet,
    build_sheet,
)

CURVE_POINTS = (
    800  # at least, of a curve of differences, which is judged at all its radii
)
WIDTH = 110  # letters of a line of the terminal's sentences
LEGEND = "ACR and certified accuracy (%) at each {}; 95% intervals below the figures."
OUT_OF_REACH = (
    "A dash at a radius: the table's rule, noise, n and alpha certify no image there, "
    "whatever the classifier."
)
P_A_LEGEND = (
    "Share of images (%) whose p_A, the label's probability under noise, "
    "is at least x: every image weighs the same."
)


def render(
    tables: Sequence[Certificates],
    *,
    radii: Sequence[float] | None = None,
    format: str = "text",
    baseline: str | None = None,
) -> str:
    """One row a table: images, ACR, certified accuracy at `radii`, abstention, all with 95% intervals.

    Args:
        radii: in the tables' norm; None for 0, 0.25, ... as far as any table certifies (see `metrics.usual_radii`).
        format: text, md, latex, csv or json.
        baseline: name of the table that the others are compared with; None looks for the Gaussian one.

    Raises:
        Problem: an unknown format or baseline, no table, a table without images, a negative radius, different norms.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> table = from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> print(render([table.renamed("gaussian")], radii=[0.0, 0.25], format="csv").split(",")[0])
        name
    """
    if format not in FORMATS:
        raise errors.unknown("format", format, FORMATS)
    return FORMATS[format](build_sheet(tables, radii, baseline))


def aligned(rows: Sequence[Sequence[str]], figures: Sequence[bool] = ()) -> list[str]:
    """Lines with the cells of each column padded to one width; where `figures` says so, in front."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pads = [
        str.rjust if side else str.ljust
        for side, _ in zip_longest(figures, widths, fillvalue=False)
    ]
    return [
        " ".join(
            pad(cell, w) for pad, cell, w in zip(pads, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def pipes(rows: Sequence[Sequence[str]], figures: Sequence[bool]) -> list[str]:
    """A Markdown table of cells that are escaped already; the first row is the head."""
    rule = ["---:" if side else "---" for side in figures]
    return [f"| {' | '.join(cells)} |" for cells in (rows[0], rule, *rows[1:])]


def tabular(rows: Sequence[Sequence[str]], figures: Sequence[bool]) -> list[str]:
    """A LaTeX table of cells that are escaped already; the first row is the head."""
    head, *rest = [rf"{' & '.join(cells)} \\" for cells in rows]
    form = "".join("r" if side else "l" for side in figures)
    return [
        rf"\begin{{tabular}}{{{form}}}",
        r"\hline",
        head,
        r"\hline",
        *rest,
        r"\hline",
        r"\end{tabular}",
    ]


def _text(sheet: Sheet) -> str:
    """What the columns are, and two lines a table: figures, then their intervals; so for p_A, too; then verdicts."""
    images = [
        "images",
        *(line for table in sheet.tables for line in (f"{len(table):,}", "")),
    ]
    lines = [
        LEGEND.format(sheet.norm.title),
        "",
        *_grid(sheet.titles, sheet.columns, images),
    ]
    below = [OUT_OF_REACH] * any(one.out_of_reach for one in sheet.accuracy) + [
        *map(printable, sheet.remarks)
    ]
    lines += ["", *below] if below else []
    if sheet.p_a_columns:
        lines += ["", P_A_LEGEND, "", *_grid(sheet.titles, sheet.p_a_columns)]
    return (
        "\n".join([*lines, *map(printable, _lacking(sheet)), *_verdict_lines(sheet)])
        + "\n"
    )


def _lacking(sheet: Sheet) -> list[str]:
    """Sentences on the tables whose p_A is not known: why, and what would tell it."""
    return [
        f"p_A of {', '.join(names)} is not known: {why}."
        for why, names in sheet.without_p_a.items()
    ]


def _grid(
    names: Sequence[str], columns: Sequence[Column], *first: list[str]
) -> list[str]:
    """Aligned lines, two a name, under the heads that are each column's first cell."""
    cells = [["name", *(line for name in names for line in (name, ""))], *first]
    for one in columns:
        figures = zip(one.figures, one.ends, strict=True)
        cells.append(
            [
                one.title,
                *(
                    line
                    for figure, ends in figures
                    for line in (figure, "-".join(ends))
                ),
            ]
        )
    return aligned(list(zip(*cells, strict=True)), [False] + [True] * (len(cells) - 1))


def _verdict_lines(sheet: Sheet) -> list[str]:
    """Every table against the baseline, in one line each; where there is none, how it is named."""
    if sheet.baseline is None:
        return ["", UNJUDGED] if len(sheet.tables) > 1 else []
    against, refused = sheet.compared
    verdicts = {
        sheet.tables[one.row].name: str(one.comparison) for one in against
    } | refused
    if not verdicts:
        return []
    head = f"Certified accuracy against {sheet.tables[sheet.baseline].name}:"
    lines = [
        f"  {line}"
        for line in aligned([[f"{name} ", words] for name, words in verdicts.items()])
    ]
    return [
        "",
        head,
        *lines,
        *(textwrap.wrap(str(against[0].comparison.scope), WIDTH) if against else []),
    ]


def _marked(
    sheet: Sheet,
    mark: Callable[[str, int], str],
    interval: str,
    name: Callable[[str], str],
    count: str = ",",
) -> list[list[str]]:
    """A row of cells for each table: name, images, shares by p_A, ACR with its interval, and the other columns."""
    rows, shown = [], sheet.shown
    for row, table in enumerate(sheet.tables):
        shares = [mark(column.figures[row], 0) for column in sheet.p_a_columns]
        cells = [
            mark(column.figures[row], at)
            for column, at in zip(sheet.columns, shown[row], strict=True)
        ]
        cells[0] += (
            interval.format(", ".join(sheet.acr.ends[row]))
            if sheet.acr.ends[row]
            else ""
        )
        rows.append([name(sheet.titles[row]), f"{len(table):{count}}", *shares, *cells])
    return rows


def _legend(
    sheet: Sheet, below: str, escaped: Callable[[str], str] = printable
) -> list[str]:
    """What the figures and marks mean, and what to know; a figure shown to be below the baseline is `below`."""
    marks = UNJUDGED
    if sheet.baseline is not None:
        name = escaped(sheet.tables[sheet.baseline].name)
        marks = f"Bold: shown to be above {name}, {below}: shown to be below it, all at once with 95% confidence"
        marks += (
            "; p_A and abstention (%) are not judged."
            if sheet.p_a_columns
            else "; abstention (%) is not judged."
        )
    unit = sheet.norm.title
    figures = f"ACR is the mean {unit}, with its 95% interval; certified accuracy in % at each {unit}."
    return [
        figures,
        escaped(f"Judged with {sheet.shared}."),
        *[marks] * (len(sheet.tables) > 1),
        *[P_A_LEGEND] * bool(sheet.p_a_columns),
        *map(escaped, [*sheet.remarks, *_lacking(sheet)]),
    ]


def _markdown(sheet: Sheet) -> str:
    """A pipe table; in bold what is shown to be above the baseline, in italics what is shown to be below it."""
    first = [
        "name",
        "images",
        *(f"p_A ≥ {c.title.partition('=')[2]}" for c in sheet.p_a_columns),
    ]
    titles = [*first, "ACR [95%]", *(c.title for c in sheet.accuracy), "abstain"]
    rows = _marked(
        sheet,
        lambda figure, at: ("{}", "**{}**", "*{}*")[at].format(figure),
        " [{}]",
        escape.markdown,
    )
    below = " ".join(_legend(sheet, "italic", escape.markdown))
    return (
        "\n".join(
            [*pipes([titles, *rows], [False] + [True] * (len(titles) - 1)), "", below]
        )
        + "\n"
    )


def _latex(sheet: Sheet) -> str:
    r"""A tabular that needs only xcolor: \textbf above the baseline, \textcolor{gray} below; and what that means."""
    first = [
        "Method",
        "Images",
        *(rf"$p_A \geq {c.title.partition('=')[2]}$" for c in sheet.p_a_columns),
    ]
    titles = [*first, "ACR", *(c.title for c in sheet.accuracy), "Abstain"]

    def mark(figure: str, at: int) -> str:
        return ("{}", r"\textbf{{{}}}", r"\textcolor{{gray}}{{{}}}")[at].format(
            figure.replace(UNKNOWN_FIGURE, "--")
        )

    rows = _marked(sheet, mark, r" {{\scriptsize [{}]}}", escape.latex, "d")
    below = [
        r"{\par\smallskip\footnotesize",
        *map(escape.latex, _legend(sheet, "gray")),
        r"\par}",
        "",
    ]
    lines = tabular([titles, *rows], [False] + [True] * (len(titles) - 1))
    return "\n".join([r"% needs \usepackage{xcolor}", *lines, *below])


def _csv(sheet: Sheet) -> str:
    """One row a table. A metric M has the columns M, M_low, M_high; certified accuracy is accuracy@RADIUS.

    `norm` is that of the radii, and `proved_in` that from whose radii they follow where the two differ.
    At a radius that a table's noise, n and alpha cannot certify its accuracy is 0; printed tables have a dash there.
    p_A@X, the share of images with p_A >= X, and abstention are empty for a table that does not give them. A
    name that a spreadsheet would take for a formula has ' before it; JSON has it as it is.
    """
    columns = [
        "acr",
        *(f"accuracy@{r:g}" for r in sheet.radii),
        "abstention",
        *(f"p_A@{x:g}" for x in P_A_LEVELS),
    ]
    rows: list[list[Any]] = [
        [
            "name",
            "images",
            "norm",
            "proved_in",
            *(f"{m}{end}" for m in columns for end in ("", "_low", "_high")),
        ]
    ]
    for table, found in zip(sheet.tables, sheet.summaries, strict=True):
        figures = [
            found.acr,
            *found.accuracy.values(),
            found.abstention,
            *map(found.p_a.get, P_A_LEVELS),
        ]
        ends = [
            value
            for e in figures
            for value in ((e.value, e.low, e.high) if e else (None, None, None))
        ]
        rows.append([table.name, len(table), table.norm, table.proved_in, *ends])
    return escape.to_csv(rows)


def _json(sheet: Sheet) -> str:
    """One object: `tables` (each with its metrics and its header's facts), `against`, `baseline`, `radii`, `level`.

    `norm` is that of the radii, and a table's `proved_in` that from whose radii they follow.
    `certified_accuracy` is 0 at a radius that a table's noise, n and alpha cannot certify, as in CSV.
    A table's `abstention` is null, and its `p_A` empty, where it does not give them. Without labels `acr` is null, too,
    and so is each `value` of `certified_accuracy`.
    `against` holds each table's comparison with the baseline, or why there is none; its intervals hold all together,
    over what `judged_together` says. `p_value_alone` is McNemar's of one radius, not corrected for the others.
    """
    compared, refused = sheet.compared
    scope = compared[0].comparison.scope if compared else None
    content = {
        "level": LEVEL,
        "norm": sheet.tables[0].norm,
        "radii": sheet.radii,
        "baseline": None
        if sheet.baseline is None
        else sheet.tables[sheet.baseline].name,
        "remarks": sheet.remarks,
        "tables": [
            _table(*each) for each in zip(sheet.tables, sheet.summaries, strict=True)
        ],
        "judged_together": {"words": str(scope), **asdict(scope)} if scope else None,
        "against": [_against(sheet, one) for one in compared]
        + [{"name": name, "not_compared": why} for name, why in refused.items()],
    }
    return escape.to_json(content) + "\n"


def _table(table: Certificates, found: Summary) -> dict[str, Any]:
    unknown = dict.fromkeys(("value", "low", "high"))
    return {
        "name": table.name,
        "images": len(table),
        "proved_in": table.proved_in,
        "acr": found.acr and asdict(found.acr),
        "certified_accuracy": [
            {"radius": r, **(asdict(e) if e else unknown)}
            for r, e in found.accuracy.items()
        ],
        "abstention": found.abstention and asdict(found.abstention),
        "p_A": [{"at_least": x, **asdict(share)} for x, share in found.p_a.items()],
        "header": table.header.model_dump(),
    }


def _against(sheet: Sheet, one: AgainstBaseline) -> dict[str, Any]:
    """One comparison; its `waterfall` is null where p_A is not known."""
    found, parts = one.comparison, one.waterfall
    kept = (
        slice(None, None, max(1, len(found.curve.radii) // CURVE_POINTS))
        if found.curve
        else slice(None)
    )
    ends = ("radii", "value", "low", "high")
    return {
        "name": sheet.tables[one.row].name,
        "images": found.images,
        "limit": found.limit and str(found.limit),
        "verdict": found.verdict
        and {"words": str(found.verdict), **asdict(found.verdict)},
        "acr_difference": found.acr and asdict(found.acr),
        "certified_accuracy": [
            {"radius": r, "difference": None}
            if at is None
            else {
                "radius": r,
                **asdict(at),
                "p_value_alone": metrics.mcnemar(at.only_a, at.only_b),
            }
            for r, at in zip(sheet.radii, one.points, strict=True)
        ],
        "curve": found.curve
        and {what: getattr(found.curve, what)[kept].tolist() for what in ends},
        "waterfall": parts
        and {
            "edges": parts.edges.tolist(),
            "parts": parts.difference.tolist(),
            "from_easy": parts.easy_difference,
        },
        "given_up": [
            {"radius": at.r, "lost": at.lost.tolist(), "won": at.won.tolist()}
            for at in one.given_up
        ],
    }


FORMATS: dict[str, Callable[[Sheet], str]] = {
    "text": _text,
    "md": _markdown,
    "latex": _latex,
    "csv": _csv,
    "json": _json,
}
