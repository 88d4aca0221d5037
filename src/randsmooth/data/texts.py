"""Texts and their labels: lists, and a column of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from randsmooth.data.arrays import labels_given, read_labels
from randsmooth.data.augmentation import Draws
from randsmooth.data.dataset_spec import DatasetSpec, spec_of_own_data
from randsmooth.data.feature_tables import PARQUET, frame_of_list, roles_of
from randsmooth.data.images import Images, with_classes
from randsmooth.data.labels import Where, numbered, renumbered
from randsmooth.data.lists import LIST_SUFFIXES, read_rows
from randsmooth.data.parquet_images import read_frame, scalar_columns
from randsmooth.data.request import Device, Request
from randsmooth.data.split_columns import rows_of_splits
from randsmooth.data.splits import chosen
from randsmooth.documents import shown
from randsmooth.errors import WrongData
from randsmooth.word_codes import encoded, height_for, words_of

# The most numbers that one text may take, words times the numbers of the longest word.
MOST_NUMBERS = 2**22


class Texts(Images):
    """The texts of one split; each is an array with a column a word (see `word_codes`).

    Attributes:
        texts: the N texts.

    Example:
        >>> few = texts(["it was good", "it was really bad"], ["yes", "no"])
        >>> few.spec.shape, few.spec.classes, few.labels.tolist()
        ((2, 4), ('no', 'yes'), [1, 0])
    """

    streams = False

    def __init__(
        self,
        spec: DatasetSpec,
        split: str,
        texts: Sequence[str],
        labels: Tensor,
        device: Device = "cpu",
    ) -> None:
        """Hold a split.

        Args:
            spec: the data set, whose shape (H, L) suits every text.
            split: "train", "validation" or "test".
            texts: the N texts.
            labels: (N,) int64, all -1 if there are none.
            device: where batches are to be.
        """
        super().__init__(spec, split, device)
        self.texts = tuple(texts)
        self.labels = labels

    def to(self, device: Device) -> Texts:
        return Texts(self.spec, self.split, self.texts, self.labels, device)

    def in_classes(self, classes: Sequence[str]) -> Texts:
        spec = replace(self.spec, classes=tuple(classes))
        labels = renumbered(self.labels, self.spec.classes, classes)
        return Texts(spec, self.split, self.texts, labels, self.device)

    def relabelled(self, labels: Tensor, classes: Sequence[str] = ()) -> Texts:
        spec = with_classes(self.spec, classes)
        return Texts(spec, self.split, self.texts, labels, self.device)

    def subset(self, indices: Tensor) -> Texts:
        texts_there = [self.texts[index] for index in indices.tolist()]
        labels = self.labels[indices.cpu()]
        return Texts(self.spec, self.split, texts_there, labels, self.device)

    def vocabulary(self) -> list[str]:
        """Return the words of all texts, each once, in the order of the alphabet."""
        return sorted({word for text in self.texts for word in words_of(text)})

    def _pixels(self, indices: Tensor, augment: Draws | None) -> Tensor:
        arrays = [
            encoded(words_of(self.texts[index]), self.spec.shape)
            for index in indices.tolist()
        ]
        return torch.from_numpy(np.array(arrays)).to(self.device)


def texts(texts: Sequence[str], labels: Any = None, *, name: str = "texts") -> Texts:
    """Return texts with their labels, to certify how many words may be replaced.

    Args:
        texts: N texts; a word is what stands between whitespace.
        labels: (N,) numbers from 0, or names; None: there are none.
        name: the name for the data set.

    Raises:
        WrongData: something is no text or has no words, or a label cannot be used; the
            message names the first.

    Example:
        >>> texts(["it was good", "it was really bad"]).batch([0])[0].shape
        torch.Size([1, 2, 4])
    """
    return _from_lists(
        list(texts),
        labels,
        Request(split=None),
        name=name,
        where=lambda row: f"text {row} of {name}",
    )


def read_texts(path: Path, request: Request) -> Texts:
    """Return the texts in a column of a CSV, TSV, JSON lines or Parquet file.

    Raises:
        Problem: the file is of another kind, it is not clear which column holds the texts
            or the labels, or a text cannot be used; the message names its line.
    """
    suffix = path.suffix.lower()
    if suffix == PARQUET:
        frame = read_frame(path, list(scalar_columns(path)))
        return texts_of_table(
            frame, request, str(path), lambda row: f"row {row + 1} of {path}", path.name
        )
    if suffix not in LIST_SUFFIXES:
        raise WrongData(
            f"{path} holds no texts that are read: expected a file .csv, .tsv, .jsonl or "
            ".parquet with a column of texts",
            field="text_column",
            value=request.columns.text,
        )
    header, *rows = read_rows(path)
    lines = [number for number, _ in rows]
    return texts_of_table(
        frame_of_list(path, header, rows),
        request,
        str(path),
        lambda row: f"line {lines[row]} of {path}",
        path.name,
    )


def texts_of_table(
    frame: Any,
    request: Request,
    name: str = "the DataFrame",
    where: Where | None = None,
    called: str = "texts",
) -> Texts:
    """Return the texts in a column of a DataFrame, with the labels in another.

    A column may tell the split of each row.

    Args:
        frame: the table.
        request: the split and the columns that the user asks for.
        name: the name for the table in errors.
        where: names a row in errors.
        called: the name for the data set.

    Raises:
        Problem: it is not clear which columns are meant, or a text cannot be used.
    """
    where = where or (lambda row: f"row {row} of {name}")
    names = [str(column) for column in frame.columns]
    # Columns of numbers and times have types of their own.
    holding = [
        column
        for column, dtype in zip(names, frame.dtypes, strict=True)
        if dtype.kind == "O"
    ]
    text = request.columns.text_among(names, holding, name)
    others = frame.loc[:, [column != text for column in names]]
    roles = roles_of(others, request, labels_given=len(names) == 1, name=name)
    labels = None if roles.label is None else frame[roles.label]
    whole = _from_lists(
        frame[text].tolist(), labels, request, name=called, where=where, source=name
    )
    if not roles.splits:
        return whole
    rows_by_name = rows_of_splits(roles.splits, name)
    split, rows = chosen(rows_by_name, request.split, name)
    part = whole.subset(torch.tensor(rows[split]))
    spec = replace(whole.spec, sizes={other: len(kept) for other, kept in rows.items()})
    return Texts(spec, split, part.texts, part.labels, request.device)


def _from_lists(
    texts: list[Any],
    labels: Any,
    request: Request,
    *,
    name: str,
    where: Where,
    source: str | None = None,
) -> Texts:
    """Return texts with their labels; arguments are those of `texts_of_table`."""
    if not texts:
        raise WrongData(f"no texts in {source or name}")
    words = [_words_of(text, where(row)) for row, text in enumerate(texts)]
    called = source or name
    array = labels_given(labels, (len(texts),), called)
    numbers, classes, alphabetical = read_labels(
        labels, array, len(texts), where, called
    )
    longest = max(map(len, words))
    height = max(map(height_for, words))
    if longest * height > MOST_NUMBERS:
        raise WrongData(
            f"the longest text of {called} has {longest:,} words, and the "
            f"longest word takes {height:,} numbers: more than {MOST_NUMBERS:,} together",
            fix="cut it",
        )
    spec = spec_of_own_data(
        name,
        {request.called: len(texts)},
        (height, longest),
        classes or numbered(numbers),
        named=classes is not None,
        fit=None,
        alphabetical=alphabetical,
    )
    spec = replace(spec, texts=True, description=f"{len(texts):,} texts of {spec.name}")
    return Texts(spec, request.called, texts, numbers, request.device)


def _words_of(text: object, where: str) -> list[str]:
    """Return the words of a text.

    Raises:
        WrongData: it is no text, or has no words.
    """
    # Tables have NaN for an empty cell.
    is_missing = text is None or (isinstance(text, float) and np.isnan(text))
    if is_missing:
        raise WrongData(f"{where} is empty", fix="leave it out")
    if not isinstance(text, str):
        raise WrongData(f"{where} is {shown(repr(text))}, no text", fix="leave it out")
    words = words_of(text)
    if not words:
        raise WrongData(f"{where} has no words", fix="leave it out")
    return words
