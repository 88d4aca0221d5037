"""What a graph file that randsmooth wrote says of itself: how its model was trained, and how it was quantised."""

from __future__ import annotations

from typing import Any

from randsmooth.documents import parse_json

KEY = "randsmooth"  # under which an ONNX file's metadata and an OpenVINO IR's runtime information hold it
PARTS = ("trained", "quantised")  # mappings
WEIGHTS = "weights"  # of an IR: the hash of the file beside it


def parse_record(text: str | None, where: str) -> dict[str, Any]:
    """The record in a file, as `where` is called; empty for a file that has none.

    Raises:
        InputError: it is no JSON, or not built as a record is.

    Example:
        >>> parse_record('{"trained": {"sigma": 0.5}}', "net.onnx")
        {'trained': {'sigma': 0.5}}
        >>> parse_record(None, "net.onnx")
        {}
    """
    if text is None:
        return {}
    found = parse_json(text, f"the record in {where}")
    return found if isinstance(found, dict) and all(isinstance(found.get(part, {}), dict) for part in PARTS) else {}


def provenance_in(record: dict[str, Any]) -> dict[str, Any]:
    """How the model was trained, and under `quantised` how its file was made of it.

    Example:
        >>> provenance_in({"trained": {"sigma": 0.5}, "quantised": {"bits": 8}})
        {'sigma': 0.5, 'quantised': {'bits': 8}}
    """
    quantised = {"quantised": record["quantised"]} if record.get("quantised") else {}
    return {**record.get("trained", {}), **quantised}
