"""What is wrong with data is named before long work: file, row, value and the way out."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

from data.making import DIGITS, png, refuses, tar, write_folder, write_parquet
from models.refusing import problem_of
from randsmooth import data
from randsmooth.errors import MissingValue, NotFound, UnknownName, WrongData, WrongFile
from values import Refusal

X = np.random.default_rng(0).integers(0, 256, (4, 3, 8, 9), dtype=np.uint8)
FLOAT = X.astype(np.float32) / 255


def changed(value: float, image: int) -> NDArray[Any]:
    x = FLOAT.copy()
    x[image, 0, 0, 0] = value
    return x


ARRAYS: list[tuple[Any, Refusal]] = [
    (changed(np.nan, 2), Refusal(WrongData)),
    (X * 1.0, Refusal(WrongData, "[0, 255]", "white, 255")),
    (changed(1.005, 1), Refusal(WrongData, "[0, 1.005]", "x.clip(0, 1)")),
    (X[:, :, :2] // 16 * 1.0, Refusal(WrongData, "[0, 15]", "15")),
    ((FLOAT - 0.5) * 4, Refusal(WrongData, "[-2,")),
    (FLOAT / 255, Refusal(WrongData)),
    ((X > 100).astype(np.uint8), Refusal(WrongData, "uint8", "x.astype('float32')")),
    (X.astype(np.int64), Refusal(WrongData, "int64", "x.astype('uint8')")),
    (X.reshape(4, -1), Refusal(WrongData, "(4, 216)", "x.reshape(N, C, H, W)")),
    (
        np.zeros((4, 3, 8, 3), np.uint8),
        Refusal(WrongData, "(4, 3, 8, 3)", "TensorImages"),
    ),
    (np.zeros((4, 8, 9, 4), np.uint8), Refusal(WrongData, "x[..., :3]")),
    (np.zeros((3, 8, 9), np.uint8), Refusal(WrongData, "x[None]", "x[:, None]")),
    (np.zeros((0, 3, 8, 9), np.uint8), Refusal(WrongData)),
    ((np.float32(0.5), np.zeros(4, int)), Refusal(WrongData, "()", "(4,)")),
    ((X, [0, 1, 2]), Refusal(WrongData, "(4, 3, 8, 9)", "(3,)")),
    ((X, [0.0, 1.0, 2.0, 3.0]), Refusal(WrongData, "float64")),
    ((X, np.eye(4, dtype=int)), Refusal(WrongData, "argmax(1)")),
    ((X, [0, 1, -1, 3]), Refusal(WrongData, "-1")),
    (
        ([X[0], X[1, :, :5]], [0, 1]),
        Refusal(WrongData, "(3, 5, 9)", "(3, 8, 9)", "resize="),
    ),
    (([[0, 1], [2]], [0, 1]), Refusal(WrongData, "(1,)", "(2,)")),
    (torch.tensor(FLOAT).to_sparse(), Refusal(WrongData, "sparse_coo", "x.to_dense()")),
    (
        scipy.sparse.csr_matrix(np.eye(3)),
        Refusal(WrongData, "csr_matrix", "(3, 3)", ".toarray()"),
    ),
    (
        torch.zeros(4, 3, 8, 9, device="meta"),
        Refusal(WrongData, "(4, 3, 8, 9)", "meta"),
    ),
    (
        (torch.tensor(FLOAT), torch.tensor([0, 1, 0, 1]).to_sparse()),
        Refusal(WrongData, "to_dense"),
    ),
    (np.ma.masked_array(FLOAT, mask=FLOAT > 0.99), Refusal(WrongData)),
    (
        [np.ma.masked_array(FLOAT[0], mask=FLOAT[0] > 0.99)],
        Refusal(WrongData, "item 0"),
    ),
]


def test_floats_that_numpy_lacks_are_taken_as_they_are() -> None:
    halves = torch.tensor(X // 16 / 16.0)  # which bfloat16 holds exactly
    for form in (
        halves.bfloat16(),
        [each.bfloat16() for each in halves],
        (halves.bfloat16(), [0, 1, 0, 1]),
    ):
        images = data.load(form, "test")
        assert torch.equal(images.batch(torch.arange(4))[0], halves.float())
    assert torch.equal(
        data.load(-halves[:, 0, 0].bfloat16(), "test").batch([0])[0],
        -halves[:1, 0, 0].float(),
    )


def test_arrays() -> None:
    for given, told in ARRAYS:
        refuses(told, given)
    assert data.load(np.zeros((4, 10, 64, 48), np.uint8)).spec.shape == (10, 64, 48)
    assert data.load((np.zeros((4, 8, 9), bool), [0] * 4)).spec.shape == (1, 8, 9)


CSV = [
    (
        "path,label\n0.png,1\nno.png,0\nnone.png,0\n",
        Refusal(WrongData, "line 3", "no.png"),
    ),
    ("path,label\n0.png,1\n1.png\n", Refusal(WrongData, "line 3", "1 cells")),
    ("path,label\n0.png,1\n1.png,\n", Refusal(WrongData, "line 3")),
    ("path,label\n0.png,0.5\n1.png,1\n", Refusal(WrongData, "0.5")),
    ("path,label\n0.png,1\n1.png,-3\n", Refusal(WrongData, "-3", "mine.csv")),
    ("0.png,1\n1.png,0\n", Refusal(NotFound, "image_column")),
    ("path,label\n", Refusal(WrongData)),
]


def test_csv(tmp_path: Path) -> None:
    for k in range(2):
        (tmp_path / f"{k}.png").write_bytes(png(X[k]))
    for text, told in CSV:
        (tmp_path / "mine.csv").write_text(text)
        refuses(told, tmp_path / "mine.csv")
    (tmp_path / "mine.csv").write_text("path,label\n0.png,1\n1.png,0\n")
    (tmp_path / "1.png").write_bytes(png(X[1])[:120])
    refuses(Refusal(WrongFile), tmp_path / "mine.csv")


def test_tars(tmp_path: Path) -> None:
    image = png(X[0])
    rows: list[tuple[tuple[Any, ...], Refusal]] = [
        ((("a.png", image), ("a.png", image)), Refusal(WrongData, "'a.png'")),
        (
            (("a.png", image), ("b.cls", b"1")),
            Refusal(
                MissingValue, "sample 'b'", ".cls", "image_column", field="image_column"
            ),
        ),
        ((("a.png", image), ("a.cls", b"1"), ("b.png", image)), Refusal(WrongData)),
        ((("a.png", image), ("a.cls", b"\xff")), Refusal(WrongFile, "UTF-8")),
        (
            (("a.png", image), ("a.cls", bytes(70_000))),
            Refusal(WrongData, "65,536 bytes"),
        ),
        ((("a.png", "/etc/passwd"),), Refusal(WrongFile)),
        ((("folder/.hidden", b""),), Refusal(WrongData)),
    ]
    for number, (parts, told) in enumerate(rows):
        (tmp_path / f"{number}.tar").write_bytes(tar(parts))
        refuses(told, tmp_path / f"{number}.tar")
    whole = tar([("a.png", image), ("a.cls", b"1"), ("b.png", image), ("b.cls", b"0")])
    for size in (
        700,
        1024,
        1300,
        1900,
    ):  # in an image, between a sample's parts, in a header, in a label
        (tmp_path / "cut.tar").write_bytes(whole[:size])
        refuses(Refusal(WrongFile, "cut.tar"), tmp_path / "cut.tar")
    (tmp_path / "text.tar").write_bytes(b"text")
    refuses(Refusal(WrongFile, "text.tar"), tmp_path / "text.tar")
    refuses(Refusal(NotFound, "7.tar"), tmp_path / "{0..9}.tar")
    refuses(Refusal(NotFound, "{3..1}.tar"), tmp_path / "{3..1}.tar")


def test_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x_train=X, y_train=[0, 1, 2, 3])
    refuses(Refusal(NotFound, "'test'", "a.npz", "train"), tmp_path / "a.npz", "test")
    np.savez(tmp_path / "b.npz", x=np.array([object()], dtype=object))
    (tmp_path / "c.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:500])
    np.save(tmp_path / "d.npy", X)
    (tmp_path / "d.npy").rename(tmp_path / "d.npz")
    np.savez(
        tmp_path / "e.npz", x=X, y=np.array(["cat", "dog", "cat", "dog"], dtype=object)
    )
    for name, told in (
        ("b", Refusal(WrongData, "b.npz", "np.stack(x)")),
        ("c", Refusal(WrongFile, "c.npz")),
        ("d", Refusal(WrongFile, "d.npz", "np.savez")),
        ("e", Refusal(WrongData, "e.npz", "'y'")),
    ):
        refuses(told, tmp_path / f"{name}.npz")


class Wandering(list[Any]):
    """Items that change from reading to reading."""

    def __getitem__(self, index: Any) -> Any:
        return np.random.default_rng().random((3, 8, 9), np.float32)


def test_items() -> None:
    own = TensorDataset(torch.from_numpy(X))
    for items, told in (
        (Wandering([0, 1]), Refusal(WrongData)),
        ([], Refusal(WrongData)),
        ([X[0], X[0].transpose(0, 2, 1)], Refusal(WrongData, "(8x9, 9x8)", "resize=")),
        (["a.png", "b.png"], Refusal(WrongData, "a str")),
        (DataLoader(own, collate_fn=list), Refusal(WrongData, "collate_fn", "Dataset")),
        (
            DataLoader(own, sampler=SubsetRandomSampler([0])),
            Refusal(WrongData, "Dataset"),
        ),
    ):
        refuses(told, items)
    Refusal(WrongData).check(problem_of(lambda: data.load([(X[0], 1), (X[1],)]).labels))
    late = [X[0] / 255.0] * 100
    late[77] = late[77] * 255
    images = data.load(late)
    problem = problem_of(lambda: images.batch(torch.tensor([77])))
    Refusal(WrongData, "77", "[0, 2").check(problem)


def test_what_of_datasets_is_refused() -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"image": [1], "label": [0]})
    refuses(Refusal(NotFound, "IterableDataset"), rows.to_iterable_dataset())
    refuses(
        Refusal(NotFound, "'test'", "extra"),
        datasets.DatasetDict({"extra": rows}),
        "test",
    )


LABELS: list[tuple[list[Any], Refusal]] = [
    ([0, 1, None, 2], Refusal(WrongData)),
    (["a", "b", "c", None], Refusal(WrongData)),
    ([0.5, 1, 2, 3], Refusal(WrongData)),
]


def test_names_and_folders(tmp_path: Path) -> None:
    for name, told in (
        ("cifar-10", Refusal(NotFound, "'cifar10'")),
        ("./no/such", Refusal(NotFound, "no/such")),
    ):
        refuses(told, name)
        told.check(problem_of(data.describe, name))
    refuses(
        Refusal(UnknownName, "'best'", "test, train", field="split"), "digits", "best"
    )
    refuses(Refusal(NotFound, "'validation'", "train, test"), "digits", "valid")
    for made in ("empty", "classless/train/cat"):
        (tmp_path / made).mkdir(parents=True)
    write_parquet(tmp_path / "half" / "train.parquet", DIGITS, [0, 1, 2, 3])
    write_folder(tmp_path / "odd" / "train", DIGITS, ["a", "b", "a", "b"])
    write_folder(tmp_path / "odd" / "test", DIGITS[:1], ["c"])
    write_parquet(
        tmp_path / "shards" / "train-00000-of-00003.parquet", DIGITS, [0, 1, 2, 3]
    )
    write_parquet(
        tmp_path / "image" / "train.parquet", DIGITS, [0, 1, 2, 3], image="picture"
    )
    write_parquet(
        tmp_path / "label" / "train.parquet", DIGITS, [0, 1, 2, 3], label="kind"
    )
    for k, (labels, words) in enumerate(LABELS):
        write_parquet(tmp_path / f"labels{k}" / "train.parquet", DIGITS, labels)
        refuses(words, tmp_path / f"labels{k}")
    write_parquet(
        tmp_path / "hidden" / "test.parquet", DIGITS, pa.array([None] * 4, pa.int64())
    )
    assert not data.load(str(tmp_path / "hidden"), "test").labelled
    for folder, split, words in (
        ("half", "test", Refusal(NotFound, "'test'")),
        ("empty", "train", Refusal(NotFound)),
        ("classless", "train", Refusal(WrongData)),
        ("odd", "test", Refusal(WrongData, "'c'", "a, b")),
        ("shards", "train", Refusal(WrongData)),
        ("image", "train", Refusal(NotFound, "picture, label", "image_column")),
        ("label", "train", Refusal(NotFound, "image, kind", "label_column")),
    ):
        refuses(words, tmp_path / folder, split)


def test_what_a_named_set_must_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    refuses(Refusal(NotFound, "10"), "cifar10-jpeg")
    write_folder(tmp_path / "mnist" / "train", DIGITS, ["a", "b", "a", "b"])
    refuses(Refusal(WrongData, "mnist"), "mnist")
    file = tmp_path / "mnist" / "train.parquet"
    for label in (-1, 10):
        write_parquet(file, DIGITS, [0, 1, label, 99])
        refuses(Refusal(WrongData, str(label), "train.parquet", "0..9"), "mnist")
    for bad, named in (
        (b"text", ()),
        (png(np.zeros((28, 27), np.uint8)), ("mnist", "28x28")),
        (png(np.zeros((3, 28, 28), np.uint8)), ("mnist", "28x28")),
    ):
        write_parquet(file, [*DIGITS, bad], range(5))
        refuses(Refusal(WrongData, "image 4", *named), "mnist")
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    image = pa.array([{"bytes": None, "path": "elsewhere.png"}], kind)
    pq.write_table(pa.table({"image": image, "label": [0]}), file)
    refuses(Refusal(WrongData), "mnist")
    whole = write_parquet(file, DIGITS, [0, 1, 2, 3]).read_bytes()
    # The last: a footer that reads, before data that does not.
    for damaged in (
        b"",
        whole[: len(whole) // 2],
        whole[:-30],
        whole[:4] + b"\xff" * 396 + whole[400:],
    ):
        file.write_bytes(damaged)
        refuses(Refusal(WrongFile, "train.parquet", "again"), "mnist")


def test_positions() -> None:
    images = data.load("digits", "test")
    x, y = images.batch([3, 0])
    again, labels = images.batch(torch.tensor([3, 0]))
    assert (
        torch.equal(x, again)
        and torch.equal(y, labels)
        and len(images.batch([])[0]) == 0
    )
    with pytest.raises(IndexError):
        images.batch(torch.tensor([364]))


# What names the impostor, and its content.
INSTEAD = {
    "Sign in": b"<!DOCTYPE html><html><head><title>Sign in</title></head></html>",
    "Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 200\n",
    "empty": b"",
}


def test_what_stands_for_a_file_is_named(tmp_path: Path) -> None:
    """What a browser, `git clone` or a full disk leaves in place of images and of files of them."""
    write_folder(tmp_path / "photos", DIGITS, ["a", "b", "a", "b"])
    for what, content in INSTEAD.items():
        (tmp_path / "photos" / "b" / "001.png").write_bytes(content)
        refuses(Refusal(WrongData, "001.png", what), tmp_path / "photos")
        (tmp_path / "set").mkdir(exist_ok=True)
        for name in (
            "x.npz",
            "x.csv",
            "x.parquet",
            "x.tar",
            "set/train.parquet",
            "set/train-000.tar",
        ):
            (tmp_path / name).write_bytes(content)
            refuses(
                Refusal(WrongFile, name, what),
                tmp_path / name if name[0] == "x" else tmp_path / "set",
            )
            (tmp_path / name).unlink()


def test_names_of_images_without_suffix_are_no_features(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("image_id,label\n0,1\n1,0\n")
    refuses(
        Refusal(NotFound, "image_id, label", "image_column"), tmp_path / "labels.csv"
    )
