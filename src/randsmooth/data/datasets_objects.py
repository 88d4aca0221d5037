"""Objects of the library `datasets`: a user's own, or read from a folder."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from randsmooth.data.datasets_library import from_rows, holds_files, splits_of_rows
from randsmooth.data.encoded_splits import images_of_split, spec_of_splits
from randsmooth.data.images import Images
from randsmooth.data.items import Items, from_items, from_object
from randsmooth.data.request import Request
from randsmooth.data.saved_to_disk import Rows
from randsmooth.data.split_words import split_of
from randsmooth.data.splits import chosen
from randsmooth.documents import shown


def from_datasets(source: Any, request: Request, folder: str | None = None) -> Images:
    """Return a split of a Dataset or DatasetDict of `datasets`.

    Args:
        source: the object.
        request: the split and the columns that the user asks for.
        folder: the name of the folder that it was read from; None: a user made it.

    Raises:
        Problem: the split is not there, or its images cannot be used.
    """
    import datasets

    # Other objects of the library, such as streamed ones, may still give items by index.
    if not isinstance(source, datasets.Dataset | datasets.DatasetDict):
        return from_object(source, request)

    split, splits = _chosen_splits(source, request, folder)
    taken = splits[split]
    name = folder or _name_of(taken)
    # With a custom format, items are made by a function of the user's: they are taken, and
    # not what is stored.
    if taken.format["type"] == "custom":
        return _from_items(taken, split, request, name, folder)

    image, label = request.columns.find(taken.features, name)
    if holds_files(taken.features[image]):
        return _from_files(splits, split, request, name, folder)
    # The other columns are left out, so that they are not decoded.
    columns = [image] if label is None else [image, label]
    rows = _in_numpy(taken.select_columns(columns), image)
    return _from_items(rows, split, request, name, folder)


def _chosen_splits(
    source: Any, request: Request, folder: str | None
) -> tuple[str, Mapping[str, Any]]:
    """Return which split is taken, and split -> Dataset, as `chosen` does."""
    # A DatasetDict has splits. A Dataset may have a column that tells them.
    if isinstance(source, dict):
        called = f"the DatasetDict of {', '.join(map(str, source))}"
        return chosen(source, request.split, called, split_of)
    return chosen(
        splits_of_rows(source, request.columns),
        request.split,
        folder or "the datasets.Dataset",
        whole=request.called,
    )


def _name_of(dataset: Any) -> str:
    """Return the name for a Dataset: its own if it has one, or else what it is."""
    name = dataset.info.dataset_name or dataset.info.builder_name
    return f"{shown(name)} (datasets)" if name else "a datasets.Dataset"


def _from_files(
    splits: Mapping[str, Any],
    split: str,
    request: Request,
    name: str,
    folder: str | None,
) -> Images:
    """Return a split whose images are stored compressed.

    A Dataset that was read from a folder may come from a stranger, so no path in it is
    followed.

    Args:
        splits: split -> Dataset.
        split: the split that is taken.
        request: what the user asks for.
        name: the name for the data set.
        folder: the folder that it was read from; None: a user made it.
    """
    encoded = {
        called: from_rows(part, name, request.columns, follow=folder is None)
        for called, part in splits.items()
    }
    spec = spec_of_splits(name, encoded, request.fit)
    return images_of_split(spec, split, encoded[split], request)


def _in_numpy(dataset: Any, image: str) -> Any:
    """Return a Dataset whose images are NumPy arrays of the type that is stored.

    Left to itself, the library would change the type.

    Args:
        dataset: the Dataset.
        image: the column of images.
    """
    stored = getattr(dataset.features[image], "dtype", None)
    options = {} if stored is None else {"dtype": stored}
    return dataset.with_format(
        "numpy", columns=[image], output_all_columns=True, **options
    )


def _from_items(
    dataset: Any, split: str, request: Request, name: str, folder: str | None
) -> Images:
    """Return a split whose images are read item by item; arguments as in `_from_files`."""
    # `Rows` turns errors of damaged rows, which a folder may hold, into Problems.
    rows = dataset if folder is None else Rows(dataset, name)
    items = Items(rows, name, request.columns)
    return from_items(items, replace(request, whole=split))
