"""`randsmooth cite`."""

from __future__ import annotations

from typing import Literal

from randsmooth.cli.settings import Argument, Unsaved
from randsmooth.escape import say, to_json
from randsmooth.urls import fetched, has_protocol


class Cite(Unsaved):
    """Settings of `randsmooth cite`.

    Attributes:
        things: Certificate tables, logs, model folders, or names: a method, rule, bound, data set, architecture, or
            acr, p_a, sound, denoised, ensemble, ... (default: randsmooth alone)
        format: Of the answer.
    """

    things: Argument[list[str]] = []
    format: Literal["text", "bibtex", "json"] = "text"


def cite(settings: Cite) -> None:
    """Print what to cite for a run: randsmooth, and the papers and data sets behind what it used, each with its use.

    Read from the header of a table, from a model's configuration, or from the path of a published log. Whether you
    report ACR or p_A nobody knows but you: their papers are named for every table.

    Example: randsmooth cite runs/gaussian.parquet --format bibtex > references.bib
    """
    from randsmooth.papers import cited

    found = cited([fetched(thing) if has_protocol(thing) else thing for thing in settings.things])
    if settings.format == "json":
        say(to_json(found.to_dict()))
    else:
        say(found.bibtex() if settings.format == "bibtex" else found.text())
