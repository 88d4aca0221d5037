"""Images in tables: Parquet files, and what the library `datasets` holds: objects and the hub."""

import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from randsmooth.contents import check_itself
from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.decode import Content, Encoded, check_swelling
from randsmooth.data.labels import (
    NONE,
    USUAL,
    WAY,
    ColumnNames,
    check_names,
    labels_of,
    no_labels,
)
from randsmooth.data.splits import WHOLE, rows_of_splits, saying, split_column
from randsmooth.documents import parse_json, refused, shown
from randsmooth.errors import Problem, WrongData
from randsmooth.extras import needs
from randsmooth.parquet_layout import check_footer, read_layout

# What Arrow raises for bytes that are no Parquet file, or one that it cannot read.
DAMAGED = (OSError, ValueError, KeyError, OverflowError, MemoryError, pa.ArrowException)

HELD_BYTES = (
    2**28
)  # of Parquet files that are held in memory; larger ones are mapped from disk
ROWS, BUFFER = (
    64,
    2**20,
)  # rows, and bytes of a column, that are read at a time: a small file may repeat a large image

# Of the rows that are read at a time, if each repeats the largest that it may repeat.
REPEATED_BYTES = 2**27

TIMEOUT_SECONDS = 5.0


def from_rows(
    dataset: Any, source: str, columns: ColumnNames = USUAL, *, follow: bool = False
) -> Encoded:
    """A split in a `datasets.Dataset`, with whatever it selects, shuffles or filters; its images still compressed.

    Args:
        source: names it in errors.
        follow: an image may be a path to a file instead of its bytes.

    Raises:
        Problem: columns that are not clear, or are no labels.
    """
    import datasets

    image, label = columns.find(dataset.features, source)
    column = names = None
    if label is not None:
        column = dataset.select_columns([label]).with_format("arrow")[:].column(label)
        names = getattr(dataset.features[label], "names", None)
    images = (
        dataset.select_columns([image])
        .cast_column(image, datasets.Image(decode=False))
        .with_format("arrow")
    )

    def content(index: int) -> bytes | Path | None:
        cell = images[index].column(image)[0].as_py() or {}
        data: bytes | None = cell.get("bytes")
        path = Path(cell.get("path") or "")
        return path if data is None and follow and path.is_file() else data

    return _encoded(len(dataset), column, names, source, content)


def _encoded(
    rows: int, column: pa.ChunkedArray | None, names: Any, source: str, content: Content
) -> Encoded:
    """So many images and the column of their labels; `names`: of the classes, where the table says them."""
    labels, classes = no_labels(rows), None
    if column is not None:
        with refused(f"the labels of {source} cannot be read", (IndexError, *DAMAGED)):
            values = column.to_numpy()  # or places in a dictionary without entries
        labels, classes = labels_of(
            values, lambda index: f"image {index} of {source}", source
        )
    return Encoded(
        labels,
        check_names(names, source) if names else classes,
        source,
        content,
        alphabetical=classes is not None and not names,
    )


def splits_of_rows(dataset: Any, columns: ColumnNames) -> dict[str, Any]:
    """The name of each split in a column of a `datasets.Dataset` that is about splits -> its rows; WHOLE alone: none.

    Raises:
        Problem: the columns cannot be understood.
    """
    stored = [name for name in dataset.column_names if name in dataset.features]
    about = split_column(stored, (columns.image, columns.label))
    if not about:
        return {WHOLE: dataset}
    table = dataset.select_columns(about).with_format("arrow")[:]
    cells = {
        name: named(
            table.column(name).to_pylist(),
            getattr(dataset.features[name], "names", None),
        )
        for name in about
    }
    said = saying(cells, "the datasets.Dataset")
    if not said:
        return {WHOLE: dataset}
    rows = rows_of_splits({name: cells[name] for name in said}, "the datasets.Dataset")
    others = (
        dataset if dataset.format["type"] == "custom" else dataset.remove_columns(said)
    )
    return {word: others.select(each) for word, each in rows.items()}


def named(cells: list[Any], names: Sequence[str] | None) -> list[Any]:
    """The cells of a column by their names, where numbers stand for `names`."""
    return [
        names[cell]
        if names and isinstance(cell, int) and 0 <= cell < len(names)
        else cell
        for cell in cells
    ]


def holds_files(feature: Any) -> bool:
    """Whether a column of `datasets` holds compressed images, not their pixels."""
    import datasets

    return isinstance(feature, datasets.Image) or (
        isinstance(feature, dict) and "bytes" in feature
    )


def read_parquet(files: Sequence[Path], columns: ColumnNames = USUAL) -> Encoded:
    """One split from its Parquet shards, in order. Raises Problem naming a file that cannot be used."""
    return _of_rows(files, columns, [], {})[WHOLE]


def parquet_splits(
    files: Sequence[Path], columns: ColumnNames = USUAL
) -> dict[str, Encoded]:
    """The splits that a column of Parquet shards says, by its own names; WHOLE alone where there is none.

    Args:
        files: the shards, in order.
        columns: those that hold images and labels.

    Raises:
        Problem: a file that cannot be used, or columns that are not clear.
    """
    with _opened(files[0]) as parquet:
        schema = parquet.schema_arrow
    about = split_column(schema.names, (columns.image, columns.label))
    if not about:
        return _of_rows(files, columns, [], {})
    source = _called(files)
    table = pa.Table.from_batches(
        [batch for file in files for batch in _batches(file, about)]
    )
    cells = {
        each: named(table.column(each).to_pylist(), _classes(schema, each, source))
        for each in about
    }
    said = saying(cells, source)
    return _of_rows(
        files,
        columns,
        said,
        rows_of_splits({each: cells[each] for each in said}, source) if said else {},
    )


def scalar_columns(file: Path) -> dict[str, bool]:
    """Return the name of each column of a Parquet file of numbers, texts and dates -> whether it holds numbers.

    It is empty where a column holds anything else.

    Raises:
        Problem: it is no Parquet file.
    """
    with _opened(file) as parquet:
        schema = parquet.schema_arrow
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    others = (*texts, pa.types.is_temporal)
    found = dict[str, bool]()
    for field in schema:
        found[field.name] = any(test(field.type) for test in numbers)
        if not found[field.name] and not any(test(field.type) for test in others):
            return {}
    return found


def read_frame(file: Path, names: list[str]) -> Any:
    """Return the columns `names` of a Parquet file as a DataFrame, with the index that pandas wrote.

    Raises:
        Problem: it is damaged, or holds more than it states.
    """
    with _opened(file) as parquet:
        schema = parquet.schema_arrow
    batches = list(_batches(file, names))
    with refused(f"{file} is a damaged Parquet file, fetch it again", DAMAGED):
        return pa.Table.from_batches(batches, schema).to_pandas()


def _called(files: Sequence[Path]) -> str:
    return str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def _of_rows(
    files: Sequence[Path],
    columns: ColumnNames,
    said: Sequence[str],
    splits: Mapping[str, list[int]],
) -> dict[str, Encoded]:
    """The images of Parquet shards, of each of the `splits` that the columns `said` name; WHOLE: of all rows."""
    source = _called(files)
    schemas = []
    for file in files:
        with _opened(file) as parquet:
            whole = parquet.schema_arrow
        image, label = columns.find(
            [name for name in whole.names if name not in said], str(file)
        )
        if not _holds_bytes(whole.field(image).type):
            holds = f"the column {shown(repr(image))} of {file} holds {shown(whole.field(image).type)}"
            raise WrongData(
                f"{holds}; expected images, as binary or struct<bytes: binary, path: string>",
                fix=WAY,
            )
        schemas.append(
            pa.schema(
                [whole.field(name) for name in (image, label) if name is not None],
                whole.metadata,
            )
        )
    if any(schema != schemas[0] for schema in schemas):
        raise WrongData(f"{source} have different columns, fetch them again")
    if sum(file.stat().st_size for file in files) > HELD_BYTES:
        for file in files:
            with refused(f"{file} is a damaged Parquet file, fetch it again", DAMAGED):
                _rows_at_a_time(file, schemas[0].names)
        return _mapped(files, image, label, splits, source)
    batches = [batch for file in files for batch in _batches(file, schemas[0].names)]
    table = pa.Table.from_batches(batches, schemas[0])
    names = _classes(table.schema, label, source)
    images = table.column(image)
    if pa.types.is_struct(images.type):
        images = pc.struct_field(images, "bytes")

    def encoded(rows: list[int]) -> Encoded:
        column = (
            None
            if label is None
            else table.column(label).take(pa.array(rows, pa.int64()))
        )
        return _encoded(
            len(rows), column, names, source, lambda row: images[rows[row]].as_py()
        )

    return {
        word: encoded(rows)
        for word, rows in (splits or {WHOLE: list(range(len(table)))}).items()
    }


def _opened(file: Path) -> pq.ParquetFile:
    """The file, of which no rows are read yet. Raises Problem where it is no Parquet file."""
    check_itself(file)
    with refused(f"{file} is no readable Parquet file, fetch it again", DAMAGED):
        check_footer(file)
        return pq.ParquetFile(
            file, page_checksum_verification=True, buffer_size=BUFFER, pre_buffer=False
        )


def _batches(file: Path, names: list[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a file, a few at a time: images are compressed already, so that a file grows little as it is read."""
    packed, size = file.stat().st_size, 0
    with (
        refused(f"{file} is a damaged Parquet file, fetch it again", DAMAGED),
        _opened(file) as parquet,
    ):
        rows = _rows_at_a_time(file, names)
        for batch in parquet.iter_batches(rows, columns=names):
            size += batch.nbytes
            check_swelling(file, size, packed)
            yield batch.select(names)


def _rows_at_a_time(file: Path, names: Sequence[str]) -> int:
    """Return how many rows of a Parquet file to read at a time, once it fits its size.

    Raises:
        Problem: these columns would swell.
        Misstated: what it states cannot be.
    """
    layout = read_layout(file, names)
    check_swelling(file, layout.made, file.stat().st_size)
    repeated = max((chunk.repeatable for chunk in layout.chunks), default=0)
    return max(1, min(ROWS, REPEATED_BYTES // max(1, repeated)))


@contextmanager
def library(what: str, failed: str) -> Iterator[Any]:
    """The library `datasets`, without which `what` cannot be; an error of it becomes one that begins with `failed`."""
    with needs(what):
        import datasets
    try:
        yield datasets
    except Problem:
        raise
    except Exception as error:  # its own errors have no other base class in common
        raise WrongData(f"{failed}: {shown(error.__cause__ or error)}") from error


def _mapped(
    files: Sequence[Path],
    image: str,
    label: str | None,
    splits: Mapping[str, list[int]],
    source: str,
) -> dict[str, Encoded]:
    """Files too large for memory: `datasets` writes their rows to its cache once, from where they are mapped."""
    with library(
        f"reading more than {HELD_BYTES:,} bytes of Parquet files",
        f"{source} cannot be read, fetch it again",
    ) as datasets:
        of = {
            "data_files": [str(file.resolve()) for file in files],
            "split": "train",
        }  # which is what it calls them
        columns = [name for name in (image, label) if name is not None]
        found = datasets.load_dataset("parquet", **of, columns=columns, batch_size=ROWS)
    parts = {word: found.select(rows) for word, rows in splits.items()} or {
        WHOLE: found
    }
    return {
        word: from_rows(part, source, ColumnNames(image, label or NONE))
        for word, part in parts.items()
    }


def _holds_bytes(kind: pa.DataType) -> bool:
    held = [kind]
    if pa.types.is_struct(kind):  # as Hugging Face writes images, beside their paths
        held = [field.type for field in kind if field.name == "bytes"]
    return held in ([pa.binary()], [pa.large_binary()])


def _classes(schema: pa.Schema, label: str | None, source: str) -> list[Any] | None:
    """The class names that Hugging Face writes in the schema's metadata."""
    metadata = (schema.metadata or {}).get(b"huggingface")
    found = (
        parse_json(metadata, f"the metadata of {source}")
        if metadata and label
        else None
    )
    for key in ("info", "features", label, "names"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, list) else None


def from_hub(spec: DatasetSpec, split: str) -> Encoded:
    """A split of a data set that has an id on the Hugging Face hub, through the cache of `datasets`.

    Raises:
        Problem: within seconds, if the library, the network or the data set is not there.
    """
    with needs(f"the data set {spec.hub} of the hub"):
        import datasets
        import huggingface_hub

    hub = huggingface_hub.constants.ENDPOINT
    with refused(
        f"cannot reach {spec.hub} of {hub} (HF_HUB_OFFLINE=1 reads the cache)",
        (OSError, ValueError),
    ):
        if (
            not datasets.config.HF_HUB_OFFLINE
        ):  # any answer is enough; `datasets` would retry for half a minute
            with suppress(urllib.error.HTTPError):
                urllib.request.urlopen(hub, timeout=TIMEOUT_SECONDS).close()
        found = datasets.load_dataset(
            spec.hub, spec.hub_config, split=spec.files[split][0]
        )
    return from_rows(found, f"{spec.hub} ({split})")
