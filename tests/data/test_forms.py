"""Every form in which a user brings images gives the same pixels and labels."""

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

import randsmooth as rs
from data.refusing import refuses
from randsmooth import data
from randsmooth.errors import InputError

LABELS = [2, 0, 1, 2, 0, 1]
Png = Callable[[NDArray[np.uint8]], bytes]
Pixels = NDArray[np.uint8]


@pytest.fixture
def pixels(random_images: Callable[..., Pixels]) -> Pixels:
    """Six images that are not square."""
    return random_images(len(LABELS), (3, 12, 10))


class Own(Dataset[Any]):
    """Anybody's data set: floats, and labels that only the items tell."""

    def __init__(self, pixels: Pixels) -> None:
        self.pixels, self.read = pixels, 0

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> Any:
        self.read += 1
        return torch.from_numpy(self.pixels[index]) / 255, LABELS[index]


class Stream(IterableDataset[Any]):
    def __init__(self, pixels: Pixels) -> None:
        self.pixels = pixels

    def __iter__(self) -> Any:
        yield from zip(self.pixels, LABELS, strict=True)


def as_pil(pixels: Pixels) -> list[Any]:
    return [(Image.fromarray(each.transpose(1, 2, 0)), label) for each, label in zip(pixels, LABELS, strict=True)]


def tar(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def samples(pixels: Pixels, encode: Png, labels: list[int] | None = LABELS) -> dict[str, bytes]:
    found = {}
    for k, each in enumerate(pixels):
        found[f"s{k:03d}.png"] = encode(each)
        if labels is not None:
            found[f"s{k:03d}.cls"] = str(labels[k]).encode()
    return found


def of_files(form: str, folder: Path, pixels: Pixels, encode: Png) -> str:
    """The path of a data set on disk in one of the forms."""
    if form == "npz":
        np.savez(folder / "mine.npz", x=pixels.transpose(0, 2, 3, 1), y=LABELS)
        return str(folder / "mine.npz")
    if form == "npz with splits":
        arrays = {"train_images": pixels[:1], "train_labels": [[2]], "test_images": pixels, "test_labels": LABELS}
        np.savez_compressed(folder / "mine.npz", **arrays)  # type: ignore[arg-type]
        return str(folder / "mine.npz")
    if form == "csv":
        (folder / "pictures").mkdir()
        rows = [f"pictures/{k}.png,{label}" for k, label in enumerate(LABELS)]
        for k, each in enumerate(pixels):
            (folder / "pictures" / f"{k}.png").write_bytes(encode(each))
        (folder / "mine.csv").write_text("\n".join(["path,label", *rows]))
        return str(folder / "mine.csv")
    if form == "tar":
        tar(folder / "mine.tar", samples(pixels, encode))
        return str(folder / "mine.tar")
    if form.startswith("tar"):
        both = samples(pixels, encode)
        for number, keys in enumerate((sorted(both)[:4], sorted(both)[4:])):
            tar(folder / f"part-{number:03d}.tar", {key: both[key] for key in keys})
        return str(folder / "part-{000..001}.tar" if form == "tars by pattern" else folder)
    datasets = pytest.importorskip("datasets")
    columns = {"image": [Image.fromarray(each.transpose(1, 2, 0)) for each in pixels], "label": LABELS}
    found = datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())
    if form == "save_to_disk of splits":
        datasets.DatasetDict({"train": found.select([0]), "validation": found}).save_to_disk(str(folder / "saved"))
    else:
        found.save_to_disk(str(folder / "saved"))
    return str(folder / "saved")


FILES = (
    *("npz", "npz with splits", "csv", "tar", "tars by pattern", "tars in a folder"),
    *("save_to_disk", "save_to_disk of splits"),
)


def test_files(tmp_path: Path, pixels: Pixels, encode: Png) -> None:
    some = torch.tensor([4, 1])
    for form in FILES:
        (tmp_path / form).mkdir()
        place = of_files(form, tmp_path / form, pixels, encode)
        images = data.load(place, "test")
        x, y = images.batch(torch.arange(6))
        assert torch.equal(x, torch.from_numpy(pixels).float() / 255), form
        assert y.tolist() == images.labels.tolist() == LABELS, form
        assert (images.spec.shape, images.spec.num_classes, images.spec.open_ended) == ((3, 12, 10), 3, True), form
        streamed = data.load(place, "test", stream=True).subset(some)
        assert torch.equal(streamed.batch(torch.arange(2))[0], x[some]) and streamed.labels.tolist() == [0, 0], form


def hub(pixels: Pixels) -> Any:
    datasets = pytest.importorskip("datasets")
    columns = {"img": [image for image, _ in as_pil(pixels[::-1])], "fine_label": LABELS[::-1], "other": [0] * 6}
    names = datasets.ClassLabel(names=["a", "b", "c"])
    found = datasets.Dataset.from_dict(columns).cast_column("img", datasets.Image())
    return found.cast_column("fine_label", names).select(range(5, -1, -1))  # through an index, as shuffled ones are


def with_transform(pixels: Pixels) -> Any:
    return (
        hub(pixels)
        .rename_column("img", "stored")
        .with_transform(lambda rows: {"image": rows["stored"], "label": rows["fine_label"]})
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
    "list of mappings": lambda p: [{"image": image, "label": label} for image, label in as_pil(p)],
    "DataLoader": lambda p: DataLoader(Own(p), batch_size=4, shuffle=True),
    "DataLoader with a collate_fn": lambda p: DataLoader(
        as_pil(p),  # type: ignore[arg-type]
        batch_size=4,
        collate_fn=lambda rows: (np.stack([np.asarray(x) for x, _ in rows]), np.array([y for _, y in rows])),
    ),
    "IterableDataset": Stream,
    "DataLoader of a stream": lambda p: DataLoader(Stream(p), batch_size=4),
    "datasets.Dataset": hub,
    "datasets.Dataset with a transform": with_transform,
    "datasets.DatasetDict": lambda p: pytest.importorskip("datasets").DatasetDict({"test": hub(p)}),
}


def arrays_of_datasets(pixels: Pixels) -> Any:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"image": datasets.Array3D((3, 12, 10), "uint8"), "label": datasets.Value("int64")})
    return datasets.Dataset.from_dict({"image": list(pixels), "label": LABELS}, features=features)


OBJECTS["datasets.Dataset of arrays"] = arrays_of_datasets


def test_objects(pixels: Pixels) -> None:
    for form, made in OBJECTS.items():
        images = data.load(made(pixels), "test")
        x, y = images.batch(torch.arange(6))
        assert torch.equal(x, torch.from_numpy(pixels).float() / 255), form
        assert y.tolist() == images.labels.tolist() == LABELS and images.labelled, form
        assert images.spec.shape == data.describe(made(pixels)).shape == (3, 12, 10), form
    assert data.load(hub(pixels)).spec.classes == ("a", "b", "c")


def test_certify_takes_any_object(pixels: Pixels, tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(360, 3)).eval()
    how: dict[str, Any] = {"sigma": 0.5, "n": 100, "take": 3}
    for form in ("arrays NHWC", "Dataset", "list of PIL images", "DataLoader", "datasets.Dataset"):
        out = tmp_path / f"{form}.parquet"
        table = rs.certify(model, OBJECTS[form](pixels), **how, out=out)
        assert (table.idx.tolist(), table.label.tolist()) == ([0, 2, 4], [2, 1, 0]), form
        again = rs.certify(model, OBJECTS[form](pixels), **how, out=out, resume=True)
        assert np.array_equal(again.evidence(), table.evidence()), form
    other = OBJECTS["arrays NHWC"](255 - pixels)
    with pytest.raises(InputError, match="begun differently"):
        rs.certify(model, other, **how, out=out, resume=True)


def test_only_the_chosen_items_are_read(random_images: Callable[..., Pixels], tmp_path: Path) -> None:
    class Many(Own):
        def __getitem__(self, index: int) -> Any:
            self.read += 1
            return torch.from_numpy(self.pixels[index]), index % 3

    many = Many(random_images(1000, (1, 6, 5)))
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(30, 3)).eval()
    table = rs.certify(model, many, sigma=0.5, n=100, take=4, out=tmp_path / "a.parquet")
    assert table.label.tolist() == [0, 1, 2, 0] and many.read < 100


def test_folders_of_classes_and_flat_ones(
    tmp_path: Path, write_folder: Callable[..., None], pixels: Pixels, encode: Png
) -> None:
    write_folder(tmp_path / "classes", pixels, [["ant", "bee", "cat"][k] for k in LABELS])
    images = data.load(str(tmp_path / "classes"), "test")
    assert images.labels.tolist() == sorted(LABELS) and images.spec.classes == ("ant", "bee", "cat")
    write_folder(tmp_path / "flat", pixels, ["."] * 6)
    write_folder(tmp_path / "splits", pixels, ["test"] * 6)
    for place in ("flat", "splits"):
        unlabelled = data.load(str(tmp_path / place), "test")
        assert not unlabelled.labelled and unlabelled.labels.tolist() == [-1] * 6
        assert torch.equal(unlabelled.batch(torch.arange(6))[0], torch.from_numpy(pixels).float() / 255)
    (tmp_path / "classes" / "stray.png").write_bytes(encode(pixels[0]))
    refuses(("stray.png", "ant"), tmp_path / "classes")


def test_columns_that_are_named(tmp_path: Path, pixels: Pixels, write_parquet: Callable[..., None]) -> None:
    place = str(tmp_path / "mine.parquet")
    write_parquet(tmp_path / "mine.parquet", pixels, LABELS, image="photo", label="kind")
    np.savez(tmp_path / "mine.npz", pictures=pixels, kinds=LABELS)
    refuses(("columns photo, kind", "--image-column"), place)
    refuses(("'foto'", "photo, kind"), place, image_column="foto")
    refuses(("photo, kind", "--label-column none"), place, image_column="photo")
    refuses(("columns pictures, kinds", "--image-column"), tmp_path / "mine.npz", "test")
    assert data.load(place, image_column="photo", label_column="kind").labels.tolist() == LABELS
    assert not data.load(place, image_column="photo", label_column="none").labelled
    named = data.load(str(tmp_path / "mine.npz"), image_column="pictures", label_column="kinds")
    assert named.labels.tolist() == LABELS


def test_labels_in_json_and_by_extension(tmp_path: Path, pixels: Pixels, encode: Png) -> None:
    members: dict[str, bytes] = {}
    for k, each in enumerate(pixels):
        members |= {f"a/{k}.png": encode(each), f"a/{k}.json": json.dumps({"label": LABELS[k]}).encode()}
        members |= {f"a/{k}.seg.png": encode(each), f"a/{k}.name": b"abc"[LABELS[k] : LABELS[k] + 1]}
    tar(tmp_path / "mine.tar", members)
    refuses((".png, .json, .seg.png, .name", "--image-column"), tmp_path / "mine.tar")
    assert data.load(str(tmp_path / "mine.tar"), image_column="png").labels.tolist() == LABELS
    named = data.load(str(tmp_path / "mine.tar"), image_column="png", label_column="name")
    assert (named.labels.tolist(), named.spec.classes) == (LABELS, ("a", "b", "c"))


def test_an_unknown_source_is_told_the_forms(tmp_path: Path) -> None:
    (tmp_path / "mine.xyz").write_text("")
    (tmp_path / "mine.tar.gz").write_text("")
    forms = ("a folder (of class folders", "WebDataset", "save_to_disk", ".npz, .csv, .parquet or .tar")
    for source, told in (
        (5, "dataset=5 is of the type int"),
        (tmp_path / "mine.xyz", "mine.xyz"),
        (tmp_path / "mine.tar.gz", "unpack it first"),
        ("mine.npz", "no file at mine.npz"),
        (tmp_path / "nowhere", "no folder at"),
        ("nonsense", "unknown data set 'nonsense'"),
    ):
        refuses((told, *forms), source)
