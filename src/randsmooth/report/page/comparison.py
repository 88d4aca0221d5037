"""The comparison as one HTML file that opens anywhere, offline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from randsmooth import metrics
from randsmooth.atomic import write_atomically
from randsmooth.certificates import Certificates
from randsmooth.report.figures import curves
from randsmooth.report.figures.colours import looks
from randsmooth.report.page import more_plots, plots, slider, summary
from randsmooth.report.page.panels import acr_alternatives as instead
from randsmooth.report.page.panels import classes
from randsmooth.report.page.panels import given_up as lost
from randsmooth.report.sheet import against_baseline as versus
from randsmooth.report.sheet import content as sheet
from randsmooth.report.sheet import facts as provenance
from randsmooth.report.sheet import verdicts
from randsmooth.report.web import html


def comparison_page(
    tables: Sequence[Certificates],
    *,
    radii: Sequence[float] | None = None,
    baseline: str | None = None,
    title: str | None = None,
    command: str | None = None,
    pictures: lost.Pictures | None = None,
) -> str:
    """The report on `tables` as HTML with everything inlined.

    Args:
        radii: of the table and the per-class view, in pixels in [0, 1]; None for the usual ones.
        baseline: name of the table that the others are judged against; None looks for the Gaussian one.
        command: what was typed to make the page, to be shown on it.
        pictures: pixels (H, W, 1 or 3) uint8 of the images at given positions, to show some that were given up.

    Raises:
        InputError: no table, one that is not sound (see `sheet.build`), a radius that makes no sense, an unknown
            baseline, or a table that shares no image with it.
    """
    content = sheet.build(tables, radii, baseline)
    drawn = looks(len(content.tables), content.baseline)
    knowing = [table if metrics.knows_p_a(table) else None for table in content.tables]
    by_class = classes.view(content)
    compared = versus.view(content)
    drawings = {
        "radius": plots.radius_plot(content.tables, drawn),
        "p_a": plots.p_a_plot(knowing, drawn),
        "difference": more_plots.difference_plot(content, compared, drawn),
        "waterfall": more_plots.waterfall_plot(content, compared, drawn),
        "budget": more_plots.budget_plot(content, drawn),
    }
    return html.render(
        "page",
        "page.html.j2",
        "page.js",
        plots=True,
        title=title or "Certified robustness compared",
        sheet=content,
        summary=summary.sentences(content, compared),
        looks=drawn,
        unknown=_unknown(content),
        partly=any(table is not None and table.is_log for table in knowing),
        classes=by_class,
        shown=versus.middle_place(content.radii),
        instead=instead.lines(content),
        up_to=f"{instead.up_to(content):g}",
        judged=versus.shown(content, compared),
        **_against(content, compared, pictures),
        judge=slider.judge(content),
        facts=provenance.facts(content),
        command=command,
        drawings=drawings,
        data=_data(content, drawings, by_class),
    )


def write_comparison(tables: Sequence[Certificates], path: Path | str, **options: Any) -> None:
    """Write `comparison_page(tables, **options)` to `path`, all or nothing. Errors as `comparison_page`."""
    write_atomically(Path(path), comparison_page(tables, **options).encode())


def _unknown(content: sheet.Sheet) -> list[tuple[str, list[str]]]:
    """The options that would give what p_A cannot be drawn without, each with the tables that lack it."""
    lacking: dict[str, list[str]] = {}
    for table in content.tables:
        options = ", ".join(f"--{field}" for field in curves.missing_facts(table))
        lacking.setdefault(options, []).append(table.name)
    return [(options, names) for options, names in lacking.items() if options]


def _data(content: sheet.Sheet, drawings: dict[str, Any], by_class: classes.ClassView) -> dict[str, Any]:
    titles = [column.title for column in content.accuracy]
    return {"plots": drawings, "radii": titles, "cells": by_class.cells, "stops": slider.stops(content)}


def _against(content: sheet.Sheet, compared: Sequence[versus.Versus], pictures: lost.Pictures | None) -> dict[str, Any]:
    """What the section on the baseline prints."""
    if not compared:
        return {"versus": []}
    return {
        "versus": compared,
        "scope": compared[0].comparison.scope,
        "allowed": metrics.in_points(metrics.DELTA),
        "together": verdicts.together(compared[0].comparison.scope),
        "verdicts": [verdicts.words(one.comparison) for one in compared],
        "changes": [lost.changes(content, one) for one in compared],
        "lost_by_class": lost.by_class(content, compared),
        "gallery": lost.gallery(content, compared, pictures),
    }
