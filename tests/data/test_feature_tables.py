"""Tables of features are recognised: DataFrames and CSV files, with their splits, names and labels."""

import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from data.making import pixels_of, png, random_images, refuses
from randsmooth import data
from randsmooth.errors import NotFound, WrongData
from values import Refusal, noted

ROWS = pd.DataFrame(
    {
        "x": [1.5, 2.5, -3.0, 4.0],
        "mass": [10, 20, 30, 40],
        "species": ["cat", "dog", "cat", "ant"],
    }
)


def written(
    folder: Path, frame: pd.DataFrame, name: str = "rows.csv", **how: object
) -> str:
    frame.to_csv(folder / name, **{"index": False} | how)
    return str(folder / name)


def test_a_csv_of_numbers_is_the_data_frame(tmp_path: Path) -> None:
    frame = data.load(ROWS, "test", label_column="species")
    forms = [
        written(tmp_path, ROWS),
        written(tmp_path, ROWS, "semicolons.csv", sep=";"),
        written(tmp_path, ROWS, "tabs.tsv", sep="\t"),
    ]
    for path in forms:
        images = data.load(path, "test", label_column="species")
        assert (
            images.spec.features
            and images.spec.columns == ("x", "mass") == frame.spec.columns
        ), path
        assert images.spec.classes == (
            "ant",
            "cat",
            "dog",
        ) and images.labels.tolist() == [1, 2, 1, 0], path
        assert torch.equal(images.batch(range(4))[0], frame.batch(range(4))[0]), path
    shuffled = ROWS.set_index(pd.Index([7, 300, 2, 5]))
    with noted("numbering_column"):
        counted = data.load(
            written(tmp_path, shuffled, "counted.csv", index=True),
            "test",
            label_column="species",
        )
    assert counted.spec.columns == ("x", "mass")
    pair = data.load((ROWS[["mass", "x"]], ROWS.species), "test")
    assert pair.spec.columns == ("mass", "x") and pair.labels.tolist() == [1, 2, 1, 0]
    numbered = written(tmp_path, ROWS.assign(species=[0, 2, 0, 1]), "numbered.csv")
    assert data.load(numbered, "test", label_column="species").labels.tolist() == [
        0,
        2,
        0,
        1,
    ]
    holes = written(tmp_path, ROWS.assign(species=["0", "", "0", "1"]), "holes.csv")
    refuses(Refusal(WrongData), holes, label_column="species")
    unlabelled = data.load(
        written(tmp_path, ROWS[["x", "mass"]], "unlabelled.csv"),
        "test",
        label_column="none",
    )
    assert not unlabelled.labelled


def test_a_parquet_file_of_numbers_is_the_data_frame(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    for frame in (ROWS, ROWS.set_index("mass"), ROWS.iloc[::-1]):
        frame.to_parquet(path)
        here, there = (
            data.load(source, "test", label_column="species")
            for source in (frame, str(path))
        )
        assert isinstance(here, data.TensorImages) and isinstance(
            there, data.TensorImages
        )
        assert torch.equal(here.pixels, there.pixels)
        assert here.labels.tolist() == there.labels.tolist()
        assert here.spec.columns == there.spec.columns
    ROWS.assign(split=["train", "test", "test", "train"]).to_parquet(path)
    images = data.load(str(path), "test", label_column="species")
    assert pixels_of(images)[:, 0].tolist() == [2.5, -3.0]
    held = data.load(str(path), label_column="mass", categories=True).spec.held
    assert [column.name for column in held] == ["species"]
    refuses(
        Refusal(WrongData, "'species'", "'cat'"), path, "train", label_column="mass"
    )


def test_the_splits_that_a_table_says_are_heard(tmp_path: Path) -> None:
    parted = ROWS.assign(split=["train", "test", "train", "test"], stage=[1, 2, 3, 4])
    for given in (parted, written(tmp_path, parted)):
        train, test = (
            data.load(given, split, label_column="species")
            for split in ("train", "test")
        )
        assert train.spec.columns == ("x", "mass", "stage") == test.spec.columns
        assert train.batch(range(2))[0][:, 0].tolist() == [
            1.5,
            -3.0,
        ] and test.labels.tolist() == [2, 0]
        assert test.spec.classes == ("ant", "cat", "dog") and test.spec.sizes == {
            "train": 2,
            "test": 2,
        }
    only = ROWS.assign(split="train")
    refuses(Refusal(NotFound, "'test'"), only, "test", label_column="species")


def test_what_is_wrong_in_a_table_is_named_by_its_line(tmp_path: Path) -> None:
    texts = ROWS.astype({"mass": object}).copy()
    texts.loc[2, "mass"] = "heavy"
    holes = ROWS.astype({"mass": float}).copy()
    holes.loc[1, "mass"] = np.nan
    table: list[tuple[object, Refusal]] = [
        (texts, Refusal(WrongData, "'mass'", "'heavy'", "DataFrame")),
        (
            written(tmp_path, texts, "texts.csv"),
            Refusal(WrongData, "'mass'", "'heavy'"),
        ),
        (holes, Refusal(WrongData, "DataFrame")),
        (written(tmp_path, holes, "holes.csv"), Refusal(WrongData)),
        (
            written(tmp_path, ROWS.rename(columns={"mass": ""}), "nameless.csv"),
            Refusal(WrongData),
        ),
    ]
    for given, told in table:
        refuses(told, given, label_column="species")
    refuses(Refusal(NotFound, "label_column"), written(tmp_path, ROWS))
    (tmp_path / "0.png").write_bytes(png(random_images(1, (1, 8, 8))[0]))
    (tmp_path / "list.csv").write_text("photo,label\n0.png,1\n")
    refuses(Refusal(NotFound, "image_column"), str(tmp_path / "list.csv"))
    (tmp_path / "named.csv").write_text("x,label\n0.png,1\n")
    assert data.load(str(tmp_path / "named.csv"), "test").spec.shape == (1, 8, 8)


def test_many_columns_take_as_long_as_their_numbers(tmp_path: Path) -> None:
    names = ",".join(f"c{place}" for place in range(40_000))
    numbers = ",".join(["1.5"] * 40_000)
    (tmp_path / "wide.csv").write_text(f"{names},label\n{numbers},1\n")
    data.load(written(tmp_path, ROWS), "test", label_column="species")  # loads pandas
    began = time.process_time()
    assert data.load(str(tmp_path / "wide.csv"), "test").spec.shape == (40_000,)
    assert time.process_time() - began < 6.0
