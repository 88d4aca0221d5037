"""Which split is read: its own words are heard in every form, and it is the same one for images and labels."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from data.making import png, random_images, refuses, tar, write_folder, write_parquet
from randsmooth import data
from randsmooth.data import parquet_images
from randsmooth.data.split_words import array_parts, split_in, split_of
from randsmooth.errors import MissingValue, NotFound, UnknownName, WrongData
from values import Refusal, noted

# Ten images of each split, told apart by their pixels: all are 100 in the first, 200 in the second, 250 in the third.
BRIGHTNESS = {"train": 100, "val": 200, "test": 250}
LABELS = {"train": [0, 1, 2, 3], "val": [3, 2, 1, 0], "test": [1, 1, 0, 2]}
PIXELS = {
    split: np.full((4, 1, 8, 8), value, np.uint8) for split, value in BRIGHTNESS.items()
}


def is_split(images: data.Images, split: str) -> bool:
    """Whether both images and labels are those of `split`."""
    x, y = images.batch(torch.arange(len(images)))
    return (
        set((x * 255).round().int().flatten().tolist()) == {BRIGHTNESS[split]}
        and y.tolist() == LABELS[split]
    )


def test_words_for_splits() -> None:
    for name in (
        "train",
        "Train",
        "TRAINING",
        "training_set",
        "train-images",
        "trainset",
        "train2017",
        "Training data",
    ):
        assert split_of(name) == "train", name
    for name in ("val", "Valid", "validation", "dev", "devset", "eval", "val2017"):
        assert split_of(name) == "validation", name
    for name in ("test", "TEST", "testing", "Test_Set", "testset"):
        assert split_of(name) == "test", name
    for name in (
        "trains",
        "contest",
        "tea",
        "te",
        "latest",
        "2017",
        "train_test",
        "tested",
        "",
        "value",
        "device",
    ):
        assert split_of(name) is None, name
    assert [
        split_in(stem) for stem in ("cifar-train", "imagenet_val", "train_test", "part")
    ] == [
        "train",
        "validation",
        None,
        None,
    ]


def test_names_of_arrays() -> None:
    for name, parts in {
        "x_test": ("test", "x"),
        "test_images": ("test", "images"),
        "X_train": ("train", "X"),
        "trainX": ("train", "X"),
        "XTest": ("test", "X"),
        "xval": ("val", "x"),
        "Xtr": ("tr", "X"),
        "test_set_x": ("test", "x"),
        "valid/labels": ("valid", "labels"),
        "contest": ("", "contest"),
        "x": ("", "x"),
        "extra": ("", "extra"),
    }.items():
        assert array_parts(name, ["x", "y", "images", "labels"]) == parts, name


SPELLINGS = [
    ("x_{}", "y_{}", ("train", "val", "test")),
    ("{}_images", "{}_labels", ("train", "val", "test")),
    ("X_{}", "y_{}", ("Train", "Valid", "Test")),
    ("{}X", "{}Y", ("train", "dev", "test")),
    ("x{}", "y{}", ("tr", "va", "te")),
    ("{}_set_x", "{}_set_y", ("training", "validation", "testing")),
]


def test_arrays_of_any_spelling_in_any_order(tmp_path: Path) -> None:
    for number, (image, label, words) in enumerate(SPELLINGS):
        arrays = dict[str, Any]()
        for split, word in zip(PIXELS, words, strict=True):
            arrays |= {
                image.format(word): PIXELS[split],
                label.format(word): np.array(LABELS[split])[:, None],
            }
        for turn, order in enumerate(
            itertools.islice(itertools.permutations(arrays), 0, None, 97)
        ):
            path = tmp_path / f"{number}-{turn}.npz"
            np.savez(path, **{name: arrays[name] for name in order})
            assert is_split(data.load(str(path), "test"), "test"), order
            assert is_split(data.load(str(path), "train"), "train"), order
            assert data.describe(str(path)).sizes == {"train": 4, "test": 4}
    named = data.load(
        str(tmp_path / "2-0.npz"),
        "test",
        image_column="X_Valid",
        label_column="y_Valid",
    )
    assert is_split(named, "val")
    assert is_split(
        data.load(str(tmp_path / "2-0.npz"), "test", label_column="y_Test"), "test"
    )
    refuses(
        Refusal(WrongData, "X_Valid", "y_Test"),
        tmp_path / "2-0.npz",
        image_column="X_Valid",
        label_column="y_Test",
    )


def test_a_folder_in_one_of_its_own_name_is_read_as_that_folder(tmp_path: Path) -> None:
    """As an archive has it that is unpacked into a folder called like it."""
    names = ["ant", "bee", "bee", "cat"]
    for split, word in (("train", "seg_train"), ("test", "seg_test")):
        write_folder(tmp_path / "splits" / word / word, PIXELS[split], names)
    (tmp_path / "splits" / "seg_train" / "notes.doc").write_text("more")
    write_folder(tmp_path / "splits" / "seg_pred" / "seg_pred", PIXELS["val"], names)
    with noted("files_left_out", number=1, first="notes.doc"):
        splits = [data.load(tmp_path / "splits", split) for split in ("train", "test")]
    for images, split in zip(splits, ("train", "test"), strict=True):
        x, y = images.batch(torch.arange(len(images)))
        assert images.split == split and images.spec.classes == ("ant", "bee", "cat")
        assert y.tolist() == [0, 1, 1, 2]
        assert (x * 255).round().unique().tolist() == [BRIGHTNESS[split]]
    write_folder(tmp_path / "photos" / "photos", PIXELS["val"], names)
    whole = data.load(tmp_path / "photos", "test")
    assert whole.spec.name == "photos" and whole.labels.tolist() == [0, 1, 1, 2]
    write_folder(tmp_path / "cats", PIXELS["val"], ["cats"] * 4)
    assert data.load(tmp_path / "cats", "test").spec.classes == ("cats",)


def test_other_words_for_a_split_are_understood_where_one_is_asked_for(
    tmp_path: Path,
) -> None:
    path = write_npz(tmp_path, {"train": "train", "valid": "val", "test": "test"})
    for word in ("val", "valid", "dev", "Validation"):
        found = data.load(path, word)
        assert found.split == "validation" and is_split(found, "val"), word
    assert is_split(data.load(path, "training"), "train")
    with pytest.raises(UnknownName, match="'best'"):
        data.load(path, "best")


def test_arrays_of_two_words_are_paired_or_asked_about_and_never_left_out(
    tmp_path: Path,
) -> None:
    """The labels of images that have none of their own split may be called otherwise."""
    path = tmp_path / "mine.npz"
    x, y, few = PIXELS["test"], np.array(LABELS["test"]), PIXELS["train"][:3]
    paired: list[dict[str, Any]] = [
        {"x_test": x, "y": y},
        {"test_images": x, "val_labels": y},
        {"images": x, "y_test": y},
        {"x_train": few, "y_train": y[:3], "x_test": x, "y": y},
        {"x_train": few, "x_test": x, "y": y},
        {"x_test": x, "y": y, "classes": np.array(["a", "b", "c", "d"])},
    ]
    for number, arrays in enumerate(paired):
        own = tmp_path / f"{number}.npz"  # each note comes once
        np.savez(own, **arrays)
        with noted("labels_paired"):
            assert is_split(data.load(own, "test"), "test"), list(arrays)

    asked: list[dict[str, Any]] = [
        {"x_test": x, "y": y[:3]},
        {"x_test": x, "y": y, "labels": y},
        {"x_train": x, "x_test": x, "y": y},
        {"x": x, "y_train": y, "y_test": y},
        {"x_test": x, "val_labels": y, "train_labels": y},
    ]
    for arrays in asked:
        np.savez(path, **arrays)
        with pytest.raises(MissingValue, match=r"image_column='.*label_column='none'"):
            data.load(path, "test")
        assert not data.load(path, "test", label_column="none").labelled

    np.savez(path, x_train=PIXELS["train"], x_test=x, y=y)
    named = data.load(path, "test", image_column="x_test", label_column="y")
    assert is_split(named, "test")
    np.savez(path, photos_test=x, y=y)
    assert is_split(data.load(path, "test", image_column="photos"), "test")
    np.savez(path, x_test=x, classes=np.array(["a", "b", "c", "d"]))
    assert not data.load(path, "test").labelled


def write_npz(folder: Path, splits: dict[str, str]) -> Path:
    arrays = dict[str, Any]()
    for word, split in splits.items():
        arrays |= {f"x_{word}": PIXELS[split], f"y_{word}": LABELS[split]}
    np.savez(folder / "mine.npz", **arrays)
    return folder / "mine.npz"


def write_csv(folder: Path, splits: dict[str, str]) -> Path:
    rows = ["path,label,split_type"]
    for word, split in splits.items():
        for k, (pixels, label) in enumerate(
            zip(PIXELS[split], LABELS[split], strict=True)
        ):
            (folder / f"{split}{k}.png").write_bytes(png(pixels))
            rows.append(f"{split}{k}.png,{label},{word}")
    (folder / "mine.csv").write_text("\n".join(rows))
    return folder / "mine.csv"


def write_column(folder: Path, splits: dict[str, str]) -> Path:
    """A Parquet file with a column of splits."""
    words = [word for word, split in splits.items() for _ in LABELS[split]]
    pixels = [each for split in splits.values() for each in PIXELS[split]]
    labels = [label for split in splits.values() for label in LABELS[split]]
    path = write_parquet(folder / "mine.parquet", pixels, labels)
    pq.write_table(pq.read_table(path).append_column("Subset", pa.array(words)), path)
    return path


def write_parquets(folder: Path, splits: dict[str, str]) -> Path:
    for word, split in splits.items():
        write_parquet(
            folder / "mine" / "data" / f"{word}-00000-of-00001.parquet",
            PIXELS[split],
            LABELS[split],
        )
    return folder / "mine"


def write_tars(folder: Path, splits: dict[str, str]) -> Path:
    (folder / "shards").mkdir()
    for word, split in splits.items():
        (folder / "shards" / f"{word}-000.tar").write_bytes(tar(samples(split)))
    return folder / "shards"


def write_tar(folder: Path, splits: dict[str, str]) -> Path:
    """One tar file with a folder for each split."""
    members = [
        (f"{word}/{name}", content)
        for word, split in splits.items()
        for name, content in samples(split)
    ]
    (folder / "mine.tar").write_bytes(tar(members))
    return folder / "mine.tar"


def samples(split: str) -> list[tuple[str, bytes]]:
    parts = list[tuple[str, bytes]]()
    for k, (pixels, label) in enumerate(zip(PIXELS[split], LABELS[split], strict=True)):
        parts += [
            (f"{split}{k}.png", png(pixels)),
            (f"{split}{k}.cls", str(label).encode()),
        ]
    return parts


FORMS = [write_npz, write_csv, write_column, write_parquets, write_tars, write_tar]


@pytest.mark.parametrize("write", FORMS)
def test_one_choice_in_every_form(tmp_path: Path, write: Any) -> None:
    for number, words in enumerate(
        (
            ("train", "val", "test"),
            ("TEST", "Train", "valid"),
            ("testing", "training", "dev"),
        )
    ):
        kinds = {split_of(word): word for word in words}
        splits = {
            kinds["test"]: "test",
            kinds["train"]: "train",
            kinds["validation"]: "val",
        }
        (tmp_path / str(number)).mkdir()
        path = write(tmp_path / str(number), {word: splits[word] for word in words})
        assert is_split(data.load(str(path), "test"), "test"), words
        assert is_split(data.load(str(path), "train"), "train"), words
        assert is_split(
            data.load(str(path), "test", stream=True).subset(torch.arange(4)), "test"
        ), words


@pytest.mark.parametrize("write", FORMS)
def test_validation_stands_in_for_test_and_training_never_does(
    tmp_path: Path, write: Any
) -> None:
    for name in ("half", "train", "two"):
        (tmp_path / name).mkdir()
    with noted("validation_as_test", split="dev"):
        path = write(tmp_path / "half", {"train": "train", "dev": "val"})
        images = data.load(str(path), "test")
    assert is_split(images, "val") and images.split == "validation"
    refuses(
        Refusal(NotFound, "'test'"),
        write(tmp_path / "train", {"training": "train"}),
        "test",
    )
    path = write(tmp_path / "two", {"train": "train", "test": "test", "testing": "val"})
    refuses(Refusal(MissingValue, "test", "testing"), path, "test")
    assert is_split(data.load(str(path), "train"), "train")


@pytest.mark.parametrize("write", FORMS)
def test_validation_may_be_asked_for(tmp_path: Path, write: Any) -> None:
    for name in ("three", "two"):
        (tmp_path / name).mkdir()
    path = write(tmp_path / "three", {"val": "val", "train": "train", "test": "test"})
    for asked, split in (("validation", "val"), ("test", "test"), ("train", "train")):
        images = data.load(str(path), asked)
        assert is_split(images, split) and images.split == asked
    path = write(tmp_path / "two", {"train": "train", "test": "test"})
    refuses(Refusal(NotFound, "'validation'", "train", "test"), path, "validation")


def test_what_has_no_splits_is_the_split_that_its_name_says(tmp_path: Path) -> None:
    pixels, labels = PIXELS["val"], LABELS["val"]
    for name, split in (("mine-val", "validation"), ("train", "train"), ("x", "test")):
        np.savez(tmp_path / f"{name}.npz", x=pixels, y=labels)
        write_parquet(tmp_path / f"{name}.parquet", pixels, labels)
        for path in (tmp_path / f"{name}.npz", tmp_path / f"{name}.parquet"):
            assert data.load(path, "test").split == split, path
    folder = tmp_path / "photos" / "valid"
    folder.mkdir(parents=True)
    for k, each in enumerate(pixels):
        (folder / f"{k}.png").write_bytes(png(each))
    assert data.load(folder, "test").split == "validation"
    path = write_npz(tmp_path / "photos", {"train": "train", "val": "val"})
    (column,) = (name for name in np.load(path).files if "val" in name and "x" in name)
    assert data.load(path, "test", image_column=column).split == "validation"


def test_a_data_set_with_a_name_has_its_own_splits() -> None:
    refuses(Refusal(NotFound, "'validation'", "train, test"), "digits", "validation")


def test_a_description_says_that_validation_stands_in(tmp_path: Path) -> None:
    path = write_npz(tmp_path, {"train": "train", "val": "val"})
    with noted("validation_as_test", split="val"):
        assert data.describe(str(path)).sizes == {"train": 4, "validation": 4}


def test_a_data_set_of_hugging_face(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    parts = dict[str, Any]()
    for split in PIXELS:
        image = [{"bytes": png(each), "path": None} for each in PIXELS[split]]
        rows = datasets.Dataset.from_dict(
            {"image": image, "label": LABELS[split], "split": [split] * 4}
        )
        parts[split] = rows.cast_column("image", datasets.Image())
    whole = datasets.concatenate_datasets([parts["test"], parts["train"], parts["val"]])
    splits = datasets.DatasetDict(
        {"Testing": parts["test"], "dev": parts["val"], "Training": parts["train"]}
    )
    numbers = whole.cast_column(
        "split", datasets.ClassLabel(names=["test", "train", "val"])
    )
    splits.save_to_disk(str(tmp_path / "saved"))
    for source in (whole, splits, numbers, tmp_path / "saved"):
        assert is_split(data.load(source, "test"), "test") and is_split(
            data.load(source, "train"), "train"
        )


CELLS = [
    (["train", "test", "public"], Refusal(WrongData, "'split'", "'public'")),
    (["0", "1", "1"], Refusal(WrongData, "'split'", "'0'")),
    (["train", "train", "train"], Refusal(NotFound, "'test'")),
    (["test", "Test", "train"], Refusal(MissingValue, "test, Test")),
]


def test_what_a_column_cannot_say(tmp_path: Path) -> None:
    for k in range(3):
        (tmp_path / f"{k}.png").write_bytes(png(PIXELS["test"][0]))

    def write(column: str, cells: list[str]) -> Path:
        rows = [f"{k}.png,{k},{cell}" for k, cell in enumerate(cells)]
        (tmp_path / "mine.csv").write_text("\n".join([f"path,label,{column}", *rows]))
        return tmp_path / "mine.csv"

    for cells, told in CELLS:
        refuses(told, write("split", cells), "test")
    assert (
        len(data.load(str(write("set", ["a", "b", "c"])), "test")) == 3
    )  # which is about something else
    with noted("rows_in_no_split", number=1, column="set", row=2):
        assert data.load(
            str(write("set", ["test", "", "test"])), "test"
        ).labels.tolist() == [0, 2]
    frame = pd.DataFrame(
        {"a": [0.0, 1.0, 2.0], "label": [0, 1, 2], "split": ["test", None, "test"]}
    )
    with noted("rows_in_no_split", number=1, column="split", row=2):
        assert data.load(frame, "test").labels.tolist() == [0, 2]
    # It may be the labels, which nobody can know.
    (tmp_path / "mine.csv").write_text("path,stage\n0.png,early\n1.png,late\n")
    refuses(
        Refusal(NotFound, "path, stage", "label_column"), tmp_path / "mine.csv", "test"
    )
    (tmp_path / "mine.csv").write_text(
        "path,label,split,subset\n0.png,0,test,train\n1.png,1,train,test\n"
    )
    refuses(Refusal(WrongData), tmp_path / "mine.csv", "test")
    # A competition hides the labels of its test rows.
    (tmp_path / "mine.csv").write_text(
        "path,label,split\n0.png,cat,train\n1.png,ant,train\n2.png,,test\n"
    )
    assert not data.load(str(tmp_path / "mine.csv"), "test").labelled
    assert data.load(str(tmp_path / "mine.csv"), "train").spec.classes == ("ant", "cat")


def test_splits_in_columns_that_are_not_called_so(tmp_path: Path) -> None:
    for k in range(4):
        (tmp_path / f"{k}.png").write_bytes(png(PIXELS["test"][0]))
    columns = {
        "is_training_img": ["1", "1", "0", "0"],
        "isTest": ["False", "False", "True", "True"],
        "mode": ["train", "train", "test", "test"],
    }
    for column, cells in columns.items():
        rows = [f"{k}.png,{k},{cell}" for k, cell in enumerate(cells)]
        (tmp_path / "mine.csv").write_text("\n".join([f"path,label,{column}", *rows]))
        frame = pd.DataFrame({"a": [0.0, 1, 2, 3], "label": range(4), column: cells})
        for source in (str(tmp_path / "mine.csv"), frame):
            assert data.load(source, "test").labels.tolist() == [2, 3], column
            assert data.load(source, "train").labels.tolist() == [0, 1], column
    # Whether a row is valid, or of which kind a vehicle is, says nothing of splits.
    for column, codes in {"is_valid": [1, 0, 1, 0], "is_train": [1, 2, 3, 4]}.items():
        frame = pd.DataFrame({"a": [0.0, 1, 2, 3], "label": range(4), column: codes})
        assert data.load(frame, "test").spec.columns == ("a", column)
    (tmp_path / "mine.csv").write_text(
        "path,label,vehicle\n0.png,0,train\n1.png,1,bus\n"
    )
    assert len(data.load(str(tmp_path / "mine.csv"), "test")) == 2


def test_folders_of_splits_with_another_word(tmp_path: Path) -> None:
    for number, (train, test) in enumerate(
        (("seg_train", "seg_test"), ("1_train", "2_test"), ("DogsTrain", "DogsVal"))
    ):
        folder = tmp_path / str(number)
        write_folder(
            folder,
            PIXELS["train"],
            [f"{train}/a", f"{train}/b", f"{test}/a", f"{test}/b"],
        )
        images = data.load(str(folder), "test")
        assert (len(images), images.spec.classes) == (2, ("a", "b"))
    write_folder(
        tmp_path / "places",
        PIXELS["train"],
        ["train_station", "train_station", "test_tube", "test_tube"],
    )
    assert data.load(str(tmp_path / "places"), "test").spec.classes == (
        "test_tube",
        "train_station",
    )


def test_large_parquet_files_are_split_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("datasets")
    path = write_column(tmp_path, {"train": "train", "TEST": "test"})
    monkeypatch.setattr(parquet_images, "HELD_BYTES", 0)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    assert is_split(data.load(str(path), "test"), "test") and is_split(
        data.load(str(path), "train"), "train"
    )
    table = pq.read_table(path)
    stages = table.set_column(
        table.column_names.index("Subset"), "stage", pa.array(["a", "b"] * 4)
    )
    pq.write_table(stages.drop_columns("label"), path)
    refuses(Refusal(NotFound, "image, stage", "label_column"), path, "test")


def test_folders_of_splits(tmp_path: Path) -> None:
    names = ["a", "b", "c", "d"]
    for number, words in enumerate(
        (("Train", "TEST", "Valid"), ("training_set", "test_set", "val_set"))
    ):
        for word, split in zip(words, ("train", "test", "val"), strict=True):
            classes = sorted(LABELS[split])
            write_folder(
                tmp_path / str(number) / word,
                PIXELS[split],
                [names[label] for label in classes],
            )
            write_folder(tmp_path / f"flat{number}" / word, PIXELS[split], ["."] * 4)
        for place in (str(number), f"flat{number}"):
            for split in ("train", "test"):
                images = data.load(str(tmp_path / place), split)
                x, y = images.batch(torch.arange(len(images)))
                assert set((x * 255).round().int().flatten().tolist()) == {
                    BRIGHTNESS[split]
                }, (place, split)
                assert y.tolist() == (
                    sorted(LABELS[split]) if images.labelled else [-1] * 4
                )


def test_a_class_that_is_called_like_a_split_is_asked_about(tmp_path: Path) -> None:
    write_folder(
        tmp_path / "vehicles",
        random_images(4, (1, 8, 8)),
        ["train", "train", "bus", "car"],
    )
    for split in ("train", "test"):
        refuses(
            Refusal(WrongData, "vehicles/train"),
            tmp_path / "vehicles",
            split,
        )
    write_folder(
        tmp_path / "deep" / "cat", PIXELS["train"], ["train", "train", "test", "test"]
    )
    write_folder(tmp_path / "deep" / "dog", PIXELS["train"], ["x"] * 4)
    refuses(
        Refusal(WrongData),
        tmp_path / "deep",
        "test",
    )
    write_folder(
        tmp_path / "more", PIXELS["train"], ["train/a", "test/a", "extra", "extra"]
    )
    with noted("images_beside", number=2, folder=str(tmp_path / "more")) as notes:
        assert len(data.load(str(tmp_path / "more"), "test")) == 1
    assert notes[0].facts["first"].startswith("extra")


def test_names_are_numbered_as_in_training_where_a_split_lacks_some(
    tmp_path: Path,
) -> None:
    images = random_images(3, (1, 8, 8))
    write_parquet(tmp_path / "names" / "train.parquet", images, ["ant", "bee", "cat"])
    write_parquet(tmp_path / "names" / "test.parquet", images[:2], ["cat", "ant"])
    test = data.load(str(tmp_path / "names"), "test")
    assert (test.labels.tolist(), test.spec.classes) == ([2, 0], ("ant", "bee", "cat"))
    write_parquet(tmp_path / "names" / "test.parquet", images[:2], ["cat", "dog"])
    refuses(Refusal(WrongData, "'dog'", "ant, bee, cat"), tmp_path / "names", "test")
