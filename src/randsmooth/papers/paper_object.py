"""A table or figure of a paper: what it shows, which models it is about and what draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from randsmooth.papers.rows import PaperRow

if TYPE_CHECKING:  # a list of all objects loads neither pandas nor what draws them
    from randsmooth.papers.context import Context, Output

Make = Callable[["Context", list[PaperRow]], "Output"]


@dataclass(frozen=True)
class PaperObject:
    """A table or figure of a paper.

    Attributes:
        name: PAPER/OBJECT.
        title: what it shows.
        maker: gives the function that draws it, whose module is imported only then.
        rows: the models that it is about; none where formulas alone give it.
        needs_models: whether the models themselves are needed, not only their certificates.
        more_rows: further models, shown where there are certificates of them.

    Example:
        >>> from randsmooth.papers import find_object
        >>> table = find_object("acr/table2")
        >>> table.title, len(table.rows()), table.needs_models
        ('certified accuracy and ACR on CIFAR-10, all methods', 21, False)
    """

    name: str
    title: str
    maker: Callable[[], Make]
    rows: Callable[[], list[PaperRow]] = list
    needs_models: bool = False
    more_rows: Callable[[Context], list[PaperRow]] = lambda context: []

    def make(self, context: Context, rows: list[PaperRow]) -> Output:
        """Draw the object from the certificates and models at hand, for the rows that can be shown."""
        return self.maker()(context, rows)

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
