"""Images in tables: Parquet files, and what the library `datasets` holds: objects, folders it saved, the hub."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from torch import Tensor

from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.decode import Encoded
from randsmooth.data.labels import NONE, USUAL, WAY, ColumnNames, check_names, no_labels
from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError
from randsmooth.extras import needs

# What Arrow raises for bytes that are no Parquet file, or one that it cannot read.
DAMAGED = (OSError, ValueError, KeyError, OverflowError, MemoryError, pa.ArrowException)

HELD_BYTES = 2**28  # of Parquet files that are held in memory; larger ones are mapped from disk
ROWS, BUFFER = 64, 2**20  # rows, and bytes of a column, that are read at a time: a small file may repeat a large image

# How many bytes of images a file may hold: so many times its size, or so many bytes.
MOST_SWELLING, SMALL_BYTES = 64, 2**27

ONE, SEVERAL = "state.json", "dataset_dict.json"  # what save_to_disk writes beside one data set, or beside its splits
TIMEOUT_SECONDS = 5.0


class ArrowTable(Encoded):
    """A split in a table that is held in memory."""

    def __init__(self, table: pa.Table, image: str, label: str | None, source: str) -> None:
        labels = no_labels(len(table)) if label is None else labels_of(table.column(label), source)
        super().__init__(labels, _classes(table.schema, label, source), source)
        self._bytes = pc.struct_field(table.column(image), "bytes")

    def content(self, index: int) -> bytes | None:
        found: bytes | None = self._bytes[index].as_py()
        return found


class DatasetRows(Encoded):
    """A split in a `datasets.Dataset`, with whatever it selects, shuffles or filters; its images still compressed."""

    def __init__(self, dataset: Any, source: str, columns: ColumnNames = USUAL, *, follow: bool = False) -> None:
        """`source` names it in errors; `follow`: an image may be a path to a file instead of its bytes.

        Raises:
            InputError: columns that are not clear, or are no labels.
        """
        import datasets

        self._image, label = columns.find(dataset.features, source)
        labels, classes = no_labels(len(dataset)), None
        if label is not None:
            labels = labels_of(dataset.select_columns([label]).with_format("arrow")[:].column(label), source)
            names = getattr(dataset.features[label], "names", None)
            classes = check_names(names, source) if names else None
        super().__init__(labels, classes, source)
        images = dataset.select_columns([self._image]).cast_column(self._image, datasets.Image(decode=False))
        self._rows, self._follow = images.with_format("arrow"), follow

    def content(self, index: int) -> bytes | Path | None:
        cell = self._rows[index].column(self._image)[0].as_py() or {}
        data: bytes | None = cell.get("bytes")
        path = Path(cell.get("path") or "")
        return path if data is None and self._follow and path.is_file() else data


def holds_files(feature: Any) -> bool:
    """Whether a column of `datasets` holds compressed images, not their pixels."""
    import datasets

    return isinstance(feature, datasets.Image) or (isinstance(feature, dict) and "bytes" in feature)


def read_parquet(files: Sequence[Path], columns: ColumnNames = USUAL) -> Encoded:
    """One split from its Parquet shards, in order. Raises InputError naming a file that cannot be used."""
    source = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    schemas = []
    for file in files:
        with _opened(file) as parquet:
            whole = parquet.schema_arrow
        image, label = columns.find(whole.names, str(file))
        if not _holds_bytes(whole.field(image).type):
            holds = f"the column {shown(repr(image))} of {file} holds {shown(whole.field(image).type)}"
            raise InputError(f"{holds}; expected struct<bytes: binary, path: string>: {WAY}")
        kept = [whole.field(name) for name in (image, label) if name is not None]
        schemas.append(pa.schema(kept, whole.metadata))
    if any(schema != schemas[0] for schema in schemas):
        raise InputError(f"{source} have different columns, fetch them again")
    if sum(file.stat().st_size for file in files) > HELD_BYTES:
        return _mapped(files, image, label, source)
    batches = [batch for file in files for batch in _batches(file, schemas[0].names)]
    return ArrowTable(pa.Table.from_batches(batches, schemas[0]), image, label, source)


def _opened(file: Path) -> pq.ParquetFile:
    """The file, of which no rows are read yet. Raises InputError where it is no Parquet file."""
    try:
        return pq.ParquetFile(file, page_checksum_verification=True, buffer_size=BUFFER, pre_buffer=False)
    except DAMAGED as error:
        raise InputError(f"{file} is no readable Parquet file, fetch it again: {shown(error)}") from error


def _batches(file: Path, names: list[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a file, a few at a time: images are compressed already, so that a file grows little as it is read."""
    most, size = max(SMALL_BYTES, MOST_SWELLING * file.stat().st_size), 0
    swollen = InputError(f"{file} swells to more than {most:,} bytes of images; expected them compressed, once each")
    try:
        with _opened(file) as parquet:
            groups = range(parquet.metadata.num_row_groups)
            # Their columns are not looked at: in a damaged file that ends the process.
            if sum(parquet.metadata.row_group(number).total_byte_size for number in groups) > most:
                raise swollen
            for batch in parquet.iter_batches(ROWS, columns=names):
                size += batch.nbytes
                if size > most:
                    raise swollen
                yield batch.select(names)
    except InputError:
        raise
    except DAMAGED as error:
        raise InputError(f"{file} is a damaged Parquet file, fetch it again: {shown(error)}") from error


def _mapped(files: Sequence[Path], image: str, label: str | None, source: str) -> Encoded:
    """Files too large for memory: `datasets` writes their rows to its cache once, from where they are mapped."""
    with needs(f"reading more than {HELD_BYTES:,} bytes of Parquet files"):
        import datasets
    try:
        of = {"data_files": [str(file.resolve()) for file in files], "split": "train"}  # which is what it calls them
        columns = [name for name in (image, label) if name is not None]
        found = datasets.load_dataset("parquet", **of, columns=columns, batch_size=ROWS)
    except Exception as error:  # the library's own errors have no other base class in common
        raise InputError(f"{source} cannot be read, fetch it again: {shown(error.__cause__ or error)}") from error
    return DatasetRows(found, source, ColumnNames(image, label or NONE))


def _holds_bytes(kind: pa.DataType) -> bool:
    if not pa.types.is_struct(kind) or (place := kind.get_field_index("bytes")) < 0:
        return False
    held = kind.field(place).type
    return bool(pa.types.is_binary(held) or pa.types.is_large_binary(held))


def labels_of(column: pa.ChunkedArray, source: str) -> Tensor:
    """The label column as (N,) int64."""
    found = f"found {shown(column.type)}{' with gaps' if column.null_count else ''}"
    try:
        if pa.types.is_integer(column.type) and not column.null_count:
            return torch.tensor(column.cast(pa.int64()).to_numpy(), dtype=torch.int64)
    except pa.ArrowException as error:
        found = f"found {shown(error)}"
    raise InputError(
        f"the labels of {source} must be integers from 0 to K - 1; {found}: number them, as `class_encode_column` of "
        "datasets does"
    )


def _classes(schema: pa.Schema, label: str | None, source: str) -> tuple[str, ...] | None:
    """The class names that Hugging Face writes in the schema's metadata; InputError where they are no names."""
    metadata = (schema.metadata or {}).get(b"huggingface")
    found = parse_json(metadata, f"the metadata of {source}") if metadata and label else None
    for key in ("info", "features", label, "names"):
        found = found.get(key) if isinstance(found, dict) else None
    if found and not isinstance(found, list):
        raise InputError(f"the class names of {source} are a {type(found).__name__}, expected a list")
    return check_names(found, source) if found else None


def is_saved(folder: Path) -> bool:
    """Whether `save_to_disk` of the library `datasets` wrote this folder."""
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


def from_hub(spec: DatasetSpec, split: str) -> Encoded:
    """A split of a data set that has an id on the Hugging Face hub, through the cache of `datasets`.

    Raises:
        InputError: within seconds, if the library, the network or the data set is not there.
    """
    with needs(f"the data set {spec.hub} of the hub"):
        import datasets
        import huggingface_hub

    try:
        if not datasets.config.HF_HUB_OFFLINE:  # any answer is enough; `datasets` would retry for half a minute
            with suppress(urllib.error.HTTPError):
                urllib.request.urlopen(huggingface_hub.constants.ENDPOINT, timeout=TIMEOUT_SECONDS).close()
        found = datasets.load_dataset(spec.hub, spec.hub_config, split=spec.files[split][0])
    except (OSError, ValueError) as error:
        there = f"{spec.hub} of {huggingface_hub.constants.ENDPOINT}"
        raise InputError(f"cannot reach {there} ({shown(error)}); HF_HUB_OFFLINE=1 reads the cache") from error
    return DatasetRows(found, f"{spec.hub} ({split})")
