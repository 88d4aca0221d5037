"""Seeded choices and the values to try, and plain values (what JSON and YAML say) with places of them changed."""

from __future__ import annotations

import builtins
import json
import math
from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

import yaml

T = TypeVar("T")

NUMBERS: tuple[Any, ...] = (
    *(0, -0.0, 1, -1, 2, 3, 10, 255, 256, 1_000, 10_000, 10**6, 10**9),
    *(2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**18, 10**30, 10**400),
    *(0.5, -0.5, 1e-300, 5e-324, 1e-9, 1.0, 1e9, 1e18, 1e300, 1.7976931348623157e308),
    *(math.nan, math.inf, -math.inf, True, False, None),
)
TEXTS = (
    *("", " ", "\0", "\n", "\x1b[2J", "\ud800", "\N{RIGHT-TO-LEFT OVERRIDE}x", "NaN", "-inf", "1e999", "9" * 5_000),
    *("é" * 50, "a" * 100_000, "../../etc/passwd", "/dev/zero", "None", "true", "1", "1.5", "0x10", "~", "[", "{", '"'),
    *("fixed", "grid", "grid=1e-9", "grid=0", "radius=1e9", "radius=nan", "dense=1e-12", "dense=1e9"),
    *("anytime=1e300", "grid=1e-300", "two-sided", "randomised", "resnet8", "resnet9998", "small-cnn", "cuda"),
)
DEPTHS = (40, 400, 1_000, 5_000, 100_000)  # of brackets within each other
_NESTED = [text for depth in DEPTHS for text in ("[" * depth + "]" * depth, '{"a":' * depth + "0" + "}" * depth)]
# What a plain value cannot say: names of these sentences stand in values, and their text is put in their places.
JSON = (*_NESTED, "[" * 100_000, "NaN", "Infinity", "1e999", "9" * 5_000, '{"a": 1, "a": 2}', "01", "'x'", "")
YAML = (
    *_NESTED,
    *("!!int ''", "!!float ''", "!!timestamp ''", "!!bool ''", "!!binary '*'", "!!null x", "!!set {a}", "!!omap [1]"),
    *("0000-00-00", "2001-13-45", "2001-01-01 99:99:99", "!!timestamp 2001-02-30", "190:20:30", "0o8", "0b2", "1_0"),
    *("&a [*a]", "&a {b: *a}", "*nothing", "{<<: {a: 1}}", "? [a]", "!!python/object:os.system x", "!unknown x"),
    *(".inf", "-.inf", ".nan", "1e3", "=", "%", "@x", "\t- x", "|2\n  a", "'", '"\\x', "{a: 1, a: 2}", "yes", "off"),
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

    def number(self) -> Any:
        return self.pick(NUMBERS)

    def value(self, depth: int = 3) -> Any:
        """A number, a text, or a nest of them."""
        way = self.below(3)
        if way < 2 or depth == 0:
            return self.pick((NUMBERS, TEXTS)[way % 2])
        inner = [self.value(depth - 1) for _ in range(self.below(4))]
        return inner if self.chance(0.5) else {str(self.pick(TEXTS[:12])): each for each in inner}

    def text(self) -> builtins.bytes:
        return str(self.value()).encode(errors="surrogatepass")


def bent(value: Any, draw: Draw, words: Sequence[str] = JSON) -> Any:
    """`value` with one to three places of it changed."""
    for _ in range(1 if draw.chance(0.7) else 2 + draw.below(2)):
        value = _bent(value, draw, words)
    return value


def _bent(value: Any, draw: Draw, words: Sequence[str]) -> Any:
    if isinstance(value, dict) and value and draw.chance(0.95):
        return _mapping(dict(value), draw, words)
    if isinstance(value, list | tuple) and len(value) and draw.chance(0.8):
        if draw.chance(0.25):
            return draw.pick((2, 50, 1_000)) * list(value) if draw.chance(0.5) else [*value][::-1]
        return [*_mapping(dict(enumerate(value)), draw, words).values()]
    way = draw.below(4)
    if way == 0:
        return draw.pick(_near(value))
    return f"@said {draw.below(len(words))}@" if way == 1 else draw.value()


def _mapping(value: dict[Any, Any], draw: Draw, words: Sequence[str]) -> dict[Any, Any]:
    key, way = draw.pick(list(value)), draw.below(12)
    if way == 0:
        del value[key]
    elif way == 1:
        value[str(draw.value())] = draw.value()
    elif way == 2:
        value[draw.pick((f"{key} ", str(key).upper(), f"\0{key}"))] = value.pop(key)
    elif way == 3:
        value[key] = value[draw.pick(list(value))]
    else:
        value[key] = _bent(value[key], draw, words)
    return value


def _near(value: Any) -> list[Any]:
    near: list[Any] = [[value], {"a": value}, str(value)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        near += [-value, value + 1, value - 1, value * 2, value * 10**6, float(value), value / 2]
    if isinstance(value, str):
        near += [value + "x", value.upper(), value[:-1], value[::-1], value * 100]
    return near


def _said(text: str, words: Sequence[str]) -> bytes:
    for index, word in enumerate(words):
        name = f"@said {index}@"
        for quoted in (f'"{name}"', f"'{name}'", name):
            text = text.replace(quoted, word)
    return text.encode(errors="surrogatepass")


def to_json(value: Any, draw: Draw) -> bytes:
    """JSON of `value`, which may hold NaN and names of words; at times with a key given twice."""
    text = json.dumps(value, default=str)
    if isinstance(value, dict) and value and draw.chance(0.05):
        text = "{" + json.dumps({draw.pick(list(value)): draw.value()}, default=str)[1:-1] + "," + text[1:]
    return _said(text, JSON)


def to_yaml(value: Any, draw: Draw) -> bytes:
    """YAML of `value`, likewise."""
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    if isinstance(value, dict) and value and draw.chance(0.1):
        text += f"{draw.pick(list(value))}: {draw.pick(YAML)}\n"
    return _said(text, YAML)
