"""Each kind of bad input is an InputError that names the value and the way out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from data.refusing import refuses
from randsmooth import data
from randsmooth.errors import InputError


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cifar-10", "unknown data set 'cifar-10': did you mean 'cifar10'"),
        ("MNIST", "did you mean 'mnist'"),
        ("./no/such", "no folder at no/such"),
    ],
)
def test_unknown_dataset(name: str, message: str) -> None:
    refuses(message, name)
    with pytest.raises(InputError, match=message):
        data.describe(name)


def test_unknown_split() -> None:
    refuses("unknown split 'valid': .*one of: test, train", "digits", "valid")


def test_missing_split(tmp_path: Path, write_parquet: Callable[..., None], pixels: NDArray[np.uint8]) -> None:
    write_parquet(tmp_path / "train.parquet", pixels, [0, 1, 2, 3])
    refuses(r"no split 'test' in .*looked for test.parquet or .*splits there: train", tmp_path, "test")


def test_empty_folder(tmp_path: Path) -> None:
    refuses("no data set in", tmp_path)


def test_empty_class_folders(tmp_path: Path) -> None:
    (tmp_path / "train" / "cat").mkdir(parents=True)
    refuses("no images in", tmp_path)


def test_a_test_split_with_a_class_of_its_own(
    tmp_path: Path, write_folder: Callable[..., None], pixels: NDArray[np.uint8]
) -> None:
    write_folder(tmp_path / "train", pixels, ["a", "b", "a", "b"])
    write_folder(tmp_path / "test", pixels[:1], ["c"])
    refuses("class folder 'c'; known are a, b", tmp_path, "test")


def test_foreign_class_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_folder: Callable[..., None], pixels: NDArray[np.uint8]
) -> None:
    write_folder(tmp_path / "mnist" / "train", pixels, ["a", "b", "a", "b"])
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    refuses("class folders a, b, ... are not the classes of mnist", "mnist")


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_truncated_parquet(
    tmp_path: Path, write_parquet: Callable[..., None], pixels: NDArray[np.uint8], keep: float
) -> None:
    file = tmp_path / "train.parquet"
    write_parquet(file, pixels, [0, 1, 2, 3])
    whole = file.read_bytes()
    file.write_bytes(whole[: int(keep) if keep in (0, 10) else int(keep * len(whole))])
    refuses("train.parquet is no readable Parquet file", tmp_path)


def test_damaged_parquet(
    tmp_path: Path, write_parquet: Callable[..., None], random_images: Callable[..., NDArray[np.uint8]]
) -> None:
    """A footer that reads, before data that does not."""
    file = tmp_path / "train.parquet"
    write_parquet(file, random_images(4, (1, 28, 28)), [0, 1, 2, 3])
    whole = bytearray(file.read_bytes())
    whole[4:400] = b"\xff" * 396
    file.write_bytes(whole)
    refuses("train.parquet is a damaged Parquet file", tmp_path)


def test_missing_shard(tmp_path: Path, write_parquet: Callable[..., None], pixels: NDArray[np.uint8]) -> None:
    write_parquet(tmp_path / "train-00000-of-00003.parquet", pixels, [0, 1, 2, 3])
    refuses("holds 1 of the shards", tmp_path)


@pytest.mark.parametrize("columns", [{"image": "picture"}, {"label": "kind"}])
def test_missing_columns(
    tmp_path: Path, write_parquet: Callable[..., None], pixels: NDArray[np.uint8], columns: dict[str, str]
) -> None:
    write_parquet(tmp_path / "train.parquet", pixels, [0, 1, 2, 3], **columns)
    refuses("has the columns (picture, label|image, kind), none called (image|label): .*--image-column", tmp_path)


@pytest.mark.parametrize("labels", [[0, 1, None, 2], ["a", "b", "c", "d"], [0.5, 1, 2, 3]])
def test_labels_that_are_no_integers(
    tmp_path: Path, write_parquet: Callable[..., None], pixels: NDArray[np.uint8], labels: Any
) -> None:
    write_parquet(tmp_path / "train.parquet", pixels, labels)
    refuses("must be integers from 0", tmp_path)


@pytest.mark.parametrize("label", [10, -1])
def test_label_out_of_range(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_parquet: Callable[..., None],
    pixels: NDArray[np.uint8],
    label: Any,
) -> None:
    write_parquet(tmp_path / "mnist" / "train.parquet", pixels, [0, 1, label, 99])
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    refuses(rf"label {label} of image 2 of .*train.parquet is not in 0\.\.9", "mnist")


@pytest.mark.parametrize("data_bytes", [b"", b"no image at all", None])
def test_an_image_that_cannot_be_decoded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_parquet: Callable[..., None],
    encode: Callable[..., bytes],
    pixels: NDArray[np.uint8],
    data_bytes: bytes | None,
) -> None:
    bad = encode(pixels[0])[:200] if data_bytes is None else data_bytes
    write_parquet(tmp_path / "mnist" / "train.parquet", [*pixels, bad], range(5))
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    refuses("image 4 of .*cannot be decoded", "mnist")


def test_a_row_without_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "mnist").mkdir()
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    image = pa.array([{"bytes": None, "path": "elsewhere.png"}], kind)
    pq.write_table(pa.table({"image": image, "label": [0]}), tmp_path / "mnist" / "train.parquet")
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    refuses("image 0 of .*has no bytes", "mnist")


@pytest.mark.parametrize("shape", [(28, 27), (3, 28, 28), (4, 28, 28)])
def test_an_image_of_another_form(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_parquet: Callable[..., None],
    pixels: NDArray[np.uint8],
    shape: tuple[int, ...],
) -> None:
    odd = np.zeros(shape, np.uint8)
    write_parquet(tmp_path / "mnist" / "train.parquet", [*pixels, odd], range(5))
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    refuses("image 4 of .* is 28x2[78] with . channels? .*; mnist needs 28x28 with 1 channel ", "mnist")


@pytest.mark.parametrize("index", [4, 100])
def test_an_index_out_of_range(
    tmp_path: Path, write_parquet: Callable[..., None], pixels: NDArray[np.uint8], index: int
) -> None:
    write_parquet(tmp_path / "train.parquet", pixels, [0, 1, 2, 3])
    with pytest.raises(IndexError):
        data.load(str(tmp_path)).batch(torch.tensor([index]))


def test_read_image_refuses(tmp_path: Path, encode: Callable[..., bytes]) -> None:
    file = tmp_path / "photo.png"
    with pytest.raises(InputError, match="no image file at"):
        data.read_image(file, data.DATASETS["mnist"])
    file.write_bytes(encode(np.zeros((3, 40, 50), np.uint8)))
    with pytest.raises(InputError, match=r"photo.png is 40x50 with 3 channels .*cifar10 needs 32x32 with 3"):
        data.read_image(file, data.DATASETS["cifar10"])
    file.write_bytes(b"text")
    with pytest.raises(InputError, match=r"photo\.png cannot be decoded"):
        data.read_image(file, data.DATASETS["cifar10"])


def test_a_batch_takes_a_list_of_positions_and_names_what_is_none() -> None:
    images = data.load("digits", "test")
    x, y = images.batch([3, 0])
    again, labels = images.batch(torch.tensor([3, 0]))
    assert torch.equal(x, again) and torch.equal(y, labels)
    assert len(images.batch([])[0]) == 0
    for wrong in ([364], [-1], [0.5], ["a"], [True], [None]):
        with pytest.raises(InputError, match="must be positions from 0 to 363"):
            images.batch(wrong)  # type: ignore[arg-type]
