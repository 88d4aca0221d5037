"""Data sets of the `datasets` library: objects, and folders that its `save_to_disk` wrote."""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from torch import Tensor

from randsmooth.data.columns import WAY, ColumnNames
from randsmooth.data.encoded import check_names, opened
from randsmooth.data.labels import no_labels
from randsmooth.data.layout import NAMES
from randsmooth.data.table import labels_of
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import needs

ONE, SEVERAL = "state.json", "dataset_dict.json"  # what save_to_disk writes beside one data set, or beside its splits


class HubRows:
    """A split in a `datasets.Dataset`, with whatever it selects, shuffles or filters; its images still compressed."""

    def __init__(self, dataset: Any, source: str, columns: ColumnNames, *, follow: bool) -> None:
        """`source` names it in errors; `follow`: an image may be a path to a file instead of its bytes.

        Raises:
            InputError: columns that are not clear, or are no images and labels.
        """
        import datasets

        features = dataset.features
        self._image, label = columns.find(features, source)
        if not isinstance(features[self._image], datasets.Image):
            raise InputError(
                f"the column {shown(repr(self._image))} of {source} holds {shown(features[self._image])}; needed is "
                f"datasets.Image(): cast_column({self._image!r}, datasets.Image()), or {WAY}"
            )
        self.source, self._follow = source, follow
        images = dataset.select_columns([self._image]).cast_column(self._image, datasets.Image(decode=False))
        self._rows = images.with_format("arrow")
        self.labels, self.classes = _labels(dataset, label, source)

    def open(self, index: int) -> IO[bytes]:
        table: pa.Table = self._rows[index]
        cell = table.column(self._image)[0].as_py() or {}
        if cell.get("bytes") is not None:
            return io.BytesIO(cell["bytes"])
        path = cell.get("path")
        if path and self._follow and Path(path).is_file():
            return opened(Path(path))
        raise InputError(f"{self.where(index)} has no bytes{f', and no file is at {shown(path)}' if path else ''}")

    def where(self, index: int) -> str:
        return f"image {index} of {self.source}"


def _labels(dataset: Any, label: str | None, source: str) -> tuple[Tensor, tuple[str, ...] | None]:
    if label is None:
        return no_labels(len(dataset)), None
    column = dataset.select_columns([label]).with_format("arrow")[:].column(label)
    names = getattr(dataset.features[label], "names", None)
    return labels_of(column, source), check_names(names, source) if names else None


def stored_arrays(dataset: Any, source: str, columns: ColumnNames) -> tuple[Any, Any] | None:
    """Pixels (N, ...) and labels (N,), or None, of a Dataset whose images are numbers; None where they are files."""
    import datasets

    image, label = columns.find(dataset.features, source)
    kinds = datasets.Array2D, datasets.Array3D, datasets.List
    if not isinstance(dataset.features[image], kinds):
        return None
    arrays = dataset.with_format("numpy")
    try:
        pixels = np.stack(list(arrays[image]))
    except ValueError as error:
        raise InputError(f"the images of {source} have several shapes: {shown(error)}") from error
    return pixels, None if label is None else np.asarray(list(arrays[label]))


def is_saved(folder: Path) -> bool:
    """Whether `save_to_disk` of the library wrote this folder."""
    return (folder / ONE).is_file() or (folder / SEVERAL).is_file()


def from_disk(folder: Path) -> Any:
    """The Dataset or DatasetDict in a folder that `save_to_disk` wrote.

    Raises:
        InputError: the library is missing, or cannot read it.
    """
    with needs(f"{folder}, a data set of the library datasets,"):
        import datasets

    try:
        return datasets.load_from_disk(str(folder))
    except Exception as error:  # the library's own errors have no other base class in common
        raise InputError(f"{folder} cannot be read as a data set of the library datasets: {shown(error)}") from error


def hub_splits(source: Any) -> dict[str, Any] | None:
    """Split -> Dataset where `source` is a DatasetDict; None for a Dataset, which has no splits.

    Raises:
        InputError: it is streamed.
    """
    import datasets

    streamed = datasets.IterableDataset, datasets.IterableDatasetDict
    if isinstance(source, streamed):
        raise InputError(
            "a streamed data set has no positions to certify: take the part you want, "
            "datasets.Dataset.from_list(list(streamed.take(1000)))"
        )
    return (
        {split: source[name] for split, names in NAMES.items() for name in names[::-1] if name in source}
        if isinstance(source, dict)
        else None
    )


def is_transformed(dataset: Any) -> bool:
    """Whether a Dataset gives other items than it stores: it has a `set_transform`."""
    return bool(dataset.format["type"] == "custom")


def is_hub_object(source: object) -> bool:
    """Whether `source` is of the `datasets` library, which is not loaded for this."""
    return type(source).__module__.partition(".")[0] == "datasets"


def called(dataset: Any) -> str:
    """What to call a Dataset: by its own name, where it has one."""
    name = dataset.info.dataset_name or dataset.info.builder_name
    return f"{shown(name)} (datasets)" if name else "a datasets.Dataset"
