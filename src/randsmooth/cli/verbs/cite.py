"""`randsmooth cite`: what to cite for a run."""

from __future__ import annotations

from typing import Literal

from randsmooth import papers
from randsmooth.cli.settings import Argument, Unsaved
from randsmooth.escape import say, to_json
from randsmooth.models.places import shipped
from randsmooth.urls import fetched, is_url


class Cite(Unsaved):
    """Settings of `randsmooth cite`.

    Attributes:
        things: Certificate tables, logs, model folders, or names: a method, rule,
            bound, data set, architecture, or acr, p_a, sound, denoised, ensemble, ...
            (default: randsmooth alone)
        format: Of the answer.
    """

    things: Argument[list[str]] = []
    format: Literal["text", "bibtex", "json"] = "text"


def run(settings: Cite) -> None:
    """Print what to cite for a run: randsmooth, and the papers and data sets it used.

    It reads the header of a table, a model's configuration, or the path of a published
    log. It cannot know whether you report ACR or p_A, so it names their papers for
    every table.

    Example: randsmooth cite runs/gaussian.parquet --format bibtex > references.bib
    """
    # `shipped` gives the folder of a bundled model, and any other name as it is.
    things = [
        fetched(thing) if is_url(thing) else shipped(thing) for thing in settings.things
    ]
    citations = papers.cited(things)
    if settings.format == "json":
        say(to_json(citations.to_dict()))
    elif settings.format == "bibtex":
        say(citations.bibtex())
    else:
        say(citations.text())
