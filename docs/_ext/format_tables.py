"""Tables of the page on file formats: field by field, from the schemas and from what readers expect."""

from __future__ import annotations

import json
from typing import Any

from field_docs import described
from markdown_rows import table
from schemas import schema

from randsmooth.certificates import Certificates
from randsmooth.certificates.parquet import OPTIONAL, TYPES

HEADS = ("field", "type", "if left out", "meaning")


def fields(name: str) -> str:
    """The fields of a format."""
    return parquet() if name == "parquet" else of_schema(schema(name))


def of_schema(whole: dict[str, Any]) -> str:
    """A row for each property of a schema; of a list, of its records; of alternatives, those of each after a line."""
    if whole.get("type") == "array":
        return of_schema(whole["items"] | {"$defs": whole.get("$defs", {})})
    if "anyOf" in whole:
        return "\n\n".join(of_schema(each) for each in whole["anyOf"])
    required = whole.get("required", [])
    rows = [
        (f"`{name}`", type_of(part), _default(name, part, required), part.get("description", ""))
        for name, part in whole["properties"].items()
    ]
    return table(HEADS, rows)


def type_of(part: dict[str, Any]) -> str:
    """The type of a field in words.

    Example:
        >>> type_of({"anyOf": [{"type": "number"}, {"type": "null"}]})
        'number or null'
    """
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    if "$ref" in part:
        return part["$ref"].rpartition("/")[2].lower()
    several = part.get("anyOf", part.get("oneOf"))
    if several is None and isinstance(part.get("type"), list):
        several = [part | {"type": kind} for kind in part["type"]]
    if several is not None:
        return " or ".join(dict.fromkeys(type_of(each) for each in several))
    if part.get("type") == "array" and "items" in part:
        return f"list of {type_of(part['items'])}"
    if part.get("type") == "object" and isinstance(part.get("additionalProperties"), dict):
        return f"object of {type_of(part['additionalProperties'])}"
    return WORDS.get(part.get("type", ""), part.get("type", "any"))


WORDS = {"string": "text", "boolean": "true or false", "integer": "whole number"}


def _default(name: str, part: dict[str, Any], required: list[str]) -> str:
    if name in required:
        return "*required*"
    return f"`{json.dumps(part['default'], ensure_ascii=False)}`" if "default" in part else "–"


# The columns that follow from the evidence (`Certificates.derived`).
DERIVED = {
    "predict": ("int64", "certified class; -1 where it abstains"),
    "radius": ("double", "certified L2 radius, for pixels in [0, 1]; 0 where it abstains"),
    "correct": ("bool", "whether `predict` is `label`; not there for images without labels"),
    "picked": ("int64", "the class that the first samples picked"),
    "n_A": ("int64", "how often that class came out in the samples that bound it"),
    "p_lower": ("double", "lower bound on its probability"),
}


def parquet() -> str:
    """The columns of a certificate table."""
    said = described(Certificates) | {"path": described(Certificates)["paths"]}
    kept = [
        (f"`{name}`", str(kind), "no" if name in OPTIONAL else "yes", "yes", said[name]) for name, kind in TYPES.items()
    ]
    labelled = {"correct": "no"}
    shown = [(f"`{name}`", kind, labelled.get(name, "yes"), "no", says) for name, (kind, says) in DERIVED.items()]
    return table(("column", "type", "always there", "read back", "meaning"), [*kept, *shown])
