"""JSON and YAML from files that may be damaged or malicious: only plain values, of limited size, and no key twice."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn

import yaml

from randsmooth.errors import InputError

MOST_BYTES = 2**26  # of one document; a journal's line for ten thousand classes takes less than a hundredth
MOST_DEPTH = 32  # lists and mappings within each other: ours need four
MOST_DIGITS = 64  # of a number in YAML: no double has more that count, and base 60 takes time
MOST_INTEGER = 2**1000  # in magnitude; every one below is a float too, and can be printed
SHOWN = 200  # characters of a parser's words

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # one of the two escapes that JSON writes some characters as
_LONG = re.compile(rb"[0-9]{302}")  # digits of MOST_INTEGER: only then is it worth looking at each whole number
_OPENING = (b"[", b"{")


def read_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """What the file at `path` holds.

    Raises:
        InputError: there is no file, or one that cannot be read or holds more than `most` bytes.
    """
    try:
        if not path.is_file():  # nor a pipe or a device, which may have no end
            raise InputError(f"no file at {path}")
        _check_size(path.stat().st_size, path, most)
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({shown(error)})") from None


def parse_json(text: bytes | str, where: object) -> Any:
    """What the JSON document `text` says.

    Args:
        text: UTF-8.
        where: what to call it in an error: its file, and the place in it.

    Raises:
        InputError: it is no JSON, or what JSON leaves open: a key given twice, half a character, NaN or infinity; or it
            is nested deeper than MOST_DEPTH or longer than MOST_BYTES, which is found out before it is parsed.
    """
    raw = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    _check_size(len(raw), where)
    _check_depth(_json_depth(raw), where)
    try:
        value = json.loads(
            raw.decode(),
            object_pairs_hook=_object,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_integer if _LONG.search(raw) else None,
        )
        if _HALF.search(raw):
            _check_characters(value)
        return value
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError among them
        raise InputError(f"{where} is not JSON ({shown(error)})") from None


def parse_yaml(text: bytes | str, where: object) -> Any:
    """What the YAML document `text` says, in scalars, lists and mappings of strings alone. As `parse_json`.

    Raises:
        InputError: as `parse_json`; or it uses an alias of an anchor, by which a short text can grow without bound, or
            a key that is no word.
    """
    _check_size(len(text), where)
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            _check_node(node, where, set())
            value = None if node is None else loader.construct_document(node)
            _check_characters(value)
            return value
        finally:
            loader.dispose()
    except InputError:
        raise
    except RecursionError:
        _check_depth(MOST_DEPTH + 1, where)
    except Exception as error:  # of YAML's, and those of Python for `!!int ''` or 0000-00-00
        raise InputError(f"{where} is not YAML ({shown(error)})") from None


def shown(error: object) -> str:
    """A parser's words on one line, cut where they would flood a terminal, without control characters."""
    words = "".join(c if c.isprintable() else " " for c in str(error))
    words = " ".join(words.split())
    return words if len(words) <= SHOWN else words[: SHOWN - 1] + "…"


def _check_size(size: int, where: object, most: int = MOST_BYTES) -> None:
    if size > most:
        raise InputError(f"{where} is {size:,} bytes long; expected at most {most:,}: it is damaged or no file of ours")


def _check_characters(value: object) -> None:
    """Raise UnicodeEncodeError, a ValueError, for text that no file or terminal can be given."""
    json.dumps(value, ensure_ascii=False, default=str).encode()


def _check_depth(depth: int, where: object) -> None:
    if depth > MOST_DEPTH:
        raise InputError(f"{where} is nested deeper than {MOST_DEPTH} levels: it is damaged or no file of ours")


def _json_depth(raw: bytes) -> int:
    """How deep brackets nest outside of strings; no more is known of a text with few of them than their number."""
    few = raw.count(b"[") + raw.count(b"{")
    if few <= MOST_DEPTH:
        return few
    depth = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", raw)):
        depth += 1 if bracket in _OPENING else -1
        deepest = max(deepest, depth)
    return deepest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is given twice")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:MOST_DIGITS]} is too large a number")
    return value


def _integer(text: str) -> int:
    value = int(text)
    if abs(value) >= MOST_INTEGER:
        raise ValueError(f"{text[:MOST_DIGITS]} is too large a number")
    return value


def _check_node(node: yaml.Node | None, where: object, seen: set[int], depth: int = 0) -> None:
    """Depth, no part twice, and keys that are different plain words: YAML itself would take the last of two.

    Numbers are no longer than MOST_DIGITS.
    """
    _check_depth(depth, where)
    if id(node) in seen:
        raise InputError(f"{where} uses YAML anchors (& and *): write what they stand for in their place")
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys = [key.value if isinstance(key, yaml.ScalarNode) else None for key, _ in node.value]
        if None in keys or "<<" in keys:
            raise ValueError("a key must be a plain word")
        _object([(str(key), None) for key in keys])
        for _, value in node.value:
            _check_node(value, where, seen, depth + 1)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _check_node(value, where, seen, depth + 1)
    elif node is not None and node.tag.endswith((":int", ":float")) and len(node.value) > MOST_DIGITS:
        raise ValueError(f"{node.value[:MOST_DIGITS]} is too long a number")
