"""JSON and YAML from files that may be damaged or malicious: only plain values, of limited size, and no key twice."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from randsmooth.errors import NotFound, Problem, TooLarge, WrongFile

MOST_BYTES = (
    2**26
)  # of one document; a journal's line for ten thousand classes takes less than a hundredth
MOST_VALUES = (
    2**21
)  # of JSON, each of which may take a hundred bytes: a standard deviation for each coordinate fits
MOST_YAML_BYTES = 2**17  # of YAML, which people write: PyYAML takes 17 s for a MiB
MOST_DEPTH = 32  # lists and mappings within each other: ours need four
MOST_DIGITS = (
    64  # of a number in YAML: no double has more that count, and base 60 takes time
)
SHOWN = 200  # characters of a parser's words

TAG = "tag:yaml.org,2002:"
PLAIN = {
    f"{TAG}{kind}"
    for kind in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map")
}

_LONG = re.compile(rb"[0-9]{302}")  # digits: a whole number of fewer is a float, too


def read_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """What the file at `path` holds.

    Raises:
        Problem: there is no file, or one that cannot be read or holds more than `most` bytes.
    """
    try:
        if not path.is_file():  # nor a pipe or a device, which may have no end
            raise NotFound(f"no file at {path}", file=path)
        _check_size(path.stat().st_size, path, most)
        return path.read_bytes()
    except OSError as error:
        raise WrongFile(f"{path} cannot be read ({shown(error)})", file=path) from None


def parse_json(text: bytes | str, where: object) -> Any:
    """What the JSON document `text` says.

    Args:
        text: UTF-8.
        where: what to call it in an error: its file, and the place in it.

    Raises:
        Problem: it is no JSON, or what JSON leaves open: a key given twice, half a character, NaN, infinity or a
            number of more than 300 digits; or it is nested deeper than MOST_DEPTH, longer than MOST_BYTES, or of more
            than MOST_VALUES values.
    """
    raw = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    _check_size(len(raw), where)
    values = sum(
        map(raw.count, (b",", b"[", b"{"))
    )  # at most; a text may hold some, too
    if values > MOST_VALUES:
        raise TooLarge(
            f"{where} holds up to {values:,} values; expected at most {MOST_VALUES:,}",
            file=where,
        )
    try:
        if _LONG.search(raw):
            raise ValueError("it has a number of more than 300 digits")
        value = json.loads(raw.decode(), object_pairs_hook=_object)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        if (
            raw.count(b"[") + raw.count(b"{") > MOST_DEPTH
            and _depth(value) > MOST_DEPTH
        ):
            raise RecursionError
        return value
    except RecursionError:
        raise _too_deep(where) from None
    except (
        ValueError
    ) as error:  # JSONDecodeError, UnicodeDecodeError and UnicodeEncodeError among them
        raise WrongFile(f"{where} is not JSON ({shown(error)})", file=where) from None


def parse_yaml(text: bytes | str, where: object, most: int = MOST_YAML_BYTES) -> Any:
    """What the YAML document `text` says, in texts, numbers, booleans, null, lists and mappings alone.

    A date is the text that it is written as: no setting of ours is a date, and folders are called by one.

    Args:
        text, where: as for `parse_json`.
        most: bytes that it may have.

    Raises:
        Problem: as `parse_json`; or it uses an alias of an anchor, by which a
            short text can grow without bound, a key that is no word, or a value of another kind.

    Example:
        >>> parse_yaml("out: 2024-05-01", "run.yaml")
        {'out': '2024-05-01'}
    """
    _check_size(len(text), where, most)
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        _check_node(node, where, set())
        value = None if node is None else _Plain().construct_document(node)
        json.dumps(
            value, ensure_ascii=False, default=str
        ).encode()  # no half of a character
        return value
    except Problem:
        raise
    except RecursionError:
        raise _too_deep(where) from None
    except (
        Exception
    ) as error:  # of YAML's, and those of Python for `!!int ''` or 0000-00-00
        raise WrongFile(f"{where} is not YAML ({shown(error)})", file=where) from None


def shown(error: object) -> str:
    """A parser's words on one line, cut where they would flood a terminal, without control characters."""
    words = "".join(c if c.isprintable() else " " for c in str(error))
    words = " ".join(words.split())
    return words if len(words) <= SHOWN else words[: SHOWN - 1] + "…"


@contextmanager
def refused(
    what: str, kinds: type[Exception] | tuple[type[Exception], ...] = Exception
) -> Iterator[None]:
    """Turn an error of these `kinds` in the block into a Problem: `what`, and the error's words.

    Example:
        >>> with refused("a.csv is no CSV file in UTF-8", UnicodeDecodeError):
        ...     b"\\xff".decode()
        Traceback (most recent call last):
        randsmooth.errors.WrongFile: a.csv is no CSV file in UTF-8: 'utf-8' codec can't decode byte 0xff ...
    """
    try:
        yield
    except Problem:
        raise
    except kinds as error:
        raise WrongFile(f"{what}: {shown(error) or type(error).__name__}") from error


def _check_size(size: int, where: object, most: int = MOST_BYTES) -> None:
    if size > most:
        raise WrongFile(
            f"{where} is {size:,} bytes long; expected at most {most:,}: it is damaged or no file of ours",
            file=where,
        )


def _too_deep(where: object) -> Problem:
    return WrongFile(
        f"{where} is nested deeper than {MOST_DEPTH} levels: it is damaged or no file of ours",
        file=where,
    )


def _depth(value: Any) -> int:
    """How many lists and mappings lie within each other."""
    if not isinstance(value, list | dict):
        return 0
    return 1 + max(
        map(_depth, value.values() if isinstance(value, dict) else value), default=0
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is given twice")
        found[key] = value
    return found


class _Plain(yaml.constructor.SafeConstructor):
    """Makes plain values of YAML. Its other kinds (sets, bytes, ordered maps) are refused by `_check_node`."""

    yaml_constructors = yaml.constructor.SafeConstructor.yaml_constructors | {
        f"{TAG}timestamp": yaml.constructor.SafeConstructor.construct_yaml_str
    }


def _check_node(
    node: yaml.Node | None, where: object, seen: set[int], depth: int = 0
) -> None:
    """Depth, no part twice, and keys that are different plain words: YAML itself would take the last of two.

    Numbers are no longer than MOST_DIGITS, and values are of the PLAIN kinds.
    """
    if depth > MOST_DEPTH:
        raise _too_deep(where)
    if id(node) in seen:
        raise WrongFile(
            f"{where} uses YAML anchors (& and *): write what they stand for in their place",
            file=where,
        )
    seen.add(id(node))
    if node is not None and node.tag not in PLAIN:
        raise ValueError(
            f"{node.tag} is no plain value: write texts, numbers, true, false, null, lists and mappings"
        )
    if isinstance(node, yaml.MappingNode):
        keys = [
            key.value if isinstance(key, yaml.ScalarNode) else None
            for key, _ in node.value
        ]
        if None in keys or "<<" in keys:
            raise ValueError("a key must be a plain word")
        _object([(str(key), None) for key in keys])
        for _, value in node.value:
            _check_node(value, where, seen, depth + 1)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _check_node(value, where, seen, depth + 1)
    elif (
        node is not None
        and node.tag.endswith((":int", ":float"))
        and len(node.value) > MOST_DIGITS
    ):
        raise ValueError(f"{node.value[:MOST_DIGITS]} is too long a number")
