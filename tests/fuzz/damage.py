"""Seeded choices and the values to try; and damage to bytes that know nothing of their format.

Such as disks, networks and editors do.
"""

import math
import re
from collections.abc import Sequence
from random import Random
from typing import Any, Literal, TypeVar

T = TypeVar("T")

NUMBERS: tuple[Any, ...] = (
    *(0, -0.0, 1, -1, 2, 3, 10, 255, 256, 1_000, 10_000, 10**6, 10**9),
    *(
        2**31 - 1,
        2**31,
        2**53,
        2**63 - 1,
        2**63,
        -(2**63) - 1,
        2**64,
        10**18,
        10**30,
        10**400,
    ),
    *(0.5, -0.5, 1e-300, 5e-324, 1e-9, 1.0, 1e9, 1e18, 1e300, 1.7976931348623157e308),
    *(math.nan, math.inf, -math.inf, True, False, None),
)
TEXTS = (
    *(
        "",
        " ",
        "\0",
        "\n",
        "\x1b[2J",
        "\ud800",
        "\N{RIGHT-TO-LEFT OVERRIDE}x",
        "NaN",
        "-inf",
        "1e999",
        "9" * 5_000,
    ),
    *(
        "é" * 50,
        "a" * 100_000,
        "../../etc/passwd",
        "/dev/zero",
        "None",
        "true",
        "1",
        "1.5",
        "0x10",
        "~",
        "[",
        "{",
        '"',
    ),
    *(
        "fixed",
        "grid",
        "grid=1e-9",
        "grid=0",
        "radius=1e9",
        "radius=nan",
        "dense=1e-12",
        "dense=1e9",
    ),
    *(
        "anytime=1e300",
        "grid=1e-300",
        "two-sided",
        "randomised",
        "resnet8",
        "resnet9998",
        "small-cnn",
        "cuda",
    ),
)
DEPTHS = (40, 400, 1_000, 5_000, 100_000)  # of brackets within each other
_NESTED = [
    text
    for depth in DEPTHS
    for text in ("[" * depth + "]" * depth, '{"a":' * depth + "0" + "}" * depth)
]
# What a plain value cannot say: names of these sentences stand in values, and their text is put in their places.
JSON = (
    *_NESTED,
    "[" * 100_000,
    "NaN",
    "Infinity",
    "1e999",
    "9" * 5_000,
    '{"a": 1, "a": 2}',
    "01",
    "'x'",
    "",
)
YAML = (
    *_NESTED,
    *(
        "!!int ''",
        "!!float ''",
        "!!timestamp ''",
        "!!bool ''",
        "!!binary '*'",
        "!!null x",
        "!!set {a}",
        "!!omap [1]",
    ),
    *(
        "0000-00-00",
        "2001-13-45",
        "2001-01-01 99:99:99",
        "!!timestamp 2001-02-30",
        "190:20:30",
        "0o8",
        "0b2",
        "1_0",
    ),
    *(
        "&a [*a]",
        "&a {b: *a}",
        "*nothing",
        "{<<: {a: 1}}",
        "? [a]",
        "!!python/object:os.system x",
        "!unknown x",
    ),
    *(
        ".inf",
        "-.inf",
        ".nan",
        "1e3",
        "=",
        "%",
        "@x",
        "\t- x",
        "|2\n  a",
        "'",
        '"\\x',
        "{a: 1, a: 2}",
        "yes",
        "off",
    ),
)


class Draw:
    """A source of choices that is the same for the same address, wherever and whenever it is made."""

    def __init__(self, run: int, *address: object) -> None:
        self.random = Random("/".join(map(str, (run, *address))))

    def below(self, end: int) -> int:
        return self.random.randrange(end) if end > 0 else 0

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def bytes(self, count: int) -> bytes:
        return self.random.randbytes(count)

    def value(self, depth: int = 3) -> Any:
        """A number, a text, or a nest of them."""
        way = self.below(3)
        if way < 2 or depth == 0:
            return self.pick((NUMBERS, TEXTS)[way % 2])
        inner = [self.value(depth - 1) for _ in range(self.below(4))]
        return (
            inner
            if self.chance(0.5)
            else {str(self.pick(TEXTS[:12])): each for each in inner}
        )


MARKS = b'\n\t"0-.{}[],:'
ORDERS: tuple[Literal["little", "big"], ...] = ("little", "big")
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
WAYS = (
    "flip",
    "flip",
    "change",
    "field",
    "block",
    "block",
    "swap",
    "insert",
    "splice",
    "renumber",
    "line",
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
    end = min(
        len(content), start + 1 + draw.below(draw.pick((1, 4, 16, 256, len(content))))
    )  # mostly short
    before, block, after = content[:start], content[start:end], content[end:]
    match way:
        case "flip":  # one bit
            return (
                before
                + bytes([content[start] ^ 1 << draw.below(8)])
                + content[start + 1 :]
            )
        case "change":  # one byte, to another or to one that formats set store by
            return (
                before
                + bytes([draw.pick((draw.below(256), 0, 255, 127, 128, *MARKS))])
                + content[start + 1 :]
            )
        case "field":  # a number that formats have as a size, an offset or a count
            size = draw.pick((1, 2, 4, 8))
            top: int = 2 ** (8 * size)
            number = (
                draw.pick((0, 1, top - 1, top // 2, top // 2 - 1, 10**6, 10**9, 65_536))
                % top
            )
            return (
                before
                + number.to_bytes(size, draw.pick(ORDERS))
                + content[start + size :]
            )
        case "block":  # lost, twice, blank as of a broken disk, or another valid file's
            return (
                before
                + draw.pick((b"", block + block, bytes(len(block)), other[start:end]))
                + after
            )
        case "swap":  # two neighbouring blocks
            last = min(len(content), end + len(block))
            return before + content[end:last] + block + content[last:]
        case "insert":
            filling = (
                draw.bytes(1 + draw.below(16)),
                bytes(1 + draw.below(256)),
                b"\n",
                b"\t",
                b"\xef\xbb\xbf",
            )
            return before + draw.pick(filling) + content[start:]
        case "splice":  # a beginning, alone or with the end of another valid file
            return before + draw.pick((b"", other[draw.below(len(other) + 1) :]))
        case "renumber" if found := list(
            NUMBER.finditer(content)
        ):  # another number for one that is written out
            place, said = (
                draw.pick(found),
                str(draw.pick(NUMBERS if draw.chance(0.7) else TEXTS)),
            )
            return (
                content[: place.start()]
                + said.encode(errors="surrogatepass")
                + content[place.end() :]
            )
    lines, others = content.splitlines(keepends=True), other.splitlines(keepends=True)
    at = draw.below(
        len(lines)
    )  # a line is lost, doubled, moved, or another valid file's
    lines[at : at + 1] = draw.pick(
        ([], [lines[at]] * 2, lines[at : at + 2][::-1], others[at : at + 1])
    )
    return b"".join(lines)
