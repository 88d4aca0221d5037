"""Changes to plain values (what JSON and YAML say), and their text: wrong types, huge numbers, doubled keys."""

from __future__ import annotations

import json
from typing import Any

import yaml

from fuzz.draw import JSON, YAML, Draw, Words


def bent(value: Any, draw: Draw, words: Words = JSON) -> Any:
    """`value` with one to three places of it changed."""
    for _ in range(1 if draw.chance(0.7) else 2 + draw.below(2)):
        value = _bent(value, draw, words)
    return value


def _bent(value: Any, draw: Draw, words: Words) -> Any:
    if isinstance(value, dict) and value and draw.chance(0.95):
        return _mapping(dict(value), draw, words)
    if isinstance(value, list | tuple) and len(value) and draw.chance(0.8):
        return _sequence(list(value), draw, words)
    return _other(value, draw, words)


def _mapping(value: dict[Any, Any], draw: Draw, words: Words) -> dict[Any, Any]:
    key = draw.pick(list(value))
    way = draw.below(12)
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


def _sequence(value: list[Any], draw: Draw, words: Words) -> list[Any]:
    at = draw.below(len(value))
    way = draw.below(8)
    if way == 0:
        del value[at]
    elif way == 1:
        value.insert(at, value[at])
    elif way == 2:
        value.reverse()
    elif way == 3:
        value *= draw.pick((2, 50, 1_000))
    else:
        value[at] = _bent(value[at], draw, words)
    return value


def _other(value: Any, draw: Draw, words: Words) -> Any:
    """Something in place of a value: like it, of another type, or what only the text can say."""
    near: list[Any] = [[value], {"a": value}, str(value)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        near += [-value, value + 1, value - 1, value * 2, value * 10**6, float(value), value / 2]
    if isinstance(value, str):
        near += [value + "x", value.upper(), value[:-1], value[::-1], value * 100]
    way = draw.below(4)
    if way == 0:
        return draw.pick(near)
    if way == 1:
        return words.name(draw.below(len(words.said)))
    return draw.value()


def to_json(value: Any, draw: Draw) -> bytes:
    """JSON of `value`, which may hold NaN and names of `JSON`'s words; at times with a key given twice."""
    text = json.dumps(value, default=str)
    if isinstance(value, dict) and value and draw.chance(0.05):
        text = "{" + json.dumps({draw.pick(list(value)): draw.value()}, default=str)[1:-1] + "," + text[1:]
    return JSON.put_into(text).encode()


def to_yaml(value: Any, draw: Draw) -> bytes:
    """YAML of `value`, likewise."""
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    if isinstance(value, dict) and value and draw.chance(0.1):
        text += f"{draw.pick(list(value))}: {draw.pick(YAML.said)}\n"
    return YAML.put_into(text).encode(errors="surrogatepass")
