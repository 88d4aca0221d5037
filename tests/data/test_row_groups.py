"""Large Parquet files, read a few rows at a time, and Parquet files at URLs."""

from __future__ import annotations

import io
import random
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from fsspec.implementations.memory import MemoryFileSystem

from randsmooth import data
from randsmooth.data import row_groups, table
from randsmooth.data.row_groups import RowGroups
from randsmooth.data.table import ImageTable, StreamedTable, read_parquet
from randsmooth.errors import InputError

ROWS, GROUP = 640, 100


@pytest.fixture
def file(tmp_path: Path, encode: Any) -> Path:
    """640 random images in row groups of 100."""
    return written(tmp_path / "train.parquet", encode)


def written(path: Path, encode: Any, group: int = GROUP) -> Path:
    pixels = np.random.default_rng(0).integers(0, 256, (ROWS, 1, 8, 8), np.uint8)
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = pa.array([{"bytes": encode(each), "path": None} for each in pixels], kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"image": images, "label": np.arange(ROWS) % 10}), path, row_group_size=group)
    return path


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as large from the first byte, and few rows are held."""
    monkeypatch.setattr(table, "HELD_BYTES", 0)
    monkeypatch.setattr(row_groups, "HELD_BYTES", 4_000)
    monkeypatch.setattr(row_groups, "rows_at_a_time", lambda metadata: 8)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
    yield fsspec.filesystem("memory")
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def right(file: Path) -> list[bytes]:
    return [cell["bytes"] for cell in pq.read_table(file).column("image").to_pylist()]


@pytest.mark.parametrize("step", [1, 16, 250])
def test_rows_in_rising_order_are_read_once_and_few_are_held(step: int, file: Path, small: None) -> None:
    rows, expected = RowGroups([file, file], "image"), 2 * right(file)
    asked = range(3, 2 * ROWS, step)
    for row in asked:
        assert rows.at(row) == expected[row]
        assert rows._held_bytes <= 4_000
    groups = {row // ROWS * 7 + row % ROWS // GROUP for row in asked}
    assert (rows.groups_read, rows.jumps) == (len(groups), 0)


def test_rows_in_any_order_and_from_many_threads_are_the_right_ones(file: Path, small: None) -> None:
    rows, expected = RowGroups([file], "image"), right(file)
    order = random.Random(0).sample(range(ROWS), 200)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(rows.at, order)) == [expected[row] for row in order]
    assert rows.jumps > 20


def test_a_large_table_streams_until_it_is_asked_for_at_random(file: Path, small: None) -> None:
    streamed, expected = read_parquet([file]), right(file)
    assert isinstance(streamed, StreamedTable) and streamed.labels.tolist() == [row % 10 for row in range(ROWS)]
    for row in range(0, ROWS, 7):
        assert streamed.open(row).read() == expected[row]
    assert streamed._at_random is None
    for row in random.Random(0).choices(range(ROWS), k=300):
        assert streamed.open(row).read() == expected[row]
    assert isinstance(streamed._at_random, ImageTable)


def test_a_data_set_is_the_same_whether_it_streams_or_not(
    file: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    held = data.load(str(file), "test", stream=True)
    request.getfixturevalue("small")
    streamed = data.load(str(file), "test", stream=True)
    chosen = torch.arange(5, ROWS, 16)
    assert held.spec == streamed.spec
    for x, y in zip(held.batch(chosen), streamed.batch(chosen), strict=True):
        assert torch.equal(x, y)


def test_damage_in_a_row_group_is_found_when_it_is_read(file: Path, small: None) -> None:
    content = bytearray(file.read_bytes())
    for place in range(len(content) // 2, len(content) // 2 + 400):
        content[place] ^= 0xFF
    file.write_bytes(content)
    rows = RowGroups([file], "image")
    assert rows.at(0)
    with pytest.raises(InputError, match=r"train\.parquet is a damaged Parquet file"):
        for row in range(ROWS):
            rows.at(row)


def test_parquet_at_a_url_is_read_where_it_is(file: Path, small: None, store: MemoryFileSystem, tmp_path: Path) -> None:
    store.pipe("/bucket/train.parquet", file.read_bytes())
    there, here = (data.load(place, "train", stream=True) for place in ("memory://bucket/train.parquet", str(file)))
    assert there.spec == here.spec
    assert torch.equal(there.batch(torch.arange(9))[0], here.batch(torch.arange(9))[0])
    assert not (tmp_path / "cache").exists()


def test_a_folder_of_shards_at_a_url_has_its_splits(
    encode: Any, store: MemoryFileSystem, tmp_path: Path, small: None
) -> None:
    names = ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "data/validation.parquet"]
    for name in names:
        store.pipe(f"/bucket/mine/{name}", written(tmp_path / "mine" / name, encode).read_bytes())
    for split, rows in (("train", 2 * ROWS), ("test", ROWS)):
        there, here = (
            data.load(place, split, stream=True) for place in ("memory://bucket/mine", str(tmp_path / "mine"))
        )
        assert (there.spec, len(there)) == (here.spec, rows)
    store.rm_file(f"/bucket/mine/{names[1]}")
    with pytest.raises(InputError, match="memory://bucket/mine holds 1 of the shards"):
        data.load("memory://bucket/mine", "train")


def test_other_forms_at_urls_are_copied(
    store: MemoryFileSystem, tmp_path: Path, write_folder: Any, pixels: Any, encode: Any
) -> None:
    stream = io.BytesIO()
    np.savez(stream, x_test=np.zeros((3, 8, 8), np.uint8), y_test=[0, 1, 2])
    store.pipe("/bucket/mine.npz", stream.getvalue())
    assert len(data.load("memory://bucket/mine.npz", "test")) == 3
    write_folder(tmp_path / "photos" / "test", pixels, ["cat", "dog", "cat", "dog"])
    for path in (tmp_path / "photos").rglob("*.png"):
        store.pipe(f"/bucket/{path.relative_to(tmp_path).as_posix()}", path.read_bytes())
    there, here = (data.load(place, "test") for place in ("memory://bucket/photos", str(tmp_path / "photos")))
    assert there.spec == here.spec and there.spec.classes == ("cat", "dog")
    for number in range(3):
        shard = io.BytesIO()
        with tarfile.open(fileobj=shard, mode="w") as archive:
            for part, content in ((f"{number}.png", encode(pixels[number])), (f"{number}.cls", b"1")):
                member = tarfile.TarInfo(part)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        store.pipe(f"/bucket/part-{number}.tar", shard.getvalue())
    shards = data.load("memory://bucket/part-{1..2}.tar", "test", stream=True)
    assert (len(shards), shards.labels.tolist()) == (2, [1, 1])
    assert len(data.load(f"file://{tmp_path}/photos", "test")) == 4
    with pytest.raises(InputError, match="there is nothing at memory://bucket/none"):
        data.load("memory://bucket/none")
