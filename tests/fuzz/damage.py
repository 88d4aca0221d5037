"""Damage to bytes that know nothing of their format: what disks, networks and editors do."""

from __future__ import annotations

import re
from collections.abc import Callable

from fuzz.draw import TEXTS, Draw

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
MOST_AT_ONCE = 4  # wounds


def damaged(content: bytes, other: bytes, draw: Draw) -> bytes:
    """`content` with a few wounds; `other` is a valid file of the same kind, to splice with.

    Most have one: readers see through many more easily than through few.
    """
    for _ in range(1 if draw.chance(0.75) else 2 + draw.below(MOST_AT_ONCE - 1)):
        content = draw.pick(WAYS)(content, other, draw)
    return content


def _place(content: bytes, draw: Draw) -> tuple[int, int]:
    """Start and end of a block: short mostly, and long sometimes."""
    start = draw.below(len(content))
    most = draw.pick((1, 4, 16, 256, len(content)))
    return start, min(len(content), start + 1 + draw.below(most))


def flip(content: bytes, other: bytes, draw: Draw) -> bytes:
    """One bit."""
    raw, bit = bytearray(content), draw.below(8 * len(content))
    if raw:
        raw[bit // 8] ^= 1 << bit % 8
    return bytes(raw)


def change(content: bytes, other: bytes, draw: Draw) -> bytes:
    """One byte, to another or to one that formats set store by."""
    raw = bytearray(content)
    if raw:
        raw[draw.below(len(raw))] = draw.pick((draw.below(256), 0, 255, 127, 128, *b'\n\t"0-.{}[],:'))
    return bytes(raw)


def field(content: bytes, other: bytes, draw: Draw) -> bytes:
    """Some bytes, to a number that formats have as a size, an offset or a count."""
    at, size = draw.below(len(content)), draw.pick((1, 2, 4, 8))
    number = draw.pick((0, 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), 2 ** (8 * size - 1) - 1, 10**6, 10**9, 65_536))
    raw: bytes = (number % 2 ** (8 * size)).to_bytes(size, draw.pick(("little", "big")))
    return content[:at] + raw + content[at + size :]


def cut(content: bytes, other: bytes, draw: Draw) -> bytes:
    return content[: draw.below(len(content))]


def insert(content: bytes, other: bytes, draw: Draw) -> bytes:
    at = draw.below(len(content) + 1)
    filling = draw.pick((draw.bytes(1 + draw.below(16)), bytes(1 + draw.below(256)), b"\n", b"\t", b"\xef\xbb\xbf"))
    return content[:at] + filling + content[at:]


def remove(content: bytes, other: bytes, draw: Draw) -> bytes:
    start, end = _place(content, draw)
    return content[:start] + content[end:]


def double(content: bytes, other: bytes, draw: Draw) -> bytes:
    start, end = _place(content, draw)
    return content[:end] + content[start:end] + content[end:]


def swap(content: bytes, other: bytes, draw: Draw) -> bytes:
    """Two neighbouring blocks."""
    first, middle = _place(content, draw)
    last = min(len(content), middle + (middle - first))
    return content[:first] + content[middle:last] + content[first:middle] + content[last:]


def blank(content: bytes, other: bytes, draw: Draw) -> bytes:
    """A run of zeros, as a lost block of a disk reads."""
    start, end = _place(content, draw)
    return content[:start] + bytes(end - start) + content[end:]


def splice(content: bytes, other: bytes, draw: Draw) -> bytes:
    """The beginning of one valid file, and the end of another."""
    return content[: draw.below(len(content) + 1)] + other[draw.below(len(other) + 1) :]


def graft(content: bytes, other: bytes, draw: Draw) -> bytes:
    """A block of another valid file in the same place."""
    start, end = _place(content, draw)
    return content[:start] + other[start:end] + content[end:]


def renumber(content: bytes, other: bytes, draw: Draw) -> bytes:
    """Another number in place of one that is written out."""
    found = list(NUMBER.finditer(content))
    if not found:
        return flip(content, other, draw)
    place = draw.pick(found)
    number = draw.number() if draw.chance(0.7) else draw.pick(TEXTS)
    said = str(number).encode(errors="surrogatepass")
    return content[: place.start()] + said + content[place.end() :]


def line(content: bytes, other: bytes, draw: Draw) -> bytes:
    """A line lost, doubled, moved, or taken from another valid file."""
    lines, others = content.splitlines(keepends=True), other.splitlines(keepends=True)
    if not lines:
        return content
    at, to = draw.below(len(lines)), draw.below(len(lines))
    way = draw.below(4)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(to, lines[at])
    elif way == 2:
        lines.insert(to, lines.pop(at))
    elif others:
        lines[at] = draw.pick(others)
    return b"".join(lines)


Way = Callable[[bytes, bytes, Draw], bytes]
WAYS: tuple[Way, ...] = (
    *(
        flip,
        flip,
        flip,
        change,
        change,
        field,
        field,
        cut,
        insert,
        remove,
        double,
        swap,
        blank,
        splice,
        graft,
        renumber,
        line,
    ),
)
