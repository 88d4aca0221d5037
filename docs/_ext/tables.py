"""The directive `{generated}`: a table that the build makes of the code, of docs/schemas or of results.

A page writes

    ```{generated} presets amplify
    randsmooth methods amplify --presets
    ```

Where a page is read without being built, its body says what prints the same.
"""

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from randsmooth.certificates import Certificates, parquet_file
from randsmooth.certificates.evidence import COLUMNS

ROOT = Path(__file__).parents[2]
PAPERS, SCHEMAS = ROOT / "results" / "papers", ROOT / "docs" / "schemas"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*(?:[ =][A-Za-z_]+=?[A-Z_]+)?")
ENTRY = re.compile(r"^ {4}((?:\w+)(?:, \w+)*): (.*(?:\n {8}.*)*)", re.MULTILINE)
WORDS = {"string": "text", "boolean": "true or false", "integer": "whole number"}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; an option is made code, or it would lose a dash."""
    lines = [
        heads,
        ["---"] * len(heads),
        *([cell(text) for text in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def cell(text: str) -> str:
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    parts[::2] = [OPTION.sub(r"`\g<0>`", part) for part in parts[::2]]
    return "`".join(parts)


def entries(kind: type, heading: str = "Attributes") -> list[tuple[list[str], str]]:
    """The names and the text of each entry below a heading of the class's docstring."""
    section = (
        inspect.cleandoc(kind.__doc__ or "")
        .partition(f"{heading}:\n")[2]
        .partition("\n\n")[0]
    )
    return [
        (names.split(", "), " ".join(meaning.split()))
        for names, meaning in ENTRY.findall(section)
    ]


def meanings(kind: type) -> dict[str, str]:
    """Field -> text, of fields that share an entry the same text."""
    return {name: text for names, text in entries(kind) for name in names}


# --- methods --------------------------------------------------------------------------------------------------------


def settings(method: str) -> str:
    """What each setting of `method` does, by the docstring of its class, and its default."""
    from randsmooth.methods import METHODS

    kind = METHODS[method]
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    rows = []
    for names, meaning in entries(kind):
        values = [defaults[name] for name in names]
        shown = (
            "none"
            if value in (dataclasses.MISSING, None)
            else f"`{str(value).lower()}`"
            for value in values
        )
        rows.append(
            (", ".join(f"`{name}`" for name in names), ", ".join(shown), meaning)
        )
    return table(("setting", "default", "what it does"), rows)


def main_presets(method: str) -> str:
    """The presets of main tables, with their values, schedules and sources."""
    from randsmooth.cli.verbs.methods import values_by_sigma
    from randsmooth.training.presets import PRESETS

    def schedule(preset: Any) -> str:
        if preset.optimisation is not None:
            return str(preset.schedule("", "").summary())
        return "the data set's usual one" + (
            "" if preset.batch is None else f", batch {preset.batch}"
        )

    rows = [
        (
            f"`{preset.name}`",
            ", ".join(preset.datasets) if preset.datasets else "any",
            values_by_sigma(preset) or "–",
            schedule(preset),
            preset.source,
        )
        for preset in PRESETS
        if preset.method == method and preset.main
    ]
    return table(("preset", "data sets", "values", "schedule", "source"), rows)


def ablations(method: str) -> str:
    """The rows of ablation tables, those of one table together; empty where the method has none."""
    from randsmooth.training.presets import PRESETS

    varied = [
        preset for preset in PRESETS if preset.method == method and not preset.main
    ]
    rows = []
    for (base, source), group in groupby(
        varied, key=lambda preset: (preset.base, preset.source)
    ):
        members = list(group)
        sigmas = sorted({sigma for preset in members for sigma in preset.by_sigma})
        names = ", ".join(f"`/{preset.variation}`" for preset in members)
        rows.append(
            (f"`{base}`", names, ", ".join(f"{sigma:g}" for sigma in sigmas), source)
        )
    return table(("preset", "followed by", "sigma", "source"), rows) if rows else ""


# --- formats --------------------------------------------------------------------------------------------------------

# The columns that follow from the evidence (`Certificates.derived`).
DERIVED = {
    "predict": ("int64", "certified class; -1 where it abstains"),
    "radius": ("double", "certified radius; 0 where it abstains"),
    "correct": (
        "bool",
        "whether `predict` is `label`; not there for images without labels",
    ),
    "picked": ("int64", "the class that the first samples picked"),
    "n_A": ("int64", "how often that class came out in the samples that bound it"),
    "p_lower": ("double", "lower bound on its probability"),
}


def fields(name: str) -> str:
    """The fields of a format."""
    return (
        columns()
        if name == "parquet"
        else of_schema(json.loads((SCHEMAS / f"{name}.json").read_text()))
    )


def columns() -> str:
    """The columns of a certificate table."""
    said = meanings(Certificates)
    said["path"] = said["paths"]
    kept = [
        (
            f"`{c}`",
            str(parquet_file.type_of(kind)),
            "no" if kind.optional else "yes",
            "yes",
            said[c],
        )
        for c, kind in COLUMNS.items()
    ]
    shown = [
        (f"`{c}`", kind, "no" if c == "correct" else "yes", "no", says)
        for c, (kind, says) in DERIVED.items()
    ]
    return table(
        ("column", "type", "always there", "read back", "meaning"), [*kept, *shown]
    )


def of_schema(whole: dict[str, Any]) -> str:
    """A row for each property of a schema; of a list, of its records; of alternatives, those of each after a line."""
    if whole.get("type") == "array":
        whole = whole["items"]
    if "anyOf" in whole:
        return "\n\n".join(of_schema(each) for each in whole["anyOf"])
    rows = []
    for name, part in whole["properties"].items():
        default = (
            f"`{json.dumps(part['default'], ensure_ascii=False)}`"
            if "default" in part
            else "–"
        )
        default = "*required*" if name in whole.get("required", []) else default
        rows.append((f"`{name}`", type_of(part), default, part.get("description", "")))
    return table(("field", "type", "if left out", "meaning"), rows)


def type_of(part: dict[str, Any]) -> str:
    """The type of a field in words: "number or null"."""
    if "const" in part or "enum" in part:
        return ", ".join(
            f"`{value}`" for value in part.get("enum", [part.get("const")])
        )
    if "$ref" in part:
        return str(part["$ref"]).rpartition("/")[2].lower()
    several = part.get("anyOf", part.get("oneOf"))
    if several is None and isinstance(part.get("type"), list):
        several = [part | {"type": kind} for kind in part["type"]]
    if several is not None:
        return " or ".join(dict.fromkeys(type_of(each) for each in several))
    if part.get("type") == "array" and "items" in part:
        return f"list of {type_of(part['items'])}"
    return WORDS.get(part.get("type", ""), part.get("type", "any"))


# --- papers ---------------------------------------------------------------------------------------------------------


def objects(paper: str) -> str:
    """Every table and figure of a paper: what it shows, what it needs, and what is here of it."""
    from randsmooth.papers import OBJECTS

    made, rows, kept = (
        json.loads((PAPERS / "made.json").read_text())["tables"],
        [],
        cells(),
    )
    ours = kept[kept.here.notna() & kept.object.str.startswith(f"{paper}/")]
    logged = {
        *ours[["dataset", "sigma", "method", "setting"]].itertuples(
            index=False, name=None
        )
    }
    for thing in OBJECTS:
        if thing.name.startswith(f"{paper}/"):
            models, found = len(thing.rows()), made.get(thing.name)
            alone = ", not only their logs" if thing.needs_models else ""
            needs = (
                f"{models} model{'s' * (models != 1)}{alone}"
                if models
                else "nothing: a formula"
            )
            here = "–" if models else "drawn at once"
            if not thing.needs_models and any(row.figures for row in thing.rows()):
                there = sum(
                    (r.dataset, r.sigma, r.method, r.setting) in logged
                    for r in thing.rows()
                )
                here = f"logs of {there} of {models} models" if there else "no logs"
            if found is not None:
                of = "{filled} of {rows} rows; {explained} of {compared} cells as printed".format(
                    **found
                )
                here = of if found["filled"] else "only logs of other runs"
            rows.append((f"`{thing.name}`", thing.title, needs, here))
    return table(("object", "what it shows", "needs", "here"), rows)


def results(name: str) -> str:
    """A table of a paper, its figure over ours, where there are logs; bold: neither rounding nor chance explains it."""
    kept = cells()[lambda table: table.object == name]
    shown = [
        metric
        for metric in kept.metric.unique()
        if metric == "acr" or float(metric[9:]) in (0.0, 0.5, 1.0, 1.5)
    ]

    def beside(row: Any) -> str:
        digits = 3 if row.metric == "acr" else 1
        here = f"{row.here + 1e-9:.{digits}f}"  # rounded half up
        ours = f"**{here}**" if row.explained == False else here  # noqa: E712
        return (
            f"{row.published:.{digits}f} / {ours}"
            if row.published == row.published
            else "–"
        )

    rows = []
    for (sigma, method, setting, images), own in kept.groupby(
        ["sigma", "method", "setting", "images"], sort=False
    ):
        found = {row.metric: beside(row) for row in own.itertuples()}
        rows.append(
            (
                f"{sigma:g}",
                f"{method} {setting}".strip(),
                f"{images:,}",
                *(found.get(m, "–") for m in shown),
            )
        )
    heads = [
        "ACR" if metric == "acr" else f"at {metric.partition('@')[2]}"
        for metric in shown
    ]
    return table(("sigma", "method", "images", *heads), rows)


def cells() -> pd.DataFrame:
    """The cells of the papers' tables, with what the published logs give."""
    return pd.read_csv(PAPERS / "cells.csv").fillna({"setting": ""})


# --- the directive --------------------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[str], str]] = {  # of the word after its name, as Markdown
    "settings": settings,
    "presets": main_presets,
    "ablations": ablations,
    "format": fields,
    "paper-objects": objects,
    "paper-cells": results,
}


def made(words: str) -> str:
    """The Markdown of `NAME ARGUMENT`. Raises KeyError: no such table."""
    name, _, argument = words.strip().partition(" ")
    return TABLES[name](argument.strip())


class Generated(SphinxDirective):
    """`{generated} NAME ARGUMENT`."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(
            made(self.arguments[0]), allow_section_headings=False
        )


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("generated", Generated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
