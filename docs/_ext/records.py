"""Rows of a data file of the repository: of a CSV, of a JSON that is a list of objects, or of a list in one."""

from __future__ import annotations

import csv
import json
import operator
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]
TESTS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}
TEST = re.compile(r"\s*([^=!<>~]+?)\s*(!=|<=|>=|=|<|>|~)\s*(.+?)\s*")


def read(path: Path, within: str = "") -> list[Row]:
    """The rows of `path`; of a JSON those of the list at the dotted place `within`."""
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return [{key: _value(text) for key, text in row.items()} for row in csv.DictReader(file)]
    found = json.loads(path.read_text())
    for part in filter(None, within.split(".")):
        found = found[int(part)] if isinstance(found, list) else found[part]
    if isinstance(found, dict):  # named objects
        found = [{"name": name, **(row if isinstance(row, dict) else {"value": row})} for name, row in found.items()]
    return list(found)


def _value(text: str) -> Any:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        return text


def facts(path: Path) -> str:
    """The command and the machine that a JSON of a benchmark names; empty for other files."""
    about = json.loads(path.read_text()) if path.suffix == ".json" else {}
    if not isinstance(about, dict):
        return ""
    machine = about.get("machine")
    where = (
        ", ".join(part for part in (machine.get("cpu"), machine.get("gpu"), machine.get("instructions")) if part)
        if isinstance(machine, dict)
        else str(machine or "")
    )
    return "; ".join(filter(None, [str(about.get("command") or ""), where]))


def those(rows: Iterable[Row], tests: str) -> list[Row]:
    """The rows that pass all of `tests`, such as `sigma=0.5, name~samples saved` (~: contains)."""
    kept = list(rows)
    for test in filter(None, map(str.strip, tests.split(","))):
        parsed = TEST.fullmatch(test)
        if parsed is None:
            raise ValueError(f"{test!r} must read column=value (or !=, <, >, <=, >=, ~)")
        column, sign, wanted = parsed.groups()
        kept = [row for row in kept if _passes(row.get(column), sign, wanted)]
    return kept


def _passes(value: Any, sign: str, wanted: str) -> bool:
    if sign == "~":
        return wanted in str(value)
    number = _value(wanted)
    if isinstance(value, str) or isinstance(number, str):
        return bool(TESTS[sign](str(value), wanted))
    return value is not None and bool(TESTS[sign](value, number))


def ordered(rows: list[Row], by: str) -> list[Row]:
    """The rows by one column; -column: largest first."""
    column = by.removeprefix("-")
    return sorted(rows, key=lambda row: row[column], reverse=by.startswith("-")) if by else rows
