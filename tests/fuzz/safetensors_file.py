"""Safetensors files taken apart and put together: a length, a header in JSON, and the tensors' bytes."""

from __future__ import annotations

import json
import struct
from typing import Any

from fuzz.draw import Draw
from fuzz.plain import bent, to_json

NOT_FINITE = (struct.pack("<f", float("nan")), struct.pack("<f", float("inf")), b"\xff\xff\x7f\x7f")


def parts(content: bytes) -> tuple[dict[str, Any], bytes]:
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def joined(header: bytes, body: bytes) -> bytes:
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + body


def rewritten(content: bytes, draw: Draw) -> bytes:
    """Another header before the same bytes, another number among them, or fewer or more of them."""
    header, body = parts(content)
    way = draw.below(4)
    if way == 0:
        return joined(json.dumps(header).encode(), with_number(body, draw))
    if way == 1:
        return joined(json.dumps(header).encode(), body[: draw.below(len(body))] + draw.bytes(draw.below(64)))
    return joined(to_json(bent(header, draw), draw), body)


def with_number(body: bytes, draw: Draw) -> bytes:
    """One float32 of the tensors, to NaN, infinity or the largest there is."""
    at = 4 * draw.below(len(body) // 4)
    return body[:at] + draw.pick(NOT_FINITE) + body[at + 4 :]
