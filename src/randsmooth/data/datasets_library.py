"""Images in objects of the library `datasets`, and data sets that it fetches from the hub."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from randsmooth.data.arrow_columns import encoded_rows, named_cells
from randsmooth.data.columns import USUAL, ColumnNames
from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.encoded import Encoded
from randsmooth.data.split_columns import rows_of_splits, saying, split_column
from randsmooth.data.split_words import WHOLE
from randsmooth.documents import refused, shown
from randsmooth.errors import Problem, WrongData
from randsmooth.extras import needs

# How long the hub may take to answer. `datasets` itself would retry for half a minute.
TIMEOUT_SECONDS = 5.0


@contextmanager
def library(what: str, failed: str) -> Iterator[Any]:
    """Yield the library `datasets`, and turn errors that it raises in the block into Problems.

    These errors have no other base class in common than Exception.

    Args:
        what: what cannot be done without the library, for the error where it is missing.
        failed: the beginning of the message for any other error.
    """
    with needs(what):
        import datasets
    try:
        yield datasets
    except Problem:
        raise
    except Exception as error:
        # The library wraps errors in others that only say that something failed.
        raise WrongData(f"{failed}: {shown(error.__cause__ or error)}") from error


def from_rows(
    dataset: Any, source: str, columns: ColumnNames = USUAL, *, follow: bool = False
) -> Encoded:
    """Return a `datasets.Dataset` of compressed images as a split.

    Rows that were selected, shuffled or filtered come as the dataset gives them.

    Args:
        dataset: the split.
        source: names the split in errors.
        columns: the columns that hold images and labels.
        follow: whether an image may be given by the path of a file instead of its bytes.

    Raises:
        Problem: it is not clear which columns are meant, or labels cannot be used.
    """
    import datasets

    image, label = columns.find(dataset.features, source)
    labels = None
    names = None
    if label is not None:
        labels = dataset.select_columns([label]).with_format("arrow")[:].column(label)
        names = getattr(dataset.features[label], "names", None)
    # Images stay compressed, and only their column is read.
    images = (
        dataset.select_columns([image])
        .cast_column(image, datasets.Image(decode=False))
        .with_format("arrow")
    )

    def content(index: int) -> bytes | Path | None:
        cell = images[index].column(image)[0].as_py() or {}
        data: bytes | None = cell.get("bytes")
        path = Path(cell.get("path") or "")
        if data is None and follow and path.is_file():
            return path
        return data

    return encoded_rows(len(dataset), labels, names, source, content)


def splits_of_rows(dataset: Any, columns: ColumnNames) -> dict[str, Any]:
    """Return the splits of a `datasets.Dataset` that has a column about splits.

    Args:
        dataset: a `datasets.Dataset`.
        columns: the columns that hold images and labels.

    Returns:
        The column's own name of each split -> its rows; the only name WHOLE means that no
        column tells splits.

    Raises:
        WrongData: columns about splits cannot be understood.
    """
    source = "the datasets.Dataset"
    stored = [name for name in dataset.column_names if name in dataset.features]
    about_splits = split_column(stored, (columns.image, columns.label))
    if not about_splits:
        return {WHOLE: dataset}

    table = dataset.select_columns(about_splits).with_format("arrow")[:]
    cells = {}
    for name in about_splits:
        names_of_numbers = getattr(dataset.features[name], "names", None)
        cells[name] = named_cells(table.column(name).to_pylist(), names_of_numbers)
    telling = saying(cells, source)
    if not telling:
        return {WHOLE: dataset}

    rows = rows_of_splits({name: cells[name] for name in telling}, source)
    # A dataset with a custom format makes its items by a function of the user's, which may
    # need these columns.
    if dataset.format["type"] != "custom":
        dataset = dataset.remove_columns(telling)
    return {split: dataset.select(places) for split, places in rows.items()}


def holds_files(feature: Any) -> bool:
    """Return whether a column of `datasets` holds compressed images, not pixels.

    Args:
        feature: the type of the column.
    """
    # It takes seconds to load, and the caller has it already.
    import datasets

    if isinstance(feature, datasets.Image):
        return True
    return isinstance(feature, dict) and "bytes" in feature


def from_hub(spec: DatasetSpec, split: str) -> Encoded:
    """Return a split of a data set that has an id on the Hugging Face hub.

    `datasets` downloads it into its cache, and reads it from there.

    Raises:
        Problem: the library, the network or the data set is not there. Without a network
            it is raised within seconds.
    """
    with needs(f"the data set {spec.hub} of the hub"):
        import datasets
        import huggingface_hub

    hub = huggingface_hub.constants.ENDPOINT
    unreachable = f"cannot reach {spec.hub} of {hub} (HF_HUB_OFFLINE=1 reads the cache)"
    with refused(unreachable, (OSError, ValueError)):
        if not datasets.config.HF_HUB_OFFLINE:
            # This only asks whether the hub answers at all. An HTTP error is an answer too.
            with suppress(urllib.error.HTTPError):
                urllib.request.urlopen(hub, timeout=TIMEOUT_SECONDS).close()
        hub_split = spec.files[split][0]
        dataset = datasets.load_dataset(spec.hub, spec.hub_config, split=hub_split)
    return from_rows(dataset, f"{spec.hub} ({split})")
