"""Tables from elsewhere: large Parquet files, mapped from the cache of `datasets`; the hub; and data sets at URLs."""

import io
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from fsspec.implementations.memory import MemoryFileSystem

from data.making import (
    DIGITS,
    png,
    random_images,
    refuses,
    tar,
    write_folder,
    write_parquet,
)
from models.refusing import refusal
from randsmooth import data
from randsmooth.data import parquet_images
from randsmooth.data.datasets_library import from_hub
from randsmooth.data.parquet_images import read_parquet
from randsmooth.errors import Unreachable, WrongData
from values import Refusal

ROWS, NAMES = 320, ["ant", "bee", "cat", "dog"]


def write(path: Path, seed: int = 0) -> Path:
    """320 random images with names of classes."""
    pixels = np.random.default_rng(seed).integers(0, 256, (ROWS, 1, 8, 8), np.uint8)
    return write_parquet(path, pixels, [row % 4 for row in range(ROWS)], classes=NAMES)


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Whether files count as large from the first byte on."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(
        datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "datasets")
    )
    return lambda yes: monkeypatch.setattr(
        parquet_images, "HELD_BYTES", 0 if yes else 2**28
    )


@pytest.fixture
def store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MemoryFileSystem]:
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
    yield fsspec.filesystem("memory")
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def test_what_is_mapped_is_what_is_held(large: Any, tmp_path: Path) -> None:
    files = [
        write(tmp_path / f"train-0000{part}-of-00002.parquet", part)
        for part in range(2)
    ]
    held = read_parquet(files)
    described = data.describe(tmp_path)
    large(True)
    mapped = read_parquet(files)
    assert [*(tmp_path / "datasets").rglob("*.arrow")]
    assert torch.equal(
        mapped.labels, held.labels
    ) and mapped.classes == held.classes == tuple(NAMES)
    order = random.Random(0).choices(range(2 * ROWS), k=300)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(mapped.content, order)) == [
            held.content(row) for row in order
        ]
    assert data.describe(tmp_path) == described
    write(files[0], 2)  # another one of the same name
    assert read_parquet(files).content(0) != held.content(0)


def test_a_column_of_bytes_alone_holds_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("datasets")
    pixels = random_images(3, (1, 8, 8))
    columns = {"image": [png(each) for each in pixels], "label": [0, 2, 1]}
    pq.write_table(pa.table(columns), tmp_path / "plain.parquet")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    for most in (parquet_images.HELD_BYTES, 0):  # held in memory, and mapped from disk
        monkeypatch.setattr(parquet_images, "HELD_BYTES", most)
        images = data.load(str(tmp_path / "plain.parquet"), "test")
        x, y = images.batch(torch.arange(3))
        assert np.array_equal((x * 255).round().byte().numpy(), pixels)
        assert y.tolist() == [0, 2, 1]


def test_parquet_at_a_url_is_read_as_the_one_here(
    large: Any, store: MemoryFileSystem, tmp_path: Path
) -> None:
    names = [
        "data/train-00000-of-00002.parquet",
        "data/train-00001-of-00002.parquet",
        "data/validation.parquet",
    ]
    for seed, name in enumerate(names):
        store.pipe(
            f"/bucket/mine/{name}", write(tmp_path / "mine" / name, seed).read_bytes()
        )
    for yes in (False, True):
        large(yes)
        for place, split, rows in (
            ("mine", "train", 2 * ROWS),
            (f"mine/{names[2]}", "test", ROWS),
        ):
            there, here = (
                data.load(f"{root}/{place}", split, stream=True)
                for root in ("memory://bucket", tmp_path)
            )
            assert (there.spec, len(there)) == (here.spec, rows)
            assert torch.equal(
                there.batch(torch.arange(9))[0], here.batch(torch.arange(9))[0]
            )
    store.rm_file(f"/bucket/mine/{names[1]}")
    refuses(Refusal(WrongData), "memory://bucket/mine")


def test_other_forms_at_urls_are_copied(
    store: MemoryFileSystem, tmp_path: Path
) -> None:
    stream = io.BytesIO()
    np.savez(stream, x_test=np.zeros((3, 8, 8), np.uint8), y_test=[0, 1, 2])
    store.pipe("/bucket/mine.npz", stream.getvalue())
    assert len(data.load("memory://bucket/mine.npz", "test")) == 3
    write_folder(tmp_path / "photos" / "test", DIGITS, ["cat", "dog", "cat", "dog"])
    for path in (tmp_path / "photos").rglob("*.png"):
        store.pipe(
            f"/bucket/{path.relative_to(tmp_path).as_posix()}", path.read_bytes()
        )
    there, here = (
        data.load(place, "test")
        for place in ("memory://bucket/photos", str(tmp_path / "photos"))
    )
    assert there.spec == here.spec and there.spec.classes == ("cat", "dog")
    for number in range(3):
        store.pipe(
            f"/bucket/tars/part-{number}.tar",
            tar([(f"{number}.png", png(DIGITS[number])), (f"{number}.cls", b"1")]),
        )
    shards = data.load("memory://bucket/tars", "test", stream=True)
    assert (len(shards), shards.labels.tolist()) == (3, [1, 1, 1])
    assert len(data.load(f"file://{tmp_path}/photos", "test")) == 4
    refuses(Refusal(Unreachable, "bucket/none"), "memory://bucket/none")


def test_from_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`load_dataset` takes a folder where it takes a hub id: everything but the network is real."""
    pytest.importorskip("datasets")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    pixels = random_images(3, (1, 28, 28))
    write_parquet(tmp_path / "hub" / "test.parquet", pixels, [4, 5, 6])
    spec = replace(data.DATASETS["mnist"], hub=str(tmp_path / "hub"), hub_config=None)
    table = from_hub(spec, "test")
    assert table.labels.tolist() == [4, 5, 6]
    assert np.array_equal(table.read_many(torch.arange(3), spec).numpy(), pixels)


def test_without_a_network_the_answer_comes_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At a port where nothing listens, without the waits between the library's retries, and with both ways out."""
    pytest.importorskip("datasets")
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    monkeypatch.delenv("RANDSMOOTH_DATA", raising=False)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    said = refusal(lambda: data.load("fashion-mnist", "test"))
    ways = (
        "RANDSMOOTH_DATA",
        "http://127.0.0.1:9",
        "hf download zalando-datasets/fashion_mnist",
    )
    assert [part for part in ways if part not in said] == [] and sum(waits) < 1
