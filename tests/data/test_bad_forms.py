"""What is wrong with a user's own data is named before long work: file, row, value and the way out."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

import randsmooth as rs
from data.refusing import refuses
from randsmooth import data
from randsmooth.errors import InputError

X = np.random.default_rng(0).integers(0, 256, (4, 3, 8, 9), dtype=np.uint8)
FLOAT = X.astype(np.float32) / 255


def nan() -> NDArray[Any]:
    x = FLOAT.copy()
    x[2, 0, 0, 0] = np.nan
    return x


def above() -> NDArray[Any]:
    x = FLOAT.copy()
    x[1, 0, 0, 0] = 1.5
    return x


ARRAYS: dict[str, Any] = {
    r"image 2 of x holds NaN": nan(),
    r"values in \[0, 255\]; expected floats in \[0, 1\]: divide by 255; the first such image is image 0": X * 1.0,
    r"values in \[0, 16\]; .*divide by .*, 16 if it is among these \(255 would leave none above 0.063\)": X // 16
    + (X == 255) * 1.0,
    r"values in \[0, 60000\]; .*divide by 65535;": FLOAT * 60_000,
    r"values in \[0, 1.0001\].*: clip it, x.clip\(0, 1\);": FLOAT * 1.0001,
    r"values in \[0, 1.5\].*the first such image is image 1 of x": above(),
    r"values in \[-2, .*undo its normalisation": (FLOAT - 0.5) * 4,
    r"was it divided by 255 twice": FLOAT / 255,
    r"x is uint8 and holds 0 and 1 only": (X > 100).astype(np.uint8),
    r"x holds int64; expected uint8 in 0..255, x.astype\('uint8'\)": X.astype(np.int64),
    r"x holds <U1": np.full((2, 8, 9), "a"),
    r"x has shape \(4, 216\); expected images": X.reshape(4, -1),
    r"could be \(N, C, H, W\) or \(N, H, W, C\)": np.zeros((4, 3, 8, 3), np.uint8),
    r"drop the alpha channel, x\[..., :3\]": np.zeros((4, 8, 9, 4), np.uint8),
    r"no axis is clearly that of the channels: give \(N, C, H, W\)": np.zeros((4, 8, 9, 6), np.uint8),
    r"could be one image or grey ones": np.zeros((3, 8, 9), np.uint8),
    r"no images in x": np.zeros((0, 3, 8, 9), np.uint8),
}


@pytest.mark.parametrize("told", ARRAYS)
def test_arrays(told: str) -> None:
    with pytest.raises(InputError, match=told):
        data.load(ARRAYS[told])


def test_channels_of_other_numbers_come_first() -> None:
    assert data.load(np.zeros((4, 10, 64, 48), np.uint8)).spec.shape == (10, 64, 48)
    assert data.load((np.zeros((4, 8, 9), bool), [0] * 4)).spec.shape == (1, 8, 9)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([0, 1, 2], r"x has the shape \(4, 3, 8, 9\), and the labels \(3,\): give one label an image"),
        ([0.0, 1.0, 2.0, 3.0], r"labels have type float64; expected whole numbers"),
        (np.eye(4, dtype=int), r"take argmax\(1\) of one-hot labels"),
        ([0, 1, -2, 3], r"label -2 of image 2 of x is not in 0\.\.99999"),
        ([0, 1, -1, 3], r"label -1 of image 2 of x .*must stand for all of them"),
        ([0, 1, 10**6, 3], r"label 1000000 of image 2 of x"),
    ],
)
def test_labels(labels: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        data.load((X, np.asarray(labels)))


def test_a_single_number_is_no_images() -> None:
    with pytest.raises(InputError, match=r"x has the shape \(\), and the labels \(4,\)"):
        data.load((np.float32(0.5), np.zeros(4, int)))


def test_labels_beyond_the_model_are_named_before_the_work(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(216, 3)).eval()
    with pytest.raises(InputError, match=r"label 3 of image 3 of arrays is not in 0\.\.2: the model gives 3 logits"):
        rs.certify(model, (X, [0, 1, 2, 3]), sigma=0.5, n=100, out=tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())


def write_csv(folder: Path, text: str, encode: Callable[..., bytes]) -> Path:
    for k in range(2):
        (folder / f"{k}.png").write_bytes(encode(X[k]))
    (folder / "mine.csv").write_text(text)
    return folder / "mine.csv"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("path,label\n0.png,1\nno.png,0\nnone.png,0\n", r"line 3: no image file at .*no.png, and so for 2 of 3 rows"),
        ("path,label\n0.png,1\n1.png\n", r"line 3 has 1 cells; expected 2, as line 1 has"),
        ("path,label\n0.png,1\n1.png,\n", r"line 3 of .* has no label, and others have"),
        ("path,label\n0.png,0.5\n1.png,1\n", r"such as 0.5, must be whole numbers or names"),
        ("path,label\n0.png,1\n1.png,-3\n", r"label -3 of line 3 of .*mine.csv"),
        ("0.png,1\n1.png,0\n", r"has the columns 0.png, 1, none called image"),
        ("path,label\n", r"no images in .*mine.csv"),
        ('path,label\n"0.png,1\n', r"is no CSV file in UTF-8"),
        ("path,path\n0.png,1.png\n", r"has the column 'path' twice"),
        ("path,label\n\0,1\n1.png,0\n", r"line 2: no image file at|no CSV file"),
    ],
)
def test_csv(text: str, told: str, tmp_path: Path, encode: Callable[..., bytes]) -> None:
    refuses(told, write_csv(tmp_path, text, encode))


def test_a_broken_image_among_others(tmp_path: Path, encode: Callable[..., bytes]) -> None:
    path = write_csv(tmp_path, "path,label\n0.png,1\n1.png,0\n", encode)
    (tmp_path / "1.png").write_bytes(encode(X[1])[:120])
    refuses(r"image 1 \(.*1.png\) cannot be decoded", path)


def members(path: Path, *each: Any) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in each:
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def test_tars(tmp_path: Path, encode: Callable[..., bytes]) -> None:
    png = encode(X[0])
    for number, (told, parts) in enumerate(
        (
            (r"has the key 'a' twice", (("a.png", png), ("b.png", png), ("a.cls", b"1"))),
            (r"has a.png twice", (("a.png", png), ("a.png", png))),
            (r"sample 'b' of .* has no image among .cls", (("a.png", png), ("b.cls", b"1"))),
            (r"has no label, and others have", (("a.png", png), ("a.cls", b"1"), ("b.png", png))),
            (r"which is no plain file", (("a.png", "/etc/passwd"),)),
            (
                r"the label of sample 'a' .* is .*expected a whole number or a name",
                (("a.png", png), ("a.json", b'{"cls": [1]}')),
            ),
            (r"no images in", (("folder/.hidden", b""),)),
        )
    ):
        refuses(told, members(tmp_path / f"{number}.tar", *parts))
    whole = members(tmp_path / "whole.tar", ("a.png", png), ("a.cls", b"1"), ("b.png", png), ("b.cls", b"0"))
    content = whole.read_bytes()
    (tmp_path / "cut.tar").write_bytes(content[:700])
    refuses(r"cut.tar|cannot be decoded|cut short", tmp_path / "cut.tar")
    (tmp_path / "text.tar").write_bytes(b"text")
    refuses(r"text.tar cannot be read as a tar file", tmp_path / "text.tar")
    refuses(r"no file at .*part-2.tar", tmp_path / "part-{2..3}.tar")


def test_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x_train=X, y_train=[0, 1, 2, 3])
    refuses(r"no split 'test' in .*a.npz; splits there: train", tmp_path / "a.npz", "test")
    np.savez(tmp_path / "b.npz", x=np.array([object()], dtype=object))
    refuses(r"b.npz is a damaged .npz file: .*pickle", tmp_path / "b.npz")
    (tmp_path / "c.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:500])
    refuses(r"c.npz is a damaged .npz file", tmp_path / "c.npz")
    np.save(tmp_path / "d.npy", X)
    (tmp_path / "d.npy").rename(tmp_path / "d.npz")
    refuses(r"d.npz holds one array", tmp_path / "d.npz")


def test_items() -> None:
    class Wandering(list[Any]):
        def __getitem__(self, index: Any) -> Any:
            return np.random.default_rng().random((3, 8, 9), np.float32)

    with pytest.raises(InputError, match="item 0 of the Wandering has other pixels each time"):
        data.load(Wandering([0, 1]))
    with pytest.raises(InputError, match="no images in the list"):
        data.load([])
    with pytest.raises(InputError, match=r"have 2 sizes \(8x9, 9x8\): ask for one size"):
        data.load([X[0], X[0].transpose(0, 2, 1)])
    with pytest.raises(InputError, match="item 1 of the list has no label, unlike the first item"):
        data.load([(X[0], 1), (X[1],)]).labels  # noqa: B018
    with pytest.raises(InputError, match="holds a str; expected a tensor, an array or a PIL image"):
        data.load(["a.png", "b.png"])
    late = [X[0] / 255.0] * 100
    late[77] = late[77] * 255
    images = data.load(late)
    with pytest.raises(InputError, match=r"the image of item 77 of the list has values in \[0, 2"):
        images.batch(torch.tensor([77]))
    wrong = TensorDataset(torch.from_numpy(X), torch.arange(4))
    wrong.targets = [0, 1, 2, 0]  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="item 3 of the TensorDataset has the label 3, and 0 in `targets`"):
        data.load(wrong).batch(torch.tensor([3]))


def test_a_loader_without_an_order() -> None:
    loader = DataLoader(TensorDataset(torch.from_numpy(X)), sampler=SubsetRandomSampler([0, 2]))
    with pytest.raises(
        InputError, match="draws with a SubsetRandomSampler, so that its images have no fixed positions"
    ):
        data.load(loader)


def test_streamed_hub_data_are_refused() -> None:
    datasets = pytest.importorskip("datasets")
    streamed = datasets.Dataset.from_dict({"image": [1], "label": [0]}).to_iterable_dataset()
    with pytest.raises(InputError, match="take the part you want"):
        data.load(streamed)


def test_a_split_that_a_dict_lacks() -> None:
    datasets = pytest.importorskip("datasets")
    found = datasets.DatasetDict({"extra": datasets.Dataset.from_dict({"image": [1], "label": [0]})})
    with pytest.raises(InputError, match="no split 'test' in the DatasetDict; splits there: extra"):
        data.load(found, "test")
