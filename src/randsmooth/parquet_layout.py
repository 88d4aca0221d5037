"""What a Parquet file says that it holds, page by page, before any of it is unpacked.

Arrow makes room for what the footer and the headers of pages state. The format packs
equal values into next to nothing, so that a file of a few kB may take gigabytes. Both
are read here as they are stored, in Thrift's compact protocol. The numbers of the
fields are those of parquet.thrift (https://github.com/apache/parquet-format).
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

MAGIC = b"PAR1"

# The length of the footer and MAGIC.
TAIL_BYTES = 8

# What a footer, or the header of a page, may hold: values, and bytes.
MOST_FIELDS = 2**20
MOST_FOOTER_BYTES = 2**26
MOST_HEADER_BYTES = 2**24
DEEPEST = 32

# How many bytes of a page are looked at first, where most headers end.
FIRST_HEADER_BYTES = 2**8

# The largest numbers that the format has room for.
MOST_ROWS = 2**63 - 1
MOST_IN_A_PAGE = 2**31 - 1

# The types of the compact protocol.
TRUE = 1
FALSE = 2
BYTE = 3
INTEGERS = (4, 5, 6)
DOUBLE = 7
BINARY = 8
LIST = 9
SET = 10
MAP = 11
STRUCT = 12
MOST_VARINT_BITS = 70

# The kinds of pages. Each has a header of its own in the page's, which says the number
# of values, and the encoding in a field of its own.
DATA = 0
DICTIONARY = 2
DATA_2 = 3
HEADERS = {DATA: (5, 2), DICTIONARY: (7, 2), DATA_2: (8, 4)}

# Encodings by which a value may repeat another one at no cost: PLAIN_DICTIONARY,
# DELTA_BYTE_ARRAY and RLE_DICTIONARY.
REPEATING = {2, 7, 8}

# What a value takes in memory, at most, beside what the pages hold: a place and a
# length, or a number and its levels.
VALUE_BYTES = 16

Fields = dict[int, Any]


class Misstated(ValueError):
    """A footer or the header of a page that cannot be, or contradicts another one."""


@dataclass(frozen=True)
class Page:
    """What the header of a page says.

    Attributes:
        values: how many, those that are missing included.
        unpacked: its size in bytes, once it is unpacked.
        encoding: by its number in parquet.thrift.
        dictionary: whether its values are those that other pages refer to.
    """

    values: int
    unpacked: int
    encoding: int
    dictionary: bool


@dataclass(frozen=True)
class Chunk:
    """The part of a column in one group of rows, as footer and headers of pages say.

    Attributes:
        column: the name of the column, of a nested one its first.
        values: how many, of a nested one those of all rows.
        pages: its pages, in order.
    """

    column: str
    values: int
    pages: tuple[Page, ...]

    @property
    def unpacked(self) -> int:
        """The bytes of all of its pages, once they are unpacked."""
        return sum(page.unpacked for page in self.pages)

    @property
    def made(self) -> int:
        """The bytes that reading it may take, but for values that repeat others."""
        return self.unpacked + VALUE_BYTES * sum(page.values for page in self.pages)

    @property
    def repeatable(self) -> int:
        """The most bytes of a value that others may repeat at no cost; 0: none can."""
        return max(
            (
                page.unpacked
                for page in self.pages
                if page.dictionary or page.encoding in REPEATING
            ),
            default=0,
        )


@dataclass(frozen=True)
class Layout:
    """What a file says that it holds.

    Attributes:
        rows: how many.
        chunks: of all columns and groups of rows.
    """

    rows: int
    chunks: tuple[Chunk, ...]

    @property
    def made(self) -> int:
        """The bytes that reading these chunks may take, but for repeated values."""
        return sum(chunk.made for chunk in self.chunks)

    def of(self, columns: Sequence[str]) -> list[Chunk]:
        """The chunks of these columns."""
        return [chunk for chunk in self.chunks if chunk.column in columns]


class _Reader:
    """Values in Thrift's compact protocol; their number and depth are limited."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.place = 0
        self.fields = 0

    def byte(self) -> int:
        value = self.content[self.place]  # IndexError: cut short
        self.place += 1
        return value

    def bytes(self, length: int) -> bytes:
        if length > len(self.content) - self.place:
            raise IndexError
        self.place += length
        return self.content[self.place - length : self.place]

    def varint(self) -> int:
        value = 0
        shift = 0
        while shift < MOST_VARINT_BITS:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise Misstated("it has a number of more than 64 bits")

    def integer(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def value(self, kind: int, depth: int) -> Any:
        self.fields += 1
        if self.fields > MOST_FIELDS or depth > DEEPEST:
            raise Misstated(
                f"it has more than {MOST_FIELDS:,} facts, or nests deeper than {DEEPEST}"
            )
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self.byte()
        if kind in INTEGERS:
            return self.integer()
        if kind == DOUBLE:
            return self.bytes(8)
        if kind == BINARY:
            return self.bytes(self.varint())
        if kind in (LIST, SET):
            return self.items(depth + 1)
        if kind == MAP:
            return self.pairs(depth + 1)
        if kind == STRUCT:
            return self.struct(depth + 1)
        raise Misstated(f"it has a fact of the unknown type {kind}")

    def struct(self, depth: int = 0) -> Fields:
        found = Fields()
        number = 0
        while head := self.byte():
            step = head >> 4
            number = number + step if step else self.integer()
            found[number] = self.value(head & 0x0F, depth)
        return found

    def count(self, count: int) -> int:
        """Return a stated `count` of items, for which Arrow makes room beforehand.

        Raises:
            Misstated: it is larger than the bytes that are left: each takes one.
        """
        left = len(self.content) - self.place
        if count > left:
            raise Misstated(f"it states a list of {count:,} in {left:,} bytes")
        return count

    def items(self, depth: int) -> list[Any]:
        head = self.byte()
        count = self.varint() if head >> 4 == 15 else head >> 4
        kind = head & 0x0F
        kind = (
            BYTE if kind in (TRUE, FALSE) else kind
        )  # which stand alone in a list, a byte each
        return [self.value(kind, depth) for _ in range(self.count(count))]

    def pairs(self, depth: int) -> list[Any]:
        count = self.count(self.varint())
        kinds = self.byte() if count else 0
        return [
            (self.value(kinds >> 4, depth), self.value(kinds & 0x0F, depth))
            for _ in range(count)
        ]


def _number(fields: Fields, number: int, what: str, most: int) -> int:
    """A number of a struct that must be there, from 0 to `most`."""
    value = fields.get(number)
    if type(value) is not int or not 0 <= value <= most:
        raise Misstated(
            f"its {what} is {value!r:.40}; expected a number from 0 to {most:,}"
        )
    return value


def _structs(fields: Fields, number: int, what: str) -> list[Fields]:
    """A list of structs that must be there."""
    found = fields.get(number)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Misstated(f"it lacks its {what}")
    return found


def _footer(file: IO[bytes]) -> tuple[Fields, int]:
    """The footer, and where it begins."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL_BYTES))
    tail = file.read(TAIL_BYTES)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - TAIL_BYTES - len(MAGIC):
        raise Misstated("it has no footer at its end")
    if length > MOST_FOOTER_BYTES:
        raise Misstated(
            f"its footer takes {length:,} bytes; expected at most {MOST_FOOTER_BYTES:,}"
        )
    begins = size - TAIL_BYTES - length
    file.seek(begins)
    try:
        return _Reader(file.read(length)).struct(), begins
    except IndexError as error:
        raise Misstated("its footer is cut short") from error


def _chunks(footer: Fields, begins: int) -> Iterator[Fields]:
    """What the footer says of each chunk, once that fits its group and the file."""
    columns = None
    for group in _structs(footer, 4, "groups of rows"):
        rows = _number(group, 3, "number of rows in a group", MOST_ROWS)
        chunks = _structs(group, 1, "columns")
        columns = len(chunks) if columns is None else columns
        if len(chunks) != columns:
            raise Misstated(
                f"one group of rows has {columns} columns, and another {len(chunks)}"
            )
        for chunk in chunks:
            facts = chunk.get(3)
            if not isinstance(facts, dict):
                raise Misstated("it says nothing of one of its columns")
            path = facts.get(3)
            if not isinstance(path, list) or not path or not isinstance(path[0], bytes):
                raise Misstated("one of its columns has no name")
            _number(facts, 7, "size of a column", begins)
            if _number(facts, 5, "number of values in a column", MOST_ROWS) < rows:
                raise Misstated(
                    f"it states {rows:,} rows, and {facts[5]:,} values in a column"
                )
            yield facts


def check_footer(path: Path) -> None:
    """Read the footer of a file, of which no more than its own bytes can be made then.

    Raises:
        Misstated: there is none, or it states lists longer than itself, or columns that
            do not fit the rows or the file.
    """
    with path.open("rb") as file:
        for _ in _chunks(*_footer(file)):
            pass


def read_layout(path: Path, columns: Sequence[str] | None = None) -> Layout:
    """Read what a file says that it holds, in its footer and in the headers of pages.

    Args:
        path: of the file.
        columns: those whose pages are looked at; None: all.

    Raises:
        Misstated: that cannot be, or contradicts itself.

    Example:
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> pq.write_table(pa.table({"x": [7] * 100_000}), "x.parquet")
        >>> layout = read_layout(Path("x.parquet"))
        >>> layout.rows, [page.values for page in layout.chunks[0].pages]
        (100000, [1, 20000, 20000, 20000, 20000, 20000])
    """
    with path.open("rb") as file:
        return layout_of(file, columns)


def layout_of(file: IO[bytes], columns: Sequence[str] | None = None) -> Layout:
    """Read what an open file says that it holds, as `read_layout` does."""
    footer, begins = _footer(file)
    found = []
    for facts in _chunks(footer, begins):
        name = facts[3][0].decode("utf-8", "replace")
        if columns is None or name in columns:
            found.append(Chunk(name, facts[5], tuple(_pages(file, facts, begins))))
    rows = _number(footer, 3, "number of rows", MOST_ROWS)
    in_groups = sum(group[3] for group in footer[4])
    if rows != in_groups:
        raise Misstated(
            f"it states {rows:,} rows, and {in_groups:,} in its groups of rows"
        )
    file.seek(0, os.SEEK_END)
    return Layout(rows, tuple(found))


def _pages(file: IO[bytes], facts: Fields, end: int) -> Iterator[Page]:
    """The pages of a chunk, each from where the one before it ends, as Arrow does."""
    place = _number(facts, 9, "place of the first page", end)
    dictionary = facts.get(11)
    if type(dictionary) is int and 0 < dictionary < place:
        place = dictionary
    end = min(end, place + facts[7])
    values = 0
    while place < end and values < facts[5]:
        header, length = _page_header(file, place, end)
        packed = _number(header, 3, "size of a page", end - place - length)
        place += length + packed
        kind = _number(header, 1, "kind of a page", MOST_IN_A_PAGE)
        if kind not in HEADERS:
            continue  # as of an index: Arrow passes it over
        own, encoded = HEADERS[kind]
        told = header.get(own)
        if not isinstance(told, dict):
            raise Misstated("one of its pages does not describe its content")
        count = _number(told, 1, "number of values in a page", MOST_IN_A_PAGE)
        encoding = _number(told, encoded, "encoding", MOST_IN_A_PAGE)
        yield Page(
            count,
            _number(header, 2, "unpacked size of a page", MOST_IN_A_PAGE),
            encoding,
            kind == DICTIONARY,
        )
        values += count if kind != DICTIONARY else 0
    if values != facts[5]:
        raise Misstated(
            f"its footer states {facts[5]:,} values of a column, its pages {values:,}"
        )


def _page_header(file: IO[bytes], place: int, end: int) -> tuple[Fields, int]:
    """The header of the page at `place`, and its length, which may be large."""
    most = FIRST_HEADER_BYTES
    while True:
        file.seek(place)
        content = file.read(min(most, end - place))
        reader = _Reader(content)
        try:
            return reader.struct(), reader.place
        except IndexError as error:
            if most >= min(MOST_HEADER_BYTES, end - place):
                raise Misstated("the header of a page is cut short") from error
            most *= 16
