"""Archives of `torch.save`: taken apart, changed in a record, put together again, or made to inflate."""

from __future__ import annotations

import io
import zipfile

from fuzz.draw import Draw


def records(content: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def rezipped(content: bytes, draw: Draw) -> bytes:
    """The archive with a record changed, lost, doubled or renamed, and right checksums; its comment stays."""
    held = records(content)
    at, way = draw.below(len(held)), draw.below(6)
    name, raw = held[at]
    if way == 0:
        del held[at]
    elif way == 1:
        held[at] = draw.pick((name + "x", "x/" + name, name.rpartition("/")[2])), raw
    elif way == 2:
        held[at] = name, held[draw.below(len(held))][1]
    elif raw:
        start = draw.below(len(raw))
        held[at] = name, raw[:start] + draw.bytes(1 + draw.below(4)) + raw[start + draw.below(5) :]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return zipped(held, archive.comment)


def zipped(held: list[tuple[str, bytes]], comment: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = comment
        for name, raw in held:
            archive.writestr(zipfile.ZipInfo(name), raw)
    return buffer.getvalue()


def inflating(content: bytes, mebibytes: int) -> bytes:
    """The archive with a first tensor that inflates to so much."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, raw in records(content):
            told = zipfile.ZipInfo(name)
            told.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(told, "w") as record:
                record.write(raw)
                for _ in range(mebibytes if name.endswith("/data/0") else 0):
                    record.write(bytes(2**20))
    return buffer.getvalue()
