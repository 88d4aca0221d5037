"""Everything in a folder is read, or what was left out is told with its number and place."""

import shutil
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import torch
from PIL import Image, features

from data.making import Pixels, png, random_images, refuses, write_folder, write_parquet
from models.refusing import problem_of
from randsmooth import data
from randsmooth.errors import WrongData
from values import Refusal, noted

PIXELS = random_images(6, (1, 8, 8))
NAMES = ["cat", "cat", "cat", "dog", "dog", "dog"]
APPLE_DOUBLE = b"\0\5\x16\7" + b"\0" * 100


def all_there(place: Path, split: str = "test") -> bool:
    """Whether the six images are read as they were written, three of each class."""
    images = data.load(str(place), split)
    x, y = images.batch(torch.arange(len(images)))
    same = torch.equal((x * 255).round().byte(), torch.from_numpy(PIXELS))
    return (
        same
        and y.tolist() == [0, 0, 0, 1, 1, 1]
        and images.spec.classes == ("cat", "dog")
    )


def test_folders_in_class_folders_are_read(tmp_path: Path) -> None:
    write_folder(
        tmp_path,
        PIXELS,
        ["cat/2021", "cat/2022/a", "cat/2022/b", "dog", "dog", "dog/c"],
    )
    (tmp_path / "cat" / "2022" / "again").symlink_to(
        tmp_path / "cat"
    )  # which would never end
    with warnings.catch_warnings(action="error"):
        images = data.load(str(tmp_path), "test")
    # Alphabetical order by path, as torchvision's ImageFolder has it within a class.
    x, _ = images.batch(torch.arange(6))
    assert torch.equal(
        (x * 255).round().byte(), torch.from_numpy(PIXELS[[0, 1, 2, 3, 4, 5]])
    )
    assert images.labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_what_systems_leave_is_no_class(tmp_path: Path) -> None:
    write_folder(tmp_path, PIXELS, NAMES)
    for name in (
        "__MACOSX/cat",
        "@eaDir",
        "lost+found",
        ".ipynb_checkpoints",
        "$RECYCLE.BIN",
        "cat/.ipynb_checkpoints",
    ):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "1.png").write_bytes(png(PIXELS[0]))
    for name in (
        ".DS_Store",
        "Thumbs.db",
        "cat/Thumbs.db",
        "cat/desktop.ini",
        "cat/._000.png",
        "README.md",
    ):
        (tmp_path / name).write_bytes(APPLE_DOUBLE)
    with warnings.catch_warnings(action="error"):
        assert all_there(tmp_path)


def test_images_by_other_suffixes_or_none(tmp_path: Path) -> None:
    write_folder(tmp_path / "none", PIXELS, NAMES)
    for path in list((tmp_path / "none").rglob("*.png")):
        path.rename(path.with_suffix(""))
    assert all_there(tmp_path / "none")
    for suffix in ("jfif", "jpe", "JFIF"):
        write_folder(tmp_path / suffix, PIXELS, NAMES)
        for path in list((tmp_path / suffix).rglob("*.png")):
            Image.open(path).save(path.with_suffix(f".{suffix}"), format="JPEG")
            path.unlink()
        assert data.load(str(tmp_path / suffix), "test").labels.tolist() == [
            0,
            0,
            0,
            1,
            1,
            1,
        ]
    if features.check("avif"):
        write_folder(tmp_path / "avif", PIXELS, NAMES)
        Image.fromarray(PIXELS[0, 0]).save(tmp_path / "avif" / "cat" / "9.avif")
        assert len(data.load(str(tmp_path / "avif"), "test")) == 7


def test_what_is_left_out_is_told_with_number_and_place(tmp_path: Path) -> None:
    write_folder(tmp_path, PIXELS, NAMES)
    for name in ("cat/b.HEIC", "cat/a.heic", "dog/x.svg", "dog/part", "notes.txt"):
        (tmp_path / name).write_bytes(b"what is no image")
    with noted("files_left_out", number=5, first="cat/a.heic") as notes:
        assert all_there(tmp_path)
    (note,) = set(notes)
    assert note.facts["root"] == str(tmp_path)
    assert note.facts["suffixes"][".heic"] == 2
    (tmp_path / "zebra").mkdir()
    with noted("empty_class_folders", number=1, classes=3, first="zebra"):
        assert data.load(str(tmp_path), "test").spec.classes == ("cat", "dog", "zebra")


def test_one_folder_that_may_be_a_class_is_asked_about(tmp_path: Path) -> None:
    write_folder(tmp_path / "deep" / "photos", PIXELS, NAMES)
    refuses(
        Refusal(WrongData, "deep/photos"),
        tmp_path / "deep",
        "test",
    )
    write_folder(tmp_path / "splits" / "data" / "test", PIXELS, NAMES)
    refuses(
        Refusal(WrongData, "data/test", "splits/data"),
        tmp_path / "splits",
        "test",
    )
    # As detectors have them: the labels are files of another kind, in a folder of their own.
    for place in ("yolo", "yolo/train"):
        write_folder(tmp_path / place, PIXELS, ["images"] * 6)
        (tmp_path / place / "labels").mkdir()
        (tmp_path / place / "labels" / "000.txt").write_text("0 .5 .5 .1 .1")
        refuses(
            Refusal(WrongData),
            tmp_path / place,
        )
        if place == "yolo":
            shutil.rmtree(tmp_path / place)
    refuses(Refusal(WrongData, "train/images"), tmp_path / "yolo")
    assert not data.load(str(tmp_path / "yolo" / "train" / "images")).labelled
    write_folder(tmp_path / "one", PIXELS, ["only"] * 6)
    assert data.load(str(tmp_path / "one"), "test").spec.classes == ("only",)


def write_list(folder: Path, name: str, rows: list[str]) -> Path:
    (folder / name).write_text("\n".join(rows) + "\n")
    return folder / name


def test_a_list_beside_the_images_gives_their_labels(tmp_path: Path) -> None:
    rows = [f"{k:03d}.png,{name}" for k, name in enumerate(NAMES)]
    lines = [
        f'{{"file_name": "{k:03d}.png", "label": "{name}"}}'
        for k, name in enumerate(NAMES)
    ]
    for name, content in (
        ("metadata.csv", ["file_name,label", *rows]),
        ("metadata.jsonl", lines),
        ("labels.csv", ["path,label", *rows]),
    ):
        for place in (tmp_path / name, tmp_path / name / "test"):
            write_folder(place, PIXELS, ["."] * 6)
            write_list(place, name, content)
            with noted("labels_of_list", list=name):
                assert all_there(place)
        assert all_there(tmp_path / name / "test")
        assert not data.load(
            str(tmp_path / name / "test"), "test", label_column="none"
        ).labelled
    place = tmp_path / "labels.csv" / "test"
    write_list(place, "labels.csv", ["path,label", *rows[:4]])
    with noted("list_lacks_images", number=2, images=6, first="004.png"):
        assert len(data.load(str(place), "test")) == 4
    write_list(place, "labels.csv", ["path,species", *rows])
    with noted("list_not_read", list="labels.csv"):
        assert not data.load(str(place), "test").labelled
    write_list(
        tmp_path / "metadata.csv" / "test",
        "metadata.csv",
        ["file_name,label", "no.png,cat"],
    )
    refuses(
        Refusal(WrongData, "line 2", "no.png"),
        tmp_path / "metadata.csv" / "test",
        "test",
    )
    # It may be a stranger's, and opens nothing outside of its folder.
    (tmp_path / "secret.png").write_bytes(png(PIXELS[0]))
    for outside in (tmp_path / "secret.png", "../../secret.png", "..\\..\\secret.png"):
        write_list(
            tmp_path / "metadata.csv" / "test",
            "metadata.csv",
            ["file_name,label", f"{outside},cat"],
        )
        refuses(
            Refusal(WrongData, "line 2"), tmp_path / "metadata.csv" / "test", "test"
        )


def test_a_list_beside_images_may_say_splits(tmp_path: Path) -> None:
    write_folder(tmp_path, PIXELS, ["."] * 6)
    rows = [
        f"{k:03d}.png,{name},{('train', 'test')[k % 2]}" for k, name in enumerate(NAMES)
    ]
    write_list(tmp_path, "metadata.csv", ["file_name,label,split", *rows])
    test = data.load(str(tmp_path), "test")
    assert (test.labels.tolist(), test.spec.sizes) == (
        [0, 1, 1],
        {"train": 3, "test": 3},
    )
    write_folder(tmp_path / "parts" / "test", PIXELS, ["."] * 6)
    write_list(
        tmp_path / "parts" / "test", "metadata.csv", ["file_name,label,split", *rows]
    )
    refuses(Refusal(WrongData), tmp_path / "parts", "test")


def test_parquet_files_of_any_name_in_a_folder(tmp_path: Path) -> None:
    for k in range(2):
        write_parquet(
            tmp_path / f"part-{k}.parquet",
            PIXELS[3 * k : 3 * k + 3],
            NAMES[3 * k : 3 * k + 3],
        )
    (tmp_path / "notes.txt").write_text("")
    with noted("files_left_out", suffixes={".txt": 1}, first="notes.txt"):
        assert all_there(tmp_path)
    (tmp_path / "more.tar").write_bytes(b"")
    refuses(Refusal(WrongData, "part-0.parquet", "more.tar"), tmp_path, "test")


def test_a_list_beside_the_one_folder_of_images_is_named(tmp_path: Path) -> None:
    """As competitions have them: names without suffix or folder."""
    write_folder(tmp_path, PIXELS, ["images"] * 6)
    path = write_list(
        tmp_path,
        "labels.csv",
        ["image_id,animal", *(f"{k:03d},{name}" for k, name in enumerate(NAMES))],
    )
    refuses(
        Refusal(WrongData, "labels.csv"),
        tmp_path,
        "test",
    )
    with noted("found_by_name", cell="000", file="images/000.png"):
        images = data.load(
            str(path), "test", image_column="image_id", label_column="animal"
        )
    assert images.labels.tolist() == [0, 0, 0, 1, 1, 1]
    (tmp_path / "images" / "000.jpg").write_bytes(png(PIXELS[0]))
    refuses(
        Refusal(WrongData, "line 2"),
        path,
        "test",
        image_column="image_id",
        label_column="animal",
    )


def test_lists_with_other_delimiters(tmp_path: Path) -> None:
    write_folder(tmp_path, PIXELS, ["."] * 6)
    for name, delimiter in (
        ("a.csv", ";"),
        ("b.csv", "\t"),
        ("c.csv", "|"),
        ("d.tsv", ","),
        ("e.tsv", "\t"),
        ("f.csv", ","),
    ):
        rows = [
            "path,label",
            *(f'"{k:03d}.png",{each}' for k, each in enumerate(NAMES)),
        ]
        assert all_there(
            write_list(tmp_path, name, [row.replace(",", delimiter) for row in rows])
        )
    refuses(
        Refusal(WrongData, "'path;label|x'"),
        write_list(tmp_path, "g.csv", ["path;label|x", "000.png;1|2"]),
    )
    rows = [
        f"..\\{tmp_path.name}\\{k:03d}.png,{each}" for k, each in enumerate(NAMES)
    ]  # as Windows writes paths
    assert all_there(write_list(tmp_path, "h.csv", ["path,label", *rows]))
    refuses(
        Refusal(WrongData, "path, label"),
        write_list(tmp_path, "i.jsonl", ['{"path": 1, "label": 2}', "{}"]),
    )


def test_names_composed_and_decomposed_are_one(tmp_path: Path) -> None:
    """As Linux and macOS write them."""
    names = ["Café", "Café", "thé", "thé", "thé", "thé"]
    for form in ("NFC", "NFD"):
        written = [unicodedata.normalize(form, name) for name in names]
        write_folder(tmp_path / {"NFC": "train", "NFD": "test"}[form], PIXELS, written)
    test = data.load(str(tmp_path), "test")
    assert (test.labels.tolist(), test.spec.classes) == (
        [0, 0, 1, 1, 1, 1],
        ("Café", "thé"),
    )


def binary(place: Path, pixels: Pixels) -> Path:
    write_folder(place, (pixels > 100).astype(np.uint8), NAMES)
    return place


def test_pixels_of_0_and_1_are_refused_in_files_as_in_arrays(tmp_path: Path) -> None:
    refuses(Refusal(WrongData), (PIXELS > 100).astype(np.uint8))
    for stream in (True, False):
        refuses(
            Refusal(WrongData),
            binary(tmp_path, PIXELS),
            stream=stream,
        )
    spec = data.describe(PIXELS)
    Refusal(WrongData).check(
        problem_of(lambda: data.read_image(tmp_path / "cat" / "000.png", spec))
    )
    (tmp_path / "dog" / "005.png").write_bytes(png(PIXELS[5]))  # one that is not
    assert len(data.load(str(tmp_path))) == 6
    Image.fromarray(PIXELS[0, 0] > 100).save(tmp_path / "bits.png")
    assert float(data.read_image(tmp_path / "bits.png", spec).max()) == 1.0
