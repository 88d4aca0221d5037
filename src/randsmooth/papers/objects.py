"""Every table and figure of the three papers, by name: what it shows, which models it is about and what draws it.

objects.csv lists them. Its `tables` are those of the paper whose rows an object is about, of one `sigma` and `method`
where these are given; `shows` says "formula" of what needs no model, "models" where certificates do not suffice, and
"alone" where the figures of these tables are not the object's own.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import resources
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from randsmooth.errors import unknown
from randsmooth.papers.rows import PaperRow, preset_of, rows_of

if TYPE_CHECKING:  # a list of all objects loads neither pandas nor what draws them
    from randsmooth.papers.context import Context
    from randsmooth.papers.output import Output

SIGMAS = (0.25, 0.5, 1.0)


@dataclass(frozen=True)
class PaperObject:
    """A table or figure of a paper.

    Attributes:
        name: PAPER/OBJECT.
        title: what it shows.
        maker: MODULE:FUNCTION of `papers`, imported only when it draws. It takes context and rows; that of a formula,
            nothing, and gives panels.
        rows: the models that it is about; none where formulas alone give it.
        needs_models: whether the models themselves are needed, not only their certificates.
        more_rows: further models, shown where there are certificates of them.
        formula: whether formulas alone give it.
        note: what a reader of such a figure has to know.

    Example:
        >>> from randsmooth.papers import find_object
        >>> table = find_object("acr/table2")
        >>> table.title, len(table.rows()), table.needs_models
        ('certified accuracy and ACR on CIFAR-10, all methods', 21, False)
    """

    name: str
    title: str
    maker: str
    rows: Callable[[], list[PaperRow]] = list
    needs_models: bool = False
    more_rows: Callable[[Context], list[PaperRow]] = lambda context: []
    formula: bool = False
    note: str = ""

    def make(self, context: Context, rows: list[PaperRow]) -> Output:
        """Draw the object from the certificates and models at hand, for the rows that can be shown."""
        from randsmooth.papers.output import figure_output

        function = resolve_name(f"randsmooth.papers.{self.maker}")
        made: Output = (
            figure_output(function(), *filter(None, [self.note])) if self.formula else function(context, rows)
        )
        return made

    def missing(self, context: Context) -> list[PaperRow]:
        """The rows without certificates of their own run, or without a model where the object needs one."""
        if self.needs_models:
            return [row for row in self.rows() if context.model(row) is None]
        return [row for row in self.rows() if context.lacks(row)]

    def unfinished(self, context: Context) -> list[PaperRow]:
        """The rows for which `--run` has work left: the missing ones, and models of its own not yet certified."""
        missing = self.missing(context)
        return [
            row
            for row in self.rows()
            if row in missing or (context.trained(row) and context.certificates_of(row) is None)
        ]


def _on_imagenet(sigma: float, method: str) -> PaperRow:
    return PaperRow("acr", "imagenet", sigma, method, "", preset_of("acr", "imagenet", method, ""))


def _imagenet() -> list[PaperRow]:
    return [_on_imagenet(sigma, method) for sigma in SIGMAS for method in ("gaussian", "amplify")]


def _more_imagenet(context: Context) -> list[PaperRow]:
    """Every other method that there are main certificates of on ImageNet: the released logs have seven."""
    known = {(row.sigma, row.method) for row in _imagenet()}
    more = {(f.sigma, f.method) for f in context.found if f.dataset == "imagenet"} - known
    rows = [_on_imagenet(*each) for each in sorted(more)]
    return [row for row in rows if context.certificates_of(row) is not None]


def _described(line: dict[str, str]) -> PaperObject:
    """The object of a line of objects.csv."""
    paper, shows = line["name"].partition("/")[0], line["shows"].split()

    def rows() -> list[PaperRow]:
        every = [row for table in line["tables"].split() for row in rows_of(paper, table)]
        own = [r for r in every if line["sigma"] in ("", f"{r.sigma:g}") and line["method"] in ("", r.method)]
        return [replace(row, figures={}) for row in own] if "alone" in shows else own

    found = PaperObject(line["name"], line["title"], line["maker"], rows, "models" in shows)
    found = replace(found, formula="formula" in shows, note=line["note"])
    return replace(found, rows=_imagenet, more_rows=_more_imagenet) if found.name == "acr/imagenet" else found


def _objects() -> tuple[PaperObject, ...]:
    with resources.files("randsmooth.papers").joinpath("objects.csv").open() as file:
        return tuple(_described(line) for line in csv.DictReader(file))


OBJECTS = _objects()


def find_object(name: str) -> PaperObject:
    """The table or figure called PAPER/OBJECT.

    Raises:
        InputError: no such object.

    Example:
        >>> find_object("acr/theorem1").title
        'budget at which a constant classifier passes any ACR'
    """
    for candidate in OBJECTS:
        if candidate.name == name:
            return candidate
    raise unknown("object", name, [candidate.name for candidate in OBJECTS])
