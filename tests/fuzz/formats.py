"""Formats of files as values: what a file holds, with places of it changed, in a container that stays well-formed."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import yaml
from google.protobuf import json_format
from PIL import Image

from fuzz.damage import JSON, YAML, Draw, damaged

# --- values ---------------------------------------------------------------------------------------------------------


def bent(value: Any, draw: Draw, words: Sequence[str] = ()) -> Any:
    """`value`, a nest of mappings, lists and whatever else, with one to three places of it changed.

    Args:
        words: what no value can say: `said` puts them where names of them stand.
    """
    for _ in range(1 if draw.chance(0.7) else 2 + draw.below(2)):
        value = _bent(value, draw, words)
    return value


def _bent(value: Any, draw: Draw, words: Sequence[str]) -> Any:
    if isinstance(value, dict) and value and draw.chance(0.95):
        return _mapping(dict(value), draw, words)
    if isinstance(value, list | tuple) and len(value) and draw.chance(0.8):
        if draw.chance(0.15):
            times = draw.pick((2, 50, 1_000)) if len(value) < 100 else 2
            return times * list(value) if draw.chance(0.5) else [*value][::-1]
        return [*_mapping(dict(enumerate(value)), draw, words).values()]
    if isinstance(value, bytes) and draw.chance(0.9):
        return (
            PNG.bent(value, draw)
            if value.startswith(SIGNATURE)
            else damaged(value, value, draw)
        )
    way = draw.below(4)
    if way == 0:
        return draw.pick(_near(value))
    return f"@said {draw.below(len(words))}@" if way == 1 and words else draw.value()


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
        near += [
            -value,
            value + 1,
            value - 1,
            value * 2,
            value + 256,
            value * 10**6,
            float(value),
            value / 2,
        ]
    if isinstance(value, str):
        near += [value + "x", value.upper(), value[:-1], value[::-1], value * 100]
    return near


def said(text: str, words: Sequence[str]) -> bytes:
    for index, word in enumerate(words):
        name = f"@said {index}@"
        for quoted in (f'"{name}"', f"'{name}'", name):
            text = text.replace(quoted, word)
    return text.encode(errors="surrogatepass")


class Format(NamedTuple):
    """What a file of this format holds, and the file that holds something else in place of it."""

    opened: Callable[[bytes], Any]
    closed: Callable[[Any, bytes, Draw], bytes]
    words: Sequence[str] = ()

    def bent(self, content: bytes, draw: Draw) -> bytes:
        return self.closed(bent(self.opened(content), draw, self.words), content, draw)


# --- text -----------------------------------------------------------------------------------------------------------


def to_json(value: Any, draw: Draw) -> bytes:
    """JSON of `value`, which may hold NaN and names of words; at times with a key given twice."""
    text = json.dumps(value, default=str)
    if isinstance(value, dict) and value and draw.chance(0.05):
        text = (
            "{"
            + json.dumps({draw.pick(list(value)): draw.value()}, default=str)[1:-1]
            + ","
            + text[1:]
        )
    return said(text, JSON)


def to_yaml(value: Any, content: bytes, draw: Draw) -> bytes:
    """YAML of `value`, likewise."""
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    if isinstance(value, dict) and value and draw.chance(0.1):
        text += f"{draw.pick(list(value))}: {draw.pick(YAML)}\n"
    return said(text, YAML)


def _lines(content: bytes) -> list[Any]:
    """The value of each line of JSON and, in a journal, the checksum behind it."""
    parts = (line.partition(b"\t") for line in content.splitlines())
    return [[json.loads(value), checksum.decode()] for value, _, checksum in parts]


def _to_lines(value: Any, content: bytes, draw: Draw) -> bytes:
    tab = b"\t" if b"\t" in content else b""
    return b"".join(
        to_json(each, draw) + tab + str(checksum).encode() + b"\n"
        for each, checksum in value
    )


def cells(mark: str) -> Format:
    """A table of text with `mark` between its cells."""

    def closed(value: Any, content: bytes, draw: Draw) -> bytes:
        return "".join(mark.join(map(str, row)) + "\n" for row in value).encode(
            errors="surrogatepass"
        )

    return Format(
        lambda content: [line.split(mark) for line in content.decode().splitlines()],
        closed,
    )


# --- Parquet --------------------------------------------------------------------------------------------------------

KINDS = (
    *(
        pa.int8(),
        pa.int32(),
        pa.uint64(),
        pa.float16(),
        pa.float64(),
        pa.bool_(),
        pa.string(),
        pa.binary(),
        pa.null(),
    ),
    *(
        pa.date32(),
        pa.timestamp("ns"),
        pa.decimal128(20, 2),
        pa.list_(pa.int64()),
        pa.list_(pa.list_(pa.int64())),
    ),
    *(
        pa.struct([("a", pa.int64())]),
        pa.dictionary(pa.int32(), pa.string()),
        pa.large_list(pa.int64()),
    ),
)


def read_table(content: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(content))


def parquet(table: pa.Table, said: dict[Any, Any] | None = None) -> bytes:
    """The file of a table, with these keys of the schema's metadata, or with its own."""
    buffer = io.BytesIO()
    pq.write_table(
        table if said is None else table.replace_schema_metadata(said),
        buffer,
        compression="zstd",
    )
    return buffer.getvalue()


def metadata(content: bytes) -> dict[bytes, bytes]:
    return dict(read_table(content).schema.metadata or {})


def with_columns(content: bytes, **columns: list[Any]) -> bytes:
    """The table with other values in some columns, and without metadata."""
    table = read_table(content)
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(
            at, name, pa.array(values, table.schema.field(at).type)
        )
    return parquet(table, {})


def _columns(content: bytes) -> dict[str, Any]:
    """The values of each column, and the metadata with a header that is JSON opened."""
    told = {
        key: json.loads(text) if text[:1] == b"{" else text
        for key, text in metadata(content).items()
    }
    return {"columns": read_table(content).to_pydict(), "metadata": told}


def _to_columns(value: Any, content: bytes, draw: Draw) -> bytes:
    """Of the types that they had, where they still can be; at times one of another type, or rows drawn anew."""
    schema, arrays = read_table(content).schema, {}
    for name, values in value["columns"].items():
        kind = schema.field(name).type if name in schema.names else None
        try:
            arrays[name] = pa.array(values, kind)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            arrays[name] = pa.array(values)
    table = pa.table(arrays)
    if draw.chance(0.1):
        at, kind = draw.below(table.num_columns), draw.pick(KINDS)
        try:
            column = table.column(at).cast(kind, safe=False)
        except pa.ArrowException:
            column = pa.nulls(len(table), kind)
        table = table.set_column(at, table.schema.names[at], column)
    elif draw.chance(0.1):
        kept = [
            draw.below(len(table))
            for _ in range(draw.pick((0, 1, len(table), 2 * len(table))))
        ]
        table = table.take(pa.array(kept, pa.int64()))
    told = value["metadata"].items()
    return parquet(
        table,
        {
            key: text if isinstance(text, bytes) else to_json(text, draw)
            for key, text in told
        },
    )


# --- PNG ------------------------------------------------------------------------------------------------------------

SIGNATURE = b"\x89PNG\r\n\x1a\n"
SIZES = (0, 1, 7, 8, 9, 255, 4_000, 9_000, 13_000, 65_535, 10**6, 2**31 - 1, 2**32 - 1)
_ZEROS = zlib.compress(bytes(50_000_000), 9)
EXTRAS = (
    *(
        (b"zTXt", b"a\0\0" + _ZEROS),
        (b"iCCP", b"a\0\0" + _ZEROS),
        (b"iTXt", b"a\0\1\0\0\0" + _ZEROS),
    ),
    *(
        (b"tEXt", b"a\0" + b"b" * 2_000_000),
        (b"gAMA", b""),
        (b"PLTE", b"abc"),
        (b"tRNS", b"\0"),
        (b"pHYs", b""),
    ),
    *(
        (b"acTL", struct.pack(">II", 10**9, 0)),
        (b"fcTL", bytes(26)),
        (b"eXIf", b"MM\0*\0\0\0\x08\xff\xff"),
    ),
    *(
        (b"aaaa", b""),
        (b"AAAA", b""),
        (b"IDAT", b""),
        (b"IEND", b""),
        (b"sRGB", b""),
        (b"cHRM", b"\0"),
    ),
)


def picture(seed: int, kind: str = "PNG", mode: str = "RGB", side: int = 8) -> bytes:
    shape = (side, side, 3) if mode == "RGB" else (side, side)
    image = Image.fromarray(
        np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    )
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def lying_png(width: int, height: int) -> bytes:
    """Some bytes that say they are `width` x `height`."""
    body = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return _png(
        [(b"IHDR", body), (b"IDAT", zlib.compress(bytes(1_000))), (b"IEND", b"")]
    )


def _chunks(content: bytes) -> list[Any]:
    """Type and body of every chunk."""
    found, at = [], len(SIGNATURE)
    while at + 12 <= len(content):
        size = int.from_bytes(content[at : at + 4], "big")
        found.append((content[at + 4 : at + 8], content[at + 8 : at + 8 + size]))
        at += 12 + size
    return found


def _png(found: list[Any]) -> bytes:
    """Every chunk with the right checksum."""
    parts = [(struct.pack(">I", len(body)), kind + body) for kind, body in found]
    return SIGNATURE + b"".join(
        size + raw + struct.pack(">I", zlib.crc32(raw)) for size, raw in parts
    )


def _to_chunks(value: Any, content: bytes, draw: Draw) -> bytes:
    """At times of another size, or with a chunk more."""
    found = [*value]
    if draw.chance(0.2):
        found[0] = (
            b"IHDR",
            struct.pack(">II", draw.pick(SIZES), draw.pick(SIZES)) + found[0][1][8:],
        )
    elif draw.chance(0.2):
        found.insert(1 + draw.below(len(found)), draw.pick(EXTRAS))
    return _png(found)


# --- tensors --------------------------------------------------------------------------------------------------------

NOT_FINITE = (
    struct.pack("<f", float("nan")),
    struct.pack("<f", float("inf")),
    b"\xff\xff\x7f\x7f",
)


def _tensors(content: bytes) -> dict[str, Any]:
    """The header of a safetensors file, and the bytes behind it."""
    size = int.from_bytes(content[:8], "little")
    return {"header": json.loads(content[8 : 8 + size]), "body": content[8 + size :]}


def _to_tensors(value: Any, content: bytes, draw: Draw) -> bytes:
    header, body = to_json(value["header"], draw), value["body"]
    if draw.chance(0.2):
        at = 4 * draw.below(len(body) // 4)
        body = body[:at] + draw.pick(NOT_FINITE) + body[at + 4 :]
    header += b" " * (-len(header) % 8)
    return bytes(len(header).to_bytes(8, "little") + header + body)


def _records(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _to_records(value: Any, content: bytes, draw: Draw) -> bytes:
    """An archive with right checksums."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, raw in value.items():
            archive.writestr(zipfile.ZipInfo(name), raw)
    return buffer.getvalue()


def inflating(content: bytes, mebibytes: int) -> bytes:
    """The archive with a first tensor that inflates to so much."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, raw in _records(content).items():
            told = zipfile.ZipInfo(name)
            told.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(told, "w") as record:
                record.write(raw)
                for _ in range(mebibytes if name.endswith("/data/0") else 0):
                    record.write(bytes(2**20))
    return buffer.getvalue()


def torch_file(content: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


# --- by the ends of names -------------------------------------------------------------------------------------------

PNG = Format(_chunks, _to_chunks)
PARQUET = Format(_columns, _to_columns)
LINES = Format(_lines, _to_lines, JSON)
ZIP = Format(_records, _to_records)
TORCH = Format(
    lambda content: torch.load(io.BytesIO(content), weights_only=True),
    lambda value, content, draw: torch_file(value),
)
ONNX = Format(
    lambda content: json_format.MessageToDict(onnx.ModelProto.FromString(content)),
    lambda value, content, draw: bytes(
        json_format.ParseDict(value, onnx.ModelProto()).SerializeToString()
    ),
)
FORMATS: dict[str, tuple[Format, ...]] = {
    ".parquet": (PARQUET,),
    ".parquet.partial": (LINES,),
    ".jsonl": (LINES,),
    ".json": (
        Format(json.loads, lambda value, content, draw: to_json(value, draw), JSON),
    ),
    ".yaml": (Format(yaml.safe_load, to_yaml, YAML),),
    ".tsv": (cells("\t"),),
    ".csv": (cells(","),),
    ".png": (PNG,),
    ".safetensors": (Format(_tensors, _to_tensors, JSON),),
    ".onnx": (ONNX,),
    ".npz": (ZIP,),
    ".pt": (ZIP, TORCH),
    ".pth.tar": (ZIP, TORCH),
}


def formats_of(name: str) -> tuple[Format, ...]:
    """Those of a file's name; none where only its bytes can be changed."""
    return next((FORMATS[end] for end in FORMATS if name.endswith(end)), ())
