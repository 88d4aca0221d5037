"""JSON and YAML from files that may be damaged or malicious.

Only plain values are read, of limited size, and no key twice.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from randsmooth.errors import NotFound, Problem, TooLarge, WrongFile

# The most bytes of one document; a journal's line for ten thousand classes takes less than a
# hundredth.
MOST_BYTES = 2**26

# The most values of JSON, each of which may take a hundred bytes: a standard deviation for
# each coordinate fits.
MOST_VALUES = 2**21

# The most bytes of YAML, which people write: PyYAML takes 17 s for a MiB.
MOST_YAML_BYTES = 2**17

# The most lists and mappings within each other: ours need four.
MOST_DEPTH = 32

# The most digits of a number in YAML: no double has more that count, and base 60 takes time.
MOST_DIGITS = 64

# The most characters of a parser's words that are shown.
MOST_SHOWN = 200

TAG = "tag:yaml.org,2002:"
PLAIN = {
    f"{TAG}{kind}"
    for kind in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map")
}

# A whole number of fewer digits is a float, too.
TOO_LONG_NUMBER = re.compile(rb"[0-9]{302}")


def read_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return what the file at `path` holds.

    Raises:
        NotFound: there is no file.
        WrongFile: it cannot be read, or holds more than `most` bytes.
    """
    try:
        # A pipe or a device may have no end.
        if not path.is_file():
            raise NotFound(f"no file at {path}", file=path)
        _check_size(path.stat().st_size, path, most)
        return path.read_bytes()
    except OSError as error:
        raise WrongFile(f"{path} cannot be read ({shown(error)})", file=path) from None


def parse_json(text: bytes | str, where: object) -> Any:
    """Return what the JSON document `text` says.

    Args:
        text: UTF-8.
        where: what to call it in an error: its file, and the place in it.

    Raises:
        WrongFile: it is no JSON, or what JSON leaves open: a key given twice, half a
            character, NaN, infinity or a number of more than 300 digits; or it is nested
            deeper than MOST_DEPTH, or longer than MOST_BYTES.
        TooLarge: it has more than MOST_VALUES values.
    """
    raw = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    _check_size(len(raw), where)
    opened = raw.count(b"[") + raw.count(b"{")
    # There are no more; a text may hold such letters, too.
    values = raw.count(b",") + opened
    if values > MOST_VALUES:
        raise TooLarge(
            f"{where} holds up to {values:,} values; expected at most {MOST_VALUES:,}",
            file=where,
        )
    try:
        if TOO_LONG_NUMBER.search(raw):
            raise ValueError("it has a number of more than 300 digits")
        value = json.loads(raw.decode(), object_pairs_hook=_object)
        # It fails at half a character, NaN and infinity.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        if opened > MOST_DEPTH and _depth(value) > MOST_DEPTH:
            raise RecursionError
        return value
    except RecursionError:
        raise _too_deep(where) from None
    except ValueError as error:
        # JSONDecodeError, UnicodeDecodeError and UnicodeEncodeError are such, too.
        raise WrongFile(f"{where} is not JSON ({shown(error)})", file=where) from None


def parse_yaml(text: bytes | str, where: object, most: int = MOST_YAML_BYTES) -> Any:
    """Return what the YAML document `text` says.

    That is texts, numbers, booleans, null, lists and mappings alone. A date is the text
    that it is written as: no setting of ours is a date, and folders are called by one.

    Args:
        text: as for `parse_json`.
        where: as for `parse_json`.
        most: bytes that it may have.

    Raises:
        WrongFile: as for `parse_json`; or it uses an alias of an anchor, by which a short
            text can grow without bound, a key that is no word, or a value of another kind.

    Example:
        >>> parse_yaml("out: 2024-05-01", "run.yaml")
        {'out': '2024-05-01'}
    """
    _check_size(len(text), where, most)
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        if node is None:
            return None
        _check_node(node, where, set())
        value = _Plain().construct_document(node)
        # It fails at half a character.
        json.dumps(value, ensure_ascii=False, default=str).encode()
        return value
    except Problem:
        raise
    except RecursionError:
        raise _too_deep(where) from None
    except Exception as error:
        # YAML's errors, and Python's for `!!int ''` or 0000-00-00.
        raise WrongFile(f"{where} is not YAML ({shown(error)})", file=where) from None


def shown(error: object) -> str:
    """Return a parser's words on one line, without control characters.

    They are cut where they would flood a terminal.
    """
    printable = "".join(c if c.isprintable() else " " for c in str(error))
    words = " ".join(printable.split())
    if len(words) > MOST_SHOWN:
        return words[: MOST_SHOWN - 1] + "…"
    return words


@contextmanager
def refused(
    what: str, kinds: type[Exception] | tuple[type[Exception], ...] = Exception
) -> Iterator[None]:
    """Turn an error of these `kinds` in the block into a WrongFile.

    Args:
        what: the beginning of its message; the error's words follow.
        kinds: of errors.

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
            f"{where} is {size:,} bytes long; expected at most {most:,}: it is damaged or "
            "no file of ours",
            file=where,
        )


def _too_deep(where: object) -> Problem:
    return WrongFile(
        f"{where} is nested deeper than {MOST_DEPTH} levels: it is damaged or no file of "
        "ours",
        file=where,
    )


def _depth(value: Any) -> int:
    """Return how many lists and mappings lie within each other."""
    if not isinstance(value, list | dict):
        return 0
    parts = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, parts), default=0)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the mapping with these keys and values, and refuse a key given twice."""
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"the key {key!r} is given twice")
        mapping[key] = value
    return mapping


class _Plain(yaml.constructor.SafeConstructor):
    """Makes plain values of YAML.

    Its other kinds (sets, bytes, ordered maps) are refused by `_check_node`.
    """

    yaml_constructors = yaml.constructor.SafeConstructor.yaml_constructors | {
        f"{TAG}timestamp": yaml.constructor.SafeConstructor.construct_yaml_str
    }


def _check_node(node: yaml.Node, where: object, seen: set[int], depth: int = 0) -> None:
    """Check a part of a YAML document, and all parts of it.

    Args:
        node: the part.
        where: what to call the document in an error.
        seen: the parts that were checked: an anchor gives one of them a second time.
        depth: how many others the part lies in.
    """
    if depth > MOST_DEPTH:
        raise _too_deep(where)
    if id(node) in seen:
        raise WrongFile(
            f"{where} uses YAML anchors (& and *): write their content instead",
            file=where,
        )
    seen.add(id(node))
    if node.tag not in PLAIN:
        raise ValueError(
            f"{node.tag} is not a plain value: write texts, numbers, true, false, "
            "null, lists and mappings"
        )
    parts: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        _check_keys([key for key, _ in node.value])
        parts = [value for _, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        parts = node.value
    else:
        _check_number(node)
    for part in parts:
        _check_node(part, where, seen, depth + 1)


def _check_keys(keys: list[yaml.Node]) -> None:
    """Check that keys are different plain words: YAML itself would take the last of two."""
    words = []
    for key in keys:
        if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
            raise ValueError("a key must be a plain word")
        words.append((str(key.value), None))
    _object(words)


def _check_number(node: yaml.Node) -> None:
    """Check that a number is not too long to be read."""
    is_number = node.tag.endswith((":int", ":float"))
    if is_number and len(node.value) > MOST_DIGITS:
        raise ValueError(f"{node.value[:MOST_DIGITS]} is too long a number")
