"""Image bytes: small pictures in every format that is read, and PNGs that lie."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
from PIL import Image

from fuzz.draw import Draw

FORMATS = {"png": "PNG", "jpg": "JPEG", "bmp": "BMP", "webp": "WEBP", "tif": "TIFF", "ppm": "PPM"}
SIGNATURE = b"\x89PNG\r\n\x1a\n"
SIZES = (0, 1, 7, 8, 9, 255, 4_000, 9_000, 13_000, 65_535, 10**6, 2**31 - 1, 2**32 - 1)


def picture(seed: int, kind: str = "PNG", mode: str = "RGB", side: int = 8) -> bytes:
    shape = (side, side, 3) if mode == "RGB" else (side, side)
    image = Image.fromarray(np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8))
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def png_bent(content: bytes, draw: Draw) -> bytes:
    """A PNG with a chunk changed, lost, doubled, moved or added; every chunk with the right checksum."""
    found = chunks(content)
    if not found:
        return content
    at, way = draw.below(len(found)), draw.below(6)
    kind, body = found[at]
    if way == 0:
        del found[at]
    elif way == 1:
        found.insert(draw.below(len(found)), found[at])
    elif way == 2:
        found.insert(1 + draw.below(len(found)), draw.pick(EXTRAS))
    elif way == 3 and body:
        raw = bytearray(body)
        raw[draw.below(len(raw))] = draw.below(256)
        found[at] = kind, bytes(raw)
    elif way == 4:
        width, height = draw.pick(SIZES), draw.pick(SIZES)
        found[0] = b"IHDR", struct.pack(">II", width, height) + found[0][1][8:]
    else:
        found[at] = kind, body[: draw.below(len(body) + 1)]
    return encoded(found)


def lying(width: int, height: int) -> bytes:
    """A PNG of some bytes that says it is `width` x `height`."""
    body = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return encoded([(b"IHDR", body), (b"IDAT", zlib.compress(bytes(1_000))), (b"IEND", b"")])


def chunks(content: bytes) -> list[tuple[bytes, bytes]]:
    """Type and body of every chunk."""
    found, at = [], len(SIGNATURE)
    while at + 12 <= len(content) and content.startswith(SIGNATURE):
        size = int.from_bytes(content[at : at + 4], "big")
        found.append((content[at + 4 : at + 8], content[at + 8 : at + 8 + size]))
        at += 12 + size
    return found


def encoded(found: list[tuple[bytes, bytes]]) -> bytes:
    parts = [struct.pack(">I", len(body)) + kind + body + _crc(kind + body) for kind, body in found]
    return SIGNATURE + b"".join(parts)


def _crc(raw: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(raw))


_ZEROS = zlib.compress(bytes(50_000_000), 9)
EXTRAS = (
    *((b"zTXt", b"a\0\0" + _ZEROS), (b"iCCP", b"a\0\0" + _ZEROS), (b"iTXt", b"a\0\1\0\0\0" + _ZEROS)),
    *((b"tEXt", b"a\0" + b"b" * 2_000_000), (b"gAMA", b""), (b"PLTE", b"abc"), (b"tRNS", b"\0"), (b"pHYs", b"")),
    *((b"acTL", struct.pack(">II", 10**9, 0)), (b"fcTL", bytes(26)), (b"eXIf", b"MM\0*\0\0\0\x08\xff\xff")),
    *((b"aaaa", b""), (b"AAAA", b""), (b"IDAT", b""), (b"IEND", b""), (b"sRGB", b""), (b"cHRM", b"\0")),
)
