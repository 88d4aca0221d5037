"""Every form in which a user brings images gives the same pixels and labels."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

import randsmooth as rs
from data.making import (
    Pixels,
    png,
    random_images,
    refuses,
    tar,
    write_folder,
    write_parquet,
)
from models.refusing import problem_of
from randsmooth import data
from randsmooth.errors import MissingValue, NotFound, OutputExists, WrongData
from values import Refusal, noted

LABELS = [2, 0, 1, 2, 0, 1]
PIXELS = random_images(len(LABELS), (3, 12, 10))  # not square
X = torch.from_numpy(PIXELS).float() / 255


class Own(Dataset[Any]):
    """Anybody's data set: floats, and labels that only the items tell."""

    def __init__(self, pixels: Pixels, labels: list[int] = LABELS) -> None:
        self.pixels, self.labels_, self.read = pixels, labels, 0

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> Any:
        self.read += 1
        return torch.from_numpy(self.pixels[index]) / 255, self.labels_[index]


def as_pil(pixels: Pixels) -> list[Any]:
    return [
        (Image.fromarray(each.transpose(1, 2, 0)), label)
        for each, label in zip(pixels, LABELS, strict=True)
    ]


def samples(folder: Path, form: str) -> str:
    """Tar files of images and labels, one or two: their path, pattern or folder."""
    parts: list[tuple[str, bytes | str]] = []
    for k, each in enumerate(PIXELS):
        parts += [
            (f"s{k:03d}.cls", str(LABELS[k]).encode()),
            (f"s{k:03d}.png", png(each)),
        ]
    (folder / "part-000.tar").write_bytes(tar(parts if form == "tar" else parts[:4]))
    if form == "tar":
        return str(folder / "part-000.tar")
    (folder / "part-001.tar").write_bytes(tar(parts[4:]))
    return str(folder / "part-{000..001}.tar" if form == "tars by pattern" else folder)


def of_files(form: str, folder: Path) -> str:
    """The path of a data set on disk in one of the forms."""
    if form.startswith("tar"):
        return samples(folder, form)
    if form == "npz":
        np.savez(folder / "mine.npz", x=PIXELS.transpose(0, 2, 3, 1), y=LABELS)
        return str(folder / "mine.npz")
    if form == "npz with splits":
        arrays = {
            "train_images": PIXELS[:1],
            "train_labels": [[2]],
            "test_images": PIXELS,
            "test_labels": LABELS,
        }
        np.savez_compressed(folder / "mine.npz", **arrays)  # type: ignore[arg-type]
        return str(folder / "mine.npz")
    if form == "csv":
        write_folder(folder, PIXELS, ["pictures"] * 6)
        rows = [f"pictures/{k:03d}.png,{label}" for k, label in enumerate(LABELS)]
        (folder / "mine.csv").write_text("\n".join(["path,label", *rows]))
        return str(folder / "mine.csv")
    datasets = pytest.importorskip("datasets")
    columns = {"image": [image for image, _ in as_pil(PIXELS)], "label": LABELS}
    found = datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())
    if form == "save_to_disk of splits":
        found = datasets.DatasetDict({"train": found.select([0]), "validation": found})
    found.save_to_disk(str(folder / "saved"))
    return str(folder / "saved")


FILES = (
    *("npz", "npz with splits", "csv", "tar", "tars by pattern", "tars in a folder"),
    *("save_to_disk", "save_to_disk of splits"),
)


def test_files(tmp_path: Path) -> None:
    some = torch.tensor([4, 1])
    for form in FILES:
        (tmp_path / form).mkdir()
        place = of_files(form, tmp_path / form)
        images = data.load(place, "test")
        x, y = images.batch(torch.arange(6))
        assert torch.equal(x, X) and y.tolist() == images.labels.tolist() == LABELS, (
            form
        )
        assert (images.spec.shape, images.spec.num_classes, images.spec.open_ended) == (
            (3, 12, 10),
            3,
            True,
        ), form
        streamed = data.load(place, "test", stream=True).subset(some)
        assert torch.equal(
            streamed.batch(torch.arange(2))[0], x[some]
        ) and streamed.labels.tolist() == [0, 0], form


def hub(pixels: Pixels) -> Any:
    datasets = pytest.importorskip("datasets")
    columns = {
        "img": [image for image, _ in as_pil(pixels[::-1])],
        "fine_label": LABELS[::-1],
        "other": [0] * 6,
    }
    names = datasets.ClassLabel(names=["a", "b", "c"])
    found = datasets.Dataset.from_dict(columns).cast_column("img", datasets.Image())
    return found.cast_column("fine_label", names).select(
        range(5, -1, -1)
    )  # through an index, as shuffled ones are


def with_transform(pixels: Pixels) -> Any:
    stored = hub(pixels).rename_column("img", "stored")
    return stored.with_transform(
        lambda rows: {"image": rows["stored"], "label": rows["fine_label"]}
    )


def arrays_of_datasets(pixels: Pixels) -> Any:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {
            "image": datasets.Array3D((3, 12, 10), "uint8"),
            "label": datasets.Value("int64"),
        }
    )
    return datasets.Dataset.from_dict(
        {"image": list(pixels), "label": LABELS}, features=features
    )


OBJECTS: dict[str, Callable[[Pixels], Any]] = {
    "arrays NCHW": lambda p: (p, LABELS),
    "arrays NHWC": lambda p: (p.transpose(0, 2, 3, 1), np.array(LABELS, np.uint8)),
    "tensors": lambda p: (torch.from_numpy(p) / 255, torch.tensor(LABELS)),
    "labels in a column": lambda p: (p, np.array(LABELS)[:, None]),
    "names": lambda p: (p, np.array(["a", "b", "c"])[LABELS]),
    "TensorDataset": lambda p: TensorDataset(torch.from_numpy(p), torch.tensor(LABELS)),
    "Dataset": Own,
    "Subset": lambda p: Subset(Own(p), list(range(6))),
    "list of PIL images": as_pil,
    "list of mappings": lambda p: [
        {"image": image, "label": label} for image, label in as_pil(p)
    ],
    "DataLoader": lambda p: DataLoader(Own(p), batch_size=4, shuffle=True),
    "datasets.Dataset": hub,
    "datasets.Dataset with a transform": with_transform,
    "datasets.DatasetDict": lambda p: pytest.importorskip("datasets").DatasetDict(
        {"test": hub(p)}
    ),
    "datasets.Dataset of arrays": arrays_of_datasets,
}


def test_objects() -> None:
    for form, made in OBJECTS.items():
        images = data.load(made(PIXELS), "test")
        x, y = images.batch(torch.arange(6))
        assert (
            torch.equal(x, X)
            and y.tolist() == images.labels.tolist() == LABELS
            and images.labelled
        ), form
        assert images.spec.shape == data.describe(made(PIXELS)).shape == (3, 12, 10), (
            form
        )
    assert data.load(hub(PIXELS)).spec.classes == ("a", "b", "c")


def test_certify_takes_any_object(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(360, 3)).eval()
    how: dict[str, Any] = {"sigma": 0.5, "n": 100, "take": 3}
    for form in ("arrays NHWC", "Dataset", "list of PIL images", "datasets.Dataset"):
        table = rs.certify(
            model, OBJECTS[form](PIXELS), **how, out=tmp_path / f"{form}.parquet"
        )
        assert (table.idx.tolist(), table.label.tolist()) == ([0, 2, 4], [2, 1, 0]), (
            form
        )
    ask = partial(
        rs.certify,
        model,
        (255 - PIXELS, LABELS),
        **how,
        out=tmp_path / "Dataset.parquet",
        resume=True,
    )
    Refusal(OutputExists).check(problem_of(ask))


def test_only_the_chosen_items_are_read() -> None:
    many = Own(random_images(1000, (3, 6, 5)), [k % 3 for k in range(1000)])
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(90, 3)).eval()
    table = rs.certify(model, many, sigma=0.5, n=100, take=4)
    assert table.label.tolist() == [0, 1, 2, 0] and many.read < 100


def test_flat_folders(tmp_path: Path) -> None:
    write_folder(tmp_path / "flat", PIXELS, ["."] * 6)
    write_folder(tmp_path / "splits", PIXELS, ["test"] * 6)
    for place in ("flat", "splits"):
        unlabelled = data.load(str(tmp_path / place), "test")
        assert not unlabelled.labelled and unlabelled.labels.tolist() == [-1] * 6
        assert torch.equal(unlabelled.batch(torch.arange(6))[0], X)
    (tmp_path / "splits" / "stray.png").write_bytes(png(PIXELS[0]))
    assert len(data.load(str(tmp_path / "splits"), "test")) == 6
    write_folder(tmp_path / "flat", PIXELS[:1], ["ant"])
    refuses(Refusal(WrongData, "000.png", "ant"), tmp_path / "flat")


def test_columns_that_are_named(tmp_path: Path) -> None:
    place = str(
        write_parquet(
            tmp_path / "mine.parquet", PIXELS, LABELS, image="photo", label="kind"
        )
    )
    np.savez(tmp_path / "mine.npz", pictures=PIXELS, kinds=LABELS)
    refuses(Refusal(NotFound, "image_column"), place)
    refuses(Refusal(NotFound, "'foto'", "photo, kind"), place, image_column="foto")
    refuses(
        Refusal(NotFound, "photo, kind", "label_column"), place, image_column="photo"
    )
    refuses(Refusal(NotFound, "image_column"), tmp_path / "mine.npz", "test")
    assert (
        data.load(place, image_column="photo", label_column="kind").labels.tolist()
        == LABELS
    )
    assert not data.load(place, image_column="photo", label_column="none").labelled
    named = data.load(
        str(tmp_path / "mine.npz"), image_column="pictures", label_column="kinds"
    )
    assert named.labels.tolist() == LABELS


def test_labels_by_extension(tmp_path: Path) -> None:
    members: list[tuple[str, bytes | str]] = []
    for k, each in enumerate(PIXELS):
        members += [(f"a/{k}.png", png(each)), (f"a/{k}.cls", str(LABELS[k]).encode())]
        members += [
            (f"a/{k}.seg.png", png(each)),
            (f"a/{k}.name", b"abc"[LABELS[k] : LABELS[k] + 1]),
        ]
    (tmp_path / "mine.tar").write_bytes(tar(members))
    refuses(
        Refusal(
            MissingValue,
            ".png, .cls, .seg.png, .name",
            "image_column",
            field="image_column",
        ),
        tmp_path / "mine.tar",
    )
    assert (
        data.load(str(tmp_path / "mine.tar"), image_column="png").labels.tolist()
        == LABELS
    )
    named = data.load(
        str(tmp_path / "mine.tar"), image_column="png", label_column="name"
    )
    assert (named.labels.tolist(), named.spec.classes) == (LABELS, ("a", "b", "c"))


def test_folders_in_a_tar_file_are_no_labels(tmp_path: Path) -> None:
    members = [(f"{'ab'[k % 2]}/{k}.png", png(each)) for k, each in enumerate(PIXELS)]
    (tmp_path / "mine.tar").write_bytes(
        tar([*members, ("__MACOSX/._0.png", b"\0\5\x16\7")])
    )
    with noted("folders_but_no_labels", number=2, first="a"):
        assert len(data.load(str(tmp_path / "mine.tar"), "test")) == 6


def test_an_unknown_source_is_told_the_forms(tmp_path: Path) -> None:
    for name in ("mine.xyz", "x.npy", "mine.zip"):
        (tmp_path / name).write_text("")
    forms = ("WebDataset", "save_to_disk", ".npz", ".csv", ".parquet", ".tar")
    for source, told in (
        (5, "dataset=5"),
        (tmp_path / "mine.xyz", "mine.xyz"),
        (tmp_path / "x.npy", "np.savez('mine.npz', x=np.load('x.npy')"),
        (tmp_path / "mine.zip", "mine.zip"),
        ("mine.npz", "mine.npz"),
        (tmp_path / "nowhere", "nowhere"),
        ("nonsense", "'nonsense'"),
    ):
        refuses(Refusal(NotFound, told, *forms), source)
