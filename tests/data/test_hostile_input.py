"""Files that are damaged, or a stranger's: each costs a sentence, before it costs memory or time."""

import json
import os
import struct
import tracemalloc
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from data.making import DIGITS, png, refuses, write_folder, write_parquet
from models.refusing import problem_of, refusal
from randsmooth import data
from randsmooth.data import decode
from randsmooth.data.decode import MOST_PIXELS
from randsmooth.errors import TooLarge, WrongData, WrongFile
from values import Refusal

PNGS = [png(each) for each in DIGITS]


def write(file: Path, image: Any, label: Any, metadata: Any = None) -> None:
    pq.write_table(
        pa.table({"image": image, "label": label}).replace_schema_metadata(metadata),
        file,
    )


def structs(values: Any, kind: pa.DataType | None = None) -> Any:
    return pa.array([{"bytes": value, "path": None} for value in values], kind)


def test_what_holds_no_bytes_is_refused(tmp_path: Path) -> None:
    for image in (
        structs(["a", "b"], pa.struct([("bytes", pa.string()), ("path", pa.string())])),
        structs(
            [[1], [2]],
            pa.struct([("bytes", pa.list_(pa.uint8())), ("path", pa.string())]),
        ),
        pa.StructArray.from_arrays(
            [pa.array([b"a", b"b"])] * 2, names=["bytes", "bytes"]
        ),
    ):
        write(tmp_path / "train.parquet", image, [0, 1])
        refuses(Refusal(WrongData, "'image'", "train.parquet"), tmp_path)


def test_columns_and_labels_that_cannot_be(tmp_path: Path) -> None:
    image, label, file = structs(PNGS), pa.array(range(4)), tmp_path / "train.parquet"
    for name, column in (("image", image), ("label", label)):
        pq.write_table(
            pa.Table.from_arrays(
                [image, label, column], names=["image", "label", name]
            ),
            file,
        )
        refuses(Refusal(WrongData, "train.parquet", f"'{name}' twice"), tmp_path)
    for odd in (10**18, -(2**63), 100_000):
        write_parquet(file, DIGITS, [0, 1, 2, odd])
        refuses(Refusal(WrongData, str(odd), "0..99999"), tmp_path)
    write_parquet(file, DIGITS, pa.array([0, 1, 2, 2**64 - 1], pa.uint64()))
    refuses(Refusal(WrongData, "-1"), tmp_path)


INFO = '{"info": {"features": {"label": {"names": %s}}}}'
METADATA: list[tuple[bytes, Refusal]] = [
    (b"{", Refusal(WrongFile, "train.parquet")),
    ((INFO % '["a", 1]').encode(), Refusal(WrongData)),
    ((INFO % '["a", "b\\u001b[2J"]').encode(), Refusal(WrongData)),
    ((INFO % json.dumps(["a" * 1001, "b"])).encode(), Refusal(WrongData, "1,000")),
]


def test_metadata_that_names_no_classes(tmp_path: Path) -> None:
    for metadata, told in METADATA:
        write(
            tmp_path / "train.parquet",
            structs(PNGS),
            [0, 1, 0, 1],
            {b"huggingface": metadata},
        )
        refuses(told, tmp_path)
    for silent in (
        b"[]",
        b"3",
        b'{"info": []}',
        b'{"info": {"features": {"label": "x"}}}',
        (INFO % '"ab"').encode(),
    ):
        write(
            tmp_path / "train.parquet",
            structs(PNGS),
            [0, 1, 0, 1],
            {b"huggingface": silent},
        )
        assert data.describe(str(tmp_path)).classes == ("0", "1")


def repeated(file: Path, content: bytes, rows: int, **how: Any) -> None:
    image = pa.array([content]).take(pa.array([0] * rows))
    structured = pa.StructArray.from_arrays(
        [image, pa.nulls(len(image), pa.string())], names=["bytes", "path"]
    )
    pq.write_table(
        pa.table({"image": structured, "label": np.zeros(rows, np.int64)}), file, **how
    )


def test_a_file_that_swells_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parquet stores equal values once: a small file may claim any number of them. Others it says the size of."""
    monkeypatch.setattr(decode, "SMALL_BYTES", 2**20)
    repeated(
        tmp_path / "train.parquet",
        PNGS[0] + np.random.default_rng(0).bytes(2**15),
        1_000,
    )
    assert (tmp_path / "train.parquet").stat().st_size < 2**18
    before = pa.total_allocated_bytes()
    refuses(Refusal(WrongData, "train.parquet"), tmp_path)
    assert pa.total_allocated_bytes() - before < 2**24
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)  # nothing is read
    repeated(tmp_path / "train.parquet", PNGS[0] + bytes(2**24), 1, compression="zstd")
    refuses(Refusal(WrongData, "1,048,576"), tmp_path)


def claiming(width: int, height: int) -> bytes:
    """A PNG that claims a size, and holds next to nothing."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + header
        + chunk(b"IDAT", zlib.compress(bytes(999)))
        + chunk(b"IEND", b"")
    )


def test_an_image_bomb_is_refused_by_its_size(tmp_path: Path, recwarn: Any) -> None:
    (tmp_path / "train" / "a").mkdir(parents=True)
    bomb, spec = tmp_path / "train" / "a" / "bomb.png", data.DATASETS["imagenet"]
    for width, height in ((8193, 8192), (13_000, 13_000), (2**31 - 1, 2**31 - 1)):
        bomb.write_bytes(claiming(width, height))
        for read in (partial(data.load, tmp_path), partial(data.read_image, bomb)):
            given = () if read.func is data.load else (spec,)
            problem = problem_of(read, *given)
            assert isinstance(problem, WrongData | TooLarge)
            assert "bomb.png" in str(problem) and f"{MOST_PIXELS:,}" in str(problem)
    bomb.write_bytes(claiming(8193, 8192))
    Refusal(WrongData, "8192", "8193", f"{MOST_PIXELS:,}").check(
        problem_of(lambda: data.read_image(bomb, spec))
    )
    assert not recwarn.list
    # 224 x 224 of an image one pixel high would be scaled to 256 times its width first.
    Image.new("RGB", (2**20, 1)).save(tmp_path / "a.png")
    tracemalloc.start()
    problem = problem_of(lambda: data.read_image(tmp_path / "a.png", spec))
    Refusal(WrongData, "a.png", "256", "268435456").check(problem)
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()
    (tmp_path / "a.png").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%EOF\n"
    )  # of a format that starts a program
    Refusal(WrongData, "a.png").check(
        problem_of(lambda: data.read_image(tmp_path / "a.png", spec))
    )


def test_names_that_mean_something_else_are_refused(tmp_path: Path) -> None:
    """What is called like an image and is no file, and class folders that cannot be shown."""
    write_folder(tmp_path / "train", DIGITS, ["a", "b", "a", "b"])
    odd = tmp_path / "train" / "a" / "odd.png"
    for make in (
        os.mkdir,
        os.mkfifo,
        lambda path: path.symlink_to(path),
        lambda path: path.symlink_to("/nowhere"),
    ):
        make(odd)
        refuses(Refusal(WrongData, "odd.png"), tmp_path)
        odd.rmdir() if odd.is_dir() else odd.unlink()
    for name in (
        "new\nline",
        "\x1b[2Jscreen",
        b"\xff\xfe".decode(errors="surrogateescape"),
        "\x7f",
    ):
        (tmp_path / "train" / name).mkdir()
        told = refusal(lambda: data.load(str(tmp_path)))
        assert "cannot be the name of a class" in told and told.isprintable()
        (tmp_path / "train" / name).rmdir()
