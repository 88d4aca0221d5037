"""Texts from lists, DataFrames and files: which column holds them, labels, splits, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from models.refusing import check_refusals
from randsmooth import data
from randsmooth.data import Texts
from randsmooth.errors import NotFound, WrongData
from values import Refusal

TEXTS = ["it was good", "it was\u2028bad, really", "so so"]
LABELS = ["yes", "no", "no"]


def written(folder: Path, frame: pd.DataFrame, suffix: str) -> Path:
    path = folder / f"mine{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".jsonl":
        rows = frame.to_dict("records")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    return path


def test_every_form_gives_the_same_texts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [4, 5, 6], "review": TEXTS, "label": LABELS})
    forms: list[Any] = [frame]
    forms += [
        written(tmp_path, frame, s) for s in (".csv", ".tsv", ".jsonl", ".parquet")
    ]
    whole = data.texts(TEXTS, LABELS)
    assert whole.spec.inputs == "texts" and whole.spec.shape == (2, 4)
    for form in forms:
        for column in ("review", data.ONLY_TEXTS):
            images = data.load(form, "test", text_column=column)
            assert isinstance(images, Texts)
            assert images.texts == whole.texts, form
            assert images.spec.classes == ("no", "yes")
            assert images.labels.tolist() == [1, 0, 0]
            assert images.batch([1])[0].equal(whole.batch([1])[0])


def test_the_column_of_texts(tmp_path: Path) -> None:
    table = [
        (["text", "title", "label"], "text"),
        (["Sentence", "source", "label"], "Sentence"),
        (["what", "label"], "what"),
    ]
    for names, text in table:
        frame = pd.DataFrame({name: [f"{name} a", f"{name} b"] for name in names})
        images = data.load(frame, "test", text_column=data.ONLY_TEXTS)
        assert isinstance(images, Texts)
        assert images.texts[0] == f"{text} a", names


def test_a_column_tells_splits() -> None:
    frame = pd.DataFrame(
        {
            "text": ["a b", "c d e", "f"],
            "label": [0, 1, 1],
            "split": ["train", "test", "test"],
        }
    )
    test = data.load(frame, "test", text_column="text")
    assert isinstance(test, Texts) and test.texts == ("c d e", "f")
    assert test.spec.sizes == {"train": 1, "test": 2} and test.labels.tolist() == [1, 1]
    # All splits have texts of one shape.
    assert test.spec.shape == data.load(frame, "train", text_column="text").spec.shape


def test_subsets_and_classes() -> None:
    whole = data.texts(TEXTS, LABELS)
    part = whole.subset(data.take(3, 2))
    assert part.texts == (TEXTS[0], TEXTS[1]) and part.labels.tolist() == [1, 0]
    assert whole.in_classes(["maybe", "no", "yes"]).labels.tolist() == [2, 1, 1]
    assert whole.vocabulary() == ["bad,", "good", "it", "really", "so", "was"]
    assert not data.texts(TEXTS).labelled


def test_what_is_refused(tmp_path: Path) -> None:
    two = pd.DataFrame({"first": ["a"], "second": ["b"], "label": [0]})
    numbers = pd.DataFrame({"first": [1.0], "label": [0]})
    holes = pd.DataFrame({"text": ["a", None], "label": [0, 1]})
    image = tmp_path / "mine.npz"
    image.write_bytes(b"PK")
    only = data.ONLY_TEXTS
    check_refusals(
        [
            (
                lambda: data.load(two, text_column=only),
                Refusal(WrongData, "first, second", field="text_column"),
            ),
            (
                lambda: data.load(numbers, text_column=only),
                Refusal(WrongData, field="text_column"),
            ),
            (
                lambda: data.load(two, text_column="third"),
                Refusal(NotFound, "third", field="text_column"),
            ),
            (lambda: data.load(holes, text_column="text"), Refusal(WrongData, "row 1")),
            (lambda: data.load(image, text_column=only), Refusal(WrongData, "npz")),
            (lambda: data.texts([]), Refusal(WrongData)),
            (
                lambda: data.texts(["a " * 100_000 + "b" * 1000]),
                Refusal(WrongData, "100,001"),
            ),
        ]
    )
