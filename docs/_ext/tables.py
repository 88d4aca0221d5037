"""A table from a data file, made at the build, so that no figure is copied by hand:

    ```{results-table} ../results/denoised-mnist/table.csv
    :columns: classifier, denoiser=before it, acr=ACR, accuracy@0.5=certified at 0.5
    :format: acr=.3f, accuracy@0.5=.1%
    :where: sigma=0.5
    :sort: -acr
    ```

The path is relative to the page. `columns` names the columns in their order, each with its heading where that is
another; `format` is a format of Python for each; `within` names the list inside of a JSON (`figures`); `where` chooses
rows and `sort` orders them (see records.py). Below the table stands the file, with the command and machine that it
names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import records
from docutils import nodes
from docutils.parsers.rst import directives
from repository import ROOT
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class FromRecords(SphinxDirective):
    """A directive whose argument is a data file, and whose options choose its rows."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[Any] = dict.fromkeys(("within", "where", "sort"), directives.unchanged)

    @property
    def path(self) -> Path:
        page = Path(self.env.doc2path(self.env.docname)).parent
        return (page / self.arguments[0]).resolve()

    def rows(self) -> list[records.Row]:
        """The rows that the options choose. Raises DirectiveError where there are none."""
        self.env.note_dependency(str(self.path))
        option = self.options.get
        try:
            rows = records.those(records.read(self.path, option("within", "")), option("where", ""))
            ordered = records.ordered(rows, option("sort", ""))
        except (ValueError, LookupError, OSError) as error:
            raise self.error(f"{self.arguments[0]}: {error}") from None
        if not ordered:
            raise self.error(f"{self.arguments[0]}: no row is chosen")
        return ordered

    def source(self) -> nodes.paragraph:
        """A line that names the file, its command and its machine."""
        name = self.path.relative_to(ROOT).as_posix()
        link = nodes.reference("", "", nodes.literal("", name), refuri=f"repository:{name}")
        facts = records.facts(self.path)
        return nodes.paragraph("", "", link, nodes.Text(f" ({facts})" if facts else ""), classes=["source"])


class ResultsTable(FromRecords):
    option_spec: ClassVar[Any] = {
        **FromRecords.option_spec,
        "columns": directives.unchanged_required,
        "format": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        columns, formats = pairs(self.options["columns"]), pairs(self.options.get("format", ""))
        try:
            body = [[cell(row, column, formats.get(column, "")) for column in columns] for row in self.rows()]
        except LookupError as error:
            raise self.error(f"{self.arguments[0]}: {error}") from None
        return [table([*columns.values()], body), self.source()]


def pairs(text: str) -> dict[str, str]:
    """`a, b=of b` as {"a": "a", "b": "of b"}."""
    parts = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    return {name.strip(): (value if equals else name).strip() for name, equals, value in parts}


def cell(row: records.Row, column: str, form: str) -> str:
    """A value as it is shown; – where there is none."""
    if column not in row:
        raise LookupError(f"there is no column {column!r}; there are {', '.join(row)}")
    value = row[column]
    if value is None:
        return "–"
    if form and not isinstance(value, str):
        return format(value, form)
    return f"{value:g}" if isinstance(value, float) else str(value)


def table(heads: list[str], body: list[list[str]]) -> nodes.table:
    """A table of texts, numbers to the right."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in heads), cols=len(heads))
    group += nodes.thead("", row(heads))
    group += nodes.tbody("", *(row(cells) for cells in body))
    return nodes.table("", group, classes=["results"])


def row(cells: list[str]) -> nodes.row:
    made = nodes.row()
    for text in cells:
        numeric = text[:1].isdigit() or (text[:1] in "-–" and len(text) < 9)
        made += nodes.entry("", nodes.paragraph("", text), classes=["text-right"] if numeric else [])
    return made


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("results-table", ResultsTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
