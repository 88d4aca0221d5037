"""Every table that a page takes from the code or from `results/`, by the name that the page calls it by.

A page writes

    ```{generated} presets amplify
    randsmooth methods amplify --presets
    ```

and the build puts the table in its place. Where a page is read without being built, its body says what prints the same.
"""

from __future__ import annotations

from collections.abc import Callable

import format_tables
import method_tables
import paper_tables

Table = Callable[[str], str]  # of the words after its name, as Markdown

TABLES: dict[str, Table] = {
    "settings": method_tables.settings,
    "presets": method_tables.main_presets,
    "ablations": method_tables.ablations,
    "methods": method_tables.compared,
    "training-run": method_tables.how_trained,
    "format": format_tables.fields,
    "paper-objects": paper_tables.objects,
    "paper-cells": paper_tables.results,
    "paper-others": paper_tables.others,
    "paper-mnist": paper_tables.on_mnist,
    "paper-at-scale": paper_tables.at_scale,
}


def made(words: str) -> str:
    """The Markdown of `NAME ARGUMENT`.

    Raises:
        KeyError: no such table.
    """
    name, _, argument = words.strip().partition(" ")
    return TABLES[name](argument.strip())
