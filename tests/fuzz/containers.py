"""Content changed in a container that stays well-formed: Parquet, PNG, safetensors, torch's archives, protobuf."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from google.protobuf.message import Message
from PIL import Image

from fuzz.draw import Draw, bent, to_json

# --- Parquet --------------------------------------------------------------------------------------------------------

KINDS = (
    *(pa.int8(), pa.int32(), pa.uint64(), pa.float16(), pa.float64(), pa.bool_(), pa.string(), pa.binary(), pa.null()),
    *(pa.date32(), pa.timestamp("ns"), pa.decimal128(20, 2), pa.list_(pa.int64()), pa.list_(pa.list_(pa.int64()))),
    *(pa.struct([("a", pa.int64())]), pa.dictionary(pa.int32(), pa.string()), pa.large_list(pa.int64())),
)
TABLE_WAYS = ("cell", "cell", "near", "retyped", "nulls", "dropped", "twice", "renamed", "rows", "metadata")


def read_table(content: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(content))


def parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def with_metadata(content: bytes, changes: dict[bytes, bytes | None]) -> bytes:
    """The same columns, with other values for keys of the schema's metadata; None leaves a key out."""
    table = read_table(content)
    said = {**dict(table.schema.metadata or {}), **changes}
    return parquet(table.replace_schema_metadata({key: value for key, value in said.items() if value is not None}))


def with_columns(content: bytes, **columns: list[Any]) -> bytes:
    """The table with other values in some columns, and without metadata."""
    table = read_table(content)
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, pa.array(values, table.schema.field(at).type))
    return parquet(table.replace_schema_metadata(None))


def rewritten(content: bytes, draw: Draw) -> bytes:
    """`content` with one or two columns, or the rows, changed."""
    table = read_table(content)
    for _ in range(1 if draw.chance(0.8) else 2):
        table = changed(table, draw.pick(TABLE_WAYS), draw)
    return parquet(table)


def changed(table: pa.Table, way: str, draw: Draw) -> pa.Table:
    at, other = draw.below(table.num_columns), draw.below(table.num_columns)
    column, field = table.column(at), table.schema.field(at)
    match way:
        case "cell" | "near" | "nulls":
            return table.set_column(at, field.name, pa.array(_cells(column.to_pylist(), way, draw), field.type))
        case "retyped":
            kind = draw.pick(KINDS)
            try:
                return table.set_column(at, field.name, column.cast(kind, safe=False))
            except pa.ArrowException:
                return table.set_column(at, field.name, pa.nulls(len(table), kind))
        case "dropped":
            return table.remove_column(at)
        case "twice":
            return table.append_column(draw.pick((field.name, str(draw.value()))), table.column(other))
        case "renamed":  # as another, or as anything
            name = draw.pick((table.schema.names[other], str(draw.value())))
            return table.rename_columns([name if k == at else each for k, each in enumerate(table.schema.names)])
        case "rows":
            kept = [draw.below(len(table)) for _ in range(draw.pick((0, 1, len(table), 2 * len(table))))]
            return table.take(pa.array(kept, pa.int64()))
    said = dict(table.schema.metadata or {})
    return table.replace_schema_metadata(said | {key: draw.text() for key in [*said][:1]} if draw.chance(0.5) else None)


def _cells(values: list[Any], way: str, draw: Draw) -> list[Any]:
    """A column's values: one bent, some lost, or a whole number in one by one: what a flipped bit does best."""
    if way == "nulls":
        return [None if draw.chance(0.5) else each for each in values]
    row, step = draw.below(len(values)), draw.pick((-1, 1, 2, 256))
    old = values[row]
    if way == "cell":
        new = draw.pick(values) if draw.chance(0.3) else bent(old, draw)
    else:
        new = [old[0] + step, *old[1:]] if isinstance(old, list) else old + step
    return [*values[:row], new, *values[row + 1 :]]


# --- PNG ------------------------------------------------------------------------------------------------------------

FORMATS = {"png": "PNG", "jpg": "JPEG", "bmp": "BMP", "webp": "WEBP", "tif": "TIFF", "ppm": "PPM"}
SIGNATURE = b"\x89PNG\r\n\x1a\n"
SIZES = (0, 1, 7, 8, 9, 255, 4_000, 9_000, 13_000, 65_535, 10**6, 2**31 - 1, 2**32 - 1)
_ZEROS = zlib.compress(bytes(50_000_000), 9)
EXTRAS = (
    *((b"zTXt", b"a\0\0" + _ZEROS), (b"iCCP", b"a\0\0" + _ZEROS), (b"iTXt", b"a\0\1\0\0\0" + _ZEROS)),
    *((b"tEXt", b"a\0" + b"b" * 2_000_000), (b"gAMA", b""), (b"PLTE", b"abc"), (b"tRNS", b"\0"), (b"pHYs", b"")),
    *((b"acTL", struct.pack(">II", 10**9, 0)), (b"fcTL", bytes(26)), (b"eXIf", b"MM\0*\0\0\0\x08\xff\xff")),
    *((b"aaaa", b""), (b"AAAA", b""), (b"IDAT", b""), (b"IEND", b""), (b"sRGB", b""), (b"cHRM", b"\0")),
)


def picture(seed: int, kind: str = "PNG", mode: str = "RGB", side: int = 8) -> bytes:
    shape = (side, side, 3) if mode == "RGB" else (side, side)
    image = Image.fromarray(np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8))
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def png_bent(content: bytes, draw: Draw) -> bytes:
    """A PNG with a chunk changed, lost, doubled, moved or added; every chunk with the right checksum."""
    found = _chunks(content)
    if not found:
        return content
    at = draw.below(len(found))
    (kind, body), place = found[at], draw.below(len(found[at][1]))
    if draw.chance(0.2):
        found[0] = b"IHDR", struct.pack(">II", draw.pick(SIZES), draw.pick(SIZES)) + found[0][1][8:]
    else:
        others: list[Any] = [[], found[at : at + 1] * 2, found[at : at + 2][::-1], [(kind, body), draw.pick(EXTRAS)]]
        bodies = (body[:place], body[:place] + draw.bytes(1) + body[place + 1 :])
        found[at : at + 1] = draw.pick((*others, *([(kind, each)] for each in bodies)))
    return _png(found)


def lying_png(width: int, height: int) -> bytes:
    """Some bytes that say they are `width` x `height`."""
    body = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return _png([(b"IHDR", body), (b"IDAT", zlib.compress(bytes(1_000))), (b"IEND", b"")])


def _chunks(content: bytes) -> list[tuple[bytes, bytes]]:
    """Type and body of every chunk."""
    found, at = [], len(SIGNATURE)
    while at + 12 <= len(content) and content.startswith(SIGNATURE):
        size = int.from_bytes(content[at : at + 4], "big")
        found.append((content[at + 4 : at + 8], content[at + 8 : at + 8 + size]))
        at += 12 + size
    return found


def _png(found: list[tuple[bytes, bytes]]) -> bytes:
    parts = [(struct.pack(">I", len(body)), kind + body) for kind, body in found]
    return SIGNATURE + b"".join(size + raw + struct.pack(">I", zlib.crc32(raw)) for size, raw in parts)


# --- safetensors, torch.save, protobuf ------------------------------------------------------------------------------

NOT_FINITE = (struct.pack("<f", float("nan")), struct.pack("<f", float("inf")), b"\xff\xff\x7f\x7f")


def safetensors_bent(content: bytes, draw: Draw) -> bytes:
    """Another header before the same bytes, another number among them, or fewer or more of them."""
    size = int.from_bytes(content[:8], "little")
    header, body, way = json.loads(content[8 : 8 + size]), content[8 + size :], draw.below(4)
    said = json.dumps(header).encode()
    if way == 0:
        at = 4 * draw.below(len(body) // 4)
        body = body[:at] + draw.pick(NOT_FINITE) + body[at + 4 :]
    elif way == 1:
        body = body[: draw.below(len(body))] + draw.bytes(draw.below(64))
    else:
        said = to_json(bent(header, draw), draw)
    said += b" " * (-len(said) % 8)
    return len(said).to_bytes(8, "little") + said + body


def rezipped(content: bytes, draw: Draw) -> bytes:
    """An archive with a record changed, lost, doubled or renamed, and right checksums; its comment stays."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        held, comment = [(name, archive.read(name)) for name in archive.namelist()], archive.comment
    at = draw.below(len(held))
    name, raw = held[at]
    start = draw.below(len(raw))
    changed = raw[:start] + draw.bytes(1 + draw.below(4)) + raw[start + draw.below(5) :]
    records = (raw + raw[:1], draw.pick(held)[1], changed, changed, changed)
    renamed = [(draw.pick((name + "x", "x/" + name, name.rpartition("/")[2])), raw)]
    held[at : at + 1] = draw.pick(([], renamed, *([(name, each)] for each in records)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = comment
        for name, raw in held:
            archive.writestr(zipfile.ZipInfo(name), raw)
    return buffer.getvalue()


def inflating(content: bytes, mebibytes: int) -> bytes:
    """The archive with a first tensor that inflates to so much."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(buffer, "w") as archive:
        for name in source.namelist():
            told = zipfile.ZipInfo(name)
            told.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(told, "w") as record:
                record.write(source.read(name))
                for _ in range(mebibytes if name.endswith("/data/0") else 0):
                    record.write(bytes(2**20))
    return buffer.getvalue()


def message_bent(message: Message, draw: Draw) -> None:
    """Change one field of `message`, or of a message within it: another value, lost or doubled."""
    fields = [field for field, _ in message.ListFields()]
    if not fields or draw.chance(0.05):
        fields = list(message.DESCRIPTOR.fields)
    field = draw.pick(fields)
    value = getattr(message, field.name)
    if draw.chance(0.2):
        message.ClearField(field.name)
    elif not field.is_repeated and not isinstance(value, Message):
        setattr(message, field.name, _like(value, draw))
    elif field.is_repeated and len(value):
        at = draw.below(len(value))
        if draw.chance(0.3):
            value.append(value[at])
        elif isinstance(value[at], Message):
            message_bent(value[at], draw)
        else:
            value[at] = _like(value[at], draw)
    elif isinstance(value, Message):
        message_bent(value, draw)


def _like(value: Any, draw: Draw) -> Any:
    """Another value of the same type."""
    others: dict[type, tuple[Any, ...]] = {
        bytes: (b"", draw.bytes(8), value[:-1], value * 2) if isinstance(value, bytes) else (),
        str: ("", "x", "../../etc/passwd", "/dev/zero", "-1", "Relu", "Loop", "a" * 10_000),
        float: (0.0, -1.0, 1e38, float("nan"), float("inf")),
    }
    return draw.pick(others.get(type(value), (0, 1, -1, 2, 16, 10**6, 2**31 - 1, -(2**31))))
