"""Damage to bytes that know nothing of their format: what disks, networks and editors do."""

from __future__ import annotations

import re

from fuzz.draw import TEXTS, Draw

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
WAYS = (
    *("flip", "flip", "flip", "change", "change", "field", "field", "cut", "insert", "remove", "double", "swap"),
    *("blank", "splice", "graft", "renumber", "line"),
)


def damaged(content: bytes, other: bytes, draw: Draw) -> bytes:
    """`content` with a few wounds; `other` is a valid file of the same kind, to splice with.

    Most have one: readers see through many more easily than through few.
    """
    for _ in range(1 if draw.chance(0.75) else 2 + draw.below(3)):
        content = wounded(content, other, draw.pick(WAYS), draw)
    return content


def wounded(content: bytes, other: bytes, way: str, draw: Draw) -> bytes:
    """`content` with one wound."""
    if not content:
        return draw.bytes(1 + draw.below(16)) if way == "insert" else content
    start = draw.below(len(content))
    end = min(len(content), start + 1 + draw.below(draw.pick((1, 4, 16, 256, len(content)))))  # mostly short
    before, block, after = content[:start], content[start:end], content[end:]
    match way:
        case "flip":  # one bit
            return before + bytes([content[start] ^ 1 << draw.below(8)]) + content[start + 1 :]
        case "change":  # one byte, to another or to one that formats set store by
            byte: int = draw.pick((draw.below(256), 0, 255, 127, 128, *b'\n\t"0-.{}[],:'))
            return before + bytes([byte]) + content[start + 1 :]
        case "field":  # a number that formats have as a size, an offset or a count
            size: int = draw.pick((1, 2, 4, 8))
            top = 2 ** (8 * size)
            number: int = draw.pick((0, 1, top - 1, top // 2, top // 2 - 1, 10**6, 10**9, 65_536)) % top
            return before + number.to_bytes(size, draw.pick(("little", "big"))) + content[start + size :]
        case "cut":
            return before
        case "insert":
            filling = (draw.bytes(1 + draw.below(16)), bytes(1 + draw.below(256)), b"\n", b"\t", b"\xef\xbb\xbf")
            return before + bytes(draw.pick(filling)) + content[start:]
        case "remove":
            return before + after
        case "double":
            return before + block + block + after
        case "swap":  # two neighbouring blocks
            last = min(len(content), end + (end - start))
            return before + content[end:last] + block + content[last:]
        case "blank":  # as a lost block of a disk reads
            return before + bytes(end - start) + after
        case "splice":  # the beginning of one valid file, and the end of another
            return before + other[draw.below(len(other) + 1) :]
        case "graft":  # a block of another valid file in the same place
            return before + other[start:end] + after
        case "renumber" if found := list(NUMBER.finditer(content)):  # another number for one that is written out
            place, said = draw.pick(found), str(draw.number() if draw.chance(0.7) else draw.pick(TEXTS))
            return content[: place.start()] + said.encode(errors="surrogatepass") + content[place.end() :]
    return relined(content, other, draw)


def relined(content: bytes, other: bytes, draw: Draw) -> bytes:
    """A line lost, doubled, moved, or taken from another valid file."""
    lines, others = content.splitlines(keepends=True), other.splitlines(keepends=True)
    at, to, way = draw.below(len(lines)), draw.below(len(lines)), draw.below(4)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(to, lines[at])
    elif way == 2:
        lines.insert(to, lines.pop(at))
    elif others:
        lines[at] = draw.pick(others)
    return b"".join(lines)


def recelled(content: bytes, mark: bytes, draw: Draw) -> bytes:
    """A table of text with a cell of another number or text, or with two cells or columns exchanged."""
    rows = [line.split(mark) for line in content.splitlines()]
    row, other, way = draw.pick(rows), draw.pick(rows), draw.below(4)
    at, to = draw.below(len(row)), draw.below(len(row))
    if way == 0:
        for each in rows:
            one, two = at % len(each), to % len(each)
            each[one], each[two] = each[two], each[one]
    elif way == 1:
        row[at] = other[at % len(other)]
    else:
        row[at] = str(draw.number()).encode() if way == 2 else draw.text()
    return b"\n".join(map(mark.join, rows)) + b"\n"
