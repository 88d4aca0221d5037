"""Labels and columns as users name them: what is known is used, what can be read in two ways is asked about."""

from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd

from data.making import random_images, refuses, write_folder
from randsmooth import data
from randsmooth.errors import WrongData
from values import Refusal

PIXELS = random_images(6, (1, 8, 8))
GRADES = ["low", "mid", "high", "low", "high", "mid"]
ORDER = ["low", "mid", "high"]
CAFE, DECOMPOSED = normalize("NFC", "Café"), normalize("NFD", "Café")


def test_categories_keep_the_order_that_their_user_gave_them() -> None:
    ordered = pd.Categorical(GRADES, categories=[*ORDER, "top"], ordered=True)
    features = np.arange(6.0)
    forms: list[tuple[str, Any]] = [
        ("Categorical", (PIXELS, ordered)),
        ("Series", (PIXELS, pd.Series(ordered))),
        ("Index", (PIXELS, pd.CategoricalIndex(ordered))),
        ("DataFrame", pd.DataFrame({"a": features, "target": ordered})),
    ]
    for form, given in forms:
        images = data.load(given, "test")
        assert images.spec.classes == (*ORDER, "top"), form
        assert images.labels.tolist() == [0, 1, 2, 0, 2, 1], form
    texts = data.load((PIXELS, np.array(GRADES)), "test")
    assert texts.spec.classes == ("high", "low", "mid")
    numbers = pd.Series([3, 5, 3, 5, 3, 5], dtype="category")
    assert data.load((PIXELS, numbers), "test").labels.tolist() == [3, 5, 3, 5, 3, 5]


def test_a_label_that_is_missing_is_named_and_none_at_all_are_no_labels() -> None:
    holes: list[Any] = [
        pd.Categorical(["low", None, *GRADES[2:]]),
        np.array(["low", None, *GRADES[2:]], dtype=object),
        pd.Series(["low", pd.NA, *GRADES[2:]], dtype="string"),
        [0.0, np.nan, 1.0, 0.0, 1.0, 1.0],
        np.ma.masked_equal([0, 9, 1, 0, 1, 1], 9),
    ]
    for labels in holes[:-1]:
        refuses(Refusal(WrongData), (PIXELS, labels))
    refuses(Refusal(WrongData, "(1,)"), (PIXELS, holes[-1]))
    for labels in (
        [None] * 6,
        [np.nan] * 6,
        pd.Categorical([None] * 6, categories=ORDER),
    ):
        assert not data.load((PIXELS, labels), "test").labelled


def test_two_columns_of_which_each_could_be_meant_are_asked_about(
    tmp_path: Path,
) -> None:
    y, target = np.arange(6) % 3, np.arange(6) % 2
    np.savez(tmp_path / "two.npz", x=PIXELS, y=y, labels=target)
    np.savez(tmp_path / "images.npz", x=PIXELS, X=PIXELS, y=y)
    frame = pd.DataFrame({"x": np.arange(6.0), "y": y, "target": target})
    items = [
        {"image": PIXELS[k], "label": int(y[k]), "class": int(target[k])}
        for k in range(6)
    ]
    asked: list[tuple[Any, str, str]] = [
        (frame, "y", "target"),
        (frame.rename(columns={"y": "class", "target": "label"}), "class", "label"),
        (str(tmp_path / "two.npz"), "y", "labels"),
        (items, "label", "class"),
    ]
    for given, first, second in asked:
        refuses(Refusal(WrongData, repr(first), repr(second), "label_column"), given)
        assert (
            data.load(given, "test", label_column=first)
            .labels_at(data.take(6, 6))
            .tolist()
            == y.tolist()
        )
        assert (
            data.load(given, "test", label_column=second)
            .labels_at(data.take(6, 6))
            .tolist()
            == target.tolist()
        )
    refuses(
        Refusal(WrongData, "'x'", "'X'", "image_column", field="image_column"),
        str(tmp_path / "images.npz"),
    )
    beside = [
        {"image": PIXELS[0], "path": "a.png", "label": 1}
    ]  # which says where the image was
    assert len(data.load(beside, "test")) == 1


def test_letters_are_the_same_however_they_are_composed(tmp_path: Path) -> None:
    assert CAFE != DECOMPOSED
    write_folder(tmp_path / "train", PIXELS, [CAFE, "thé"] * 3)
    write_folder(tmp_path / "test", PIXELS[:2], [DECOMPOSED, "thé"])
    folders = data.load(str(tmp_path), "test")
    assert folders.spec.classes == (CAFE, "thé") and folders.labels.tolist() == [0, 1]
    texts = data.load((PIXELS, [CAFE, DECOMPOSED, "thé"] * 2), "test")
    assert (
        texts.spec.classes == (CAFE, "thé") and texts.labels.tolist() == [0, 0, 1] * 2
    )
    frame = pd.DataFrame({"a": np.arange(4.0), DECOMPOSED: [0, 1, 1, 0]})
    assert data.load(frame, "test", label_column=CAFE).labels.tolist() == [0, 1, 1, 0]
    write_folder(tmp_path / "both", PIXELS[:2], [DECOMPOSED, CAFE])
    refuses(Refusal(WrongData), str(tmp_path / "both"))
