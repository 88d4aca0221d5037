"""Parquet files of images, a split in several files or several splits in one."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from randsmooth.contents import check_no_placeholder
from randsmooth.data.arrow_columns import DAMAGED, encoded_rows, named_cells
from randsmooth.data.columns import NAME_COLUMNS, NONE, USUAL, ColumnNames
from randsmooth.data.datasets_library import from_rows, library
from randsmooth.data.decode import check_swelling
from randsmooth.data.encoded import Encoded
from randsmooth.data.split_columns import rows_of_splits, saying, split_column
from randsmooth.data.split_words import WHOLE
from randsmooth.documents import parse_json, refused, shown
from randsmooth.errors import WrongData
from randsmooth.parquet_layout import check_footer, read_layout

# Bytes of Parquet files that are held in memory; larger ones are mapped from disk.
HELD_BYTES = 2**28

# The rows, and the bytes of a column, that are read at a time. There is a limit, since
# a small file may repeat a large image.
MOST_ROWS_AT_A_TIME = 64
BUFFER_BYTES = 2**20
# Bytes of the rows that are read at a time, if each repeats the largest that it may.
REPEATED_BYTES = 2**27

FETCH_AGAIN = "fetch it again"


class _Columns(NamedTuple):
    """The columns that are read: the image, and the label where there is one."""

    image: str
    label: str | None

    @property
    def names(self) -> list[str]:
        return [self.image] if self.label is None else [self.image, self.label]


def read_parquet(files: Sequence[Path], columns: ColumnNames = USUAL) -> Encoded:
    """Return one split from its Parquet shards, in order.

    Raises:
        Problem: a file cannot be used; the message names it.
    """
    return _read_splits(files, columns, telling=[], rows={})[WHOLE]


def parquet_splits(
    files: Sequence[Path], columns: ColumnNames = USUAL
) -> dict[str, Encoded]:
    """Return the splits that a column of Parquet shards says, by its own names.

    Args:
        files: the shards, in order.
        columns: the columns that hold images and labels.

    Returns:
        WHOLE alone where no column says splits.

    Raises:
        Problem: a file that cannot be used, or columns that are not clear.
    """
    schema = _schema(files[0])
    about_splits = split_column(schema.names, (columns.image, columns.label))
    if not about_splits:
        return {WHOLE: read_parquet(files, columns)}

    source = _called(files)
    batches = [batch for file in files for batch in _batches(file, about_splits)]
    table = pa.Table.from_batches(batches)
    cells = {}
    for name in about_splits:
        names_of_numbers = _class_names(schema, name, source)
        cells[name] = named_cells(table.column(name).to_pylist(), names_of_numbers)
    telling = saying(cells, source)
    if not telling:
        return {WHOLE: read_parquet(files, columns)}

    rows = rows_of_splits({name: cells[name] for name in telling}, source)
    return _read_splits(files, columns, telling, rows)


def scalar_columns(file: Path) -> dict[str, bool]:
    """Return each column of a table of numbers, texts and dates -> whether of numbers.

    It is empty where a column holds anything else.

    Raises:
        Problem: it is no Parquet file.
    """
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    others = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_dictionary,
        pa.types.is_temporal,
    )
    holds_numbers = dict[str, bool]()
    for field in _schema(file):
        if any(is_one(field.type) for is_one in numbers):
            holds_numbers[field.name] = True
        elif any(is_one(field.type) for is_one in others):
            holds_numbers[field.name] = False
        else:
            return {}
    return holds_numbers


def read_frame(file: Path, names: list[str]) -> Any:
    """Return the columns `names` of a file as a DataFrame, with the index of pandas.

    Raises:
        Problem: it is damaged, or holds more than it states.
    """
    schema = _schema(file)
    batches = list(_batches(file, names))
    with refused(f"{file} is a damaged Parquet file, {FETCH_AGAIN}", DAMAGED):
        return pa.Table.from_batches(batches, schema).to_pandas()


def _called(files: Sequence[Path]) -> str:
    """Return the name for the files of one split in errors."""
    if len(files) == 1:
        return str(files[0])
    return f"{files[0]} and {len(files) - 1} more"


def _read_splits(
    files: Sequence[Path],
    columns: ColumnNames,
    telling: Sequence[str],
    rows: Mapping[str, list[int]],
) -> dict[str, Encoded]:
    """Return the images of Parquet shards by their splits.

    Args:
        files: the shards, in order.
        columns: the columns that hold images and labels.
        telling: the columns that say splits, which hold neither.
        rows: the name of each split -> its rows; empty: WHOLE has all rows.
    """
    source = _called(files)
    read, schema = _image_columns(files, columns, telling, source)
    if sum(file.stat().st_size for file in files) > HELD_BYTES:
        return _mapped(files, read, rows, source)

    batches = [batch for file in files for batch in _batches(file, read.names)]
    table = pa.Table.from_batches(batches, schema)
    if not rows:
        rows = {WHOLE: list(range(len(table)))}
    return {
        split: _rows_of_table(table, read, places, source)
        for split, places in rows.items()
    }


def _rows_of_table(
    table: pa.Table, columns: _Columns, rows: list[int], source: str
) -> Encoded:
    """Return the images in some rows of a table that is held in memory."""
    images = table.column(columns.image)
    if pa.types.is_struct(images.type):
        images = pc.struct_field(images, "bytes")
    labels = None
    if columns.label is not None:
        labels = table.column(columns.label).take(pa.array(rows, pa.int64()))
    return encoded_rows(
        len(rows),
        labels,
        _class_names(table.schema, columns.label, source),
        source,
        lambda row: images[rows[row]].as_py(),
    )


def _image_columns(
    files: Sequence[Path], columns: ColumnNames, telling: Sequence[str], source: str
) -> tuple[_Columns, pa.Schema]:
    """Return the columns of images and labels, and the schema of these two alone.

    Raises:
        Problem: a file has no such columns, or others than the first file.
    """
    schemas = list[pa.Schema]()
    for file in files:
        schema = _schema(file)
        names = [name for name in schema.names if name not in telling]
        read = _Columns(*columns.find(names, str(file)))
        _check_holds_bytes(schema.field(read.image), file)
        fields = [schema.field(name) for name in read.names]
        schemas.append(pa.schema(fields, schema.metadata))

    # So the columns read of the last file are those of all.
    if any(schema != schemas[0] for schema in schemas):
        raise WrongData(f"{source} have different columns, fetch them again")
    return read, schemas[0]


def _schema(file: Path) -> pa.Schema:
    with _opened(file) as parquet:
        return parquet.schema_arrow


def _opened(file: Path) -> pq.ParquetFile:
    """Return the file, before any row of it is read.

    Raises:
        WrongFile: it is no Parquet file.
    """
    check_no_placeholder(file)
    with refused(f"{file} is not a readable Parquet file, {FETCH_AGAIN}", DAMAGED):
        check_footer(file)
        return pq.ParquetFile(
            file,
            page_checksum_verification=True,
            buffer_size=BUFFER_BYTES,
            pre_buffer=False,
        )


def _batches(file: Path, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Give the rows of a file, a few at a time.

    Images are compressed already, so that an honest file grows little as it is read.

    Raises:
        Problem: the file is damaged, or holds far more than its own bytes.
    """
    packed = file.stat().st_size
    size = 0
    damaged = refused(f"{file} is a damaged Parquet file, {FETCH_AGAIN}", DAMAGED)
    with damaged, _opened(file) as parquet:
        rows = rows_at_a_time(file, names)
        for batch in parquet.iter_batches(rows, columns=names):
            size += batch.nbytes
            check_swelling(file, size, packed)
            yield batch.select(names)


def rows_at_a_time(file: Path, names: Sequence[str]) -> int:
    """Return how many rows of a Parquet file to read at a time.

    Raises:
        WrongData: these columns would swell.
        Misstated: what it states cannot be.
    """
    layout = read_layout(file, names)
    check_swelling(file, layout.made, file.stat().st_size)
    repeated = max((chunk.repeatable for chunk in layout.chunks), default=0)
    rows_that_fit = REPEATED_BYTES // max(1, repeated)
    return max(1, min(MOST_ROWS_AT_A_TIME, rows_that_fit))


def _mapped(
    files: Sequence[Path],
    columns: _Columns,
    rows: Mapping[str, list[int]],
    source: str,
) -> dict[str, Encoded]:
    """Return the splits of files that are too large for memory.

    `datasets` writes their rows to its cache once, from where they are mapped.
    Arguments are those of `_read_splits`.
    """
    for file in files:
        with refused(f"{file} is a damaged Parquet file, {FETCH_AGAIN}", DAMAGED):
            rows_at_a_time(file, columns.names)

    what = f"reading more than {HELD_BYTES:,} bytes of Parquet files"
    failed = f"{source} cannot be read, {FETCH_AGAIN}"
    with library(what, failed) as datasets:
        whole = datasets.load_dataset(
            "parquet",
            data_files=[str(file.resolve()) for file in files],
            # The library calls files without a split "train".
            split="train",
            columns=columns.names,
            batch_size=MOST_ROWS_AT_A_TIME,
        )

    parts = {split: whole.select(places) for split, places in rows.items()}
    named = ColumnNames(columns.image, columns.label or NONE)
    return {
        split: from_rows(part, source, named)
        for split, part in (parts or {WHOLE: whole}).items()
    }


def _check_holds_bytes(field: pa.Field, file: Path) -> None:
    """Raise WrongData where a column holds something else than compressed images."""
    types = [field.type]
    # Hugging Face writes the bytes of images beside their paths.
    if pa.types.is_struct(field.type):
        types = [part.type for part in field.type if part.name == "bytes"]
    if types not in ([pa.binary()], [pa.large_binary()]):
        raise WrongData(
            f"the column {shown(repr(field.name))} of {file} holds "
            f"{shown(field.type)}; expected images, as binary or struct<bytes: binary, "
            "path: string>",
            fix=NAME_COLUMNS,
        )


def _class_names(schema: pa.Schema, label: str | None, source: str) -> list[Any] | None:
    """Return the class names that Hugging Face writes in the schema's metadata."""
    written = (schema.metadata or {}).get(b"huggingface")
    if not written or not label:
        return None

    value = parse_json(written, f"the metadata of {source}")
    for key in ("info", "features", label, "names"):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, list) else None
