"""Folders that `save_to_disk` of the library `datasets` wrote.

They are read by this module, since the library itself would open whatever they name.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from randsmooth.data.arrow_columns import DAMAGED
from randsmooth.data.datasets_library import library
from randsmooth.documents import parse_json, read_file, refused, shown
from randsmooth.errors import NotFound, WrongData, WrongFile

STATE_FILE = "state.json"
SPLITS_FILE = "dataset_dict.json"
INFO_FILE = "dataset_info.json"

# The last bytes of a whole stream of Arrow.
END = b"\xff\xff\xff\xff\0\0\0\0"

# Kinds of columns that hold their values themselves. All others (images, sounds, videos, ...)
# may name a file or an address, which their decoder would open or fetch.
PLAIN_COLUMNS = {
    "Value",
    "ClassLabel",
    "List",
    "LargeList",
    "Sequence",
    "Array2D",
    "Array3D",
    "Array4D",
    "Array5D",
}

# The numbers of fields in tables of Arrow's flatbuffers (format/Message.fbs).
HEADER_OF_MESSAGE = 2
COMPRESSION_OF_BATCH = 3
BATCH_OF_DICTIONARY = 1


class Rows:
    """The rows of a data set that was read from a folder.

    A damaged row may make its decoder raise anything. Here that becomes a Problem which
    names the row.
    """

    def __init__(self, rows: Any, name: str) -> None:
        self.rows = rows
        self.name = name

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        with refused(f"row {index} of {self.name} is damaged"):
            return self.rows[index]


def is_saved(folder: Path) -> bool:
    """Return whether `save_to_disk` of the library `datasets` wrote this folder."""
    return (folder / STATE_FILE).is_file() or (folder / SPLITS_FILE).is_file()


def from_disk(folder: Path) -> Any:
    """Return the Dataset or DatasetDict in a folder that `save_to_disk` wrote.

    No column is decoded. An Arrow file is validated as a whole before any of it is used,
    since a damaged one could end the process. Nothing outside of the folder is opened or
    fetched.

    Raises:
        Problem: the library is missing, or the folder is damaged or names a file
            outside of itself.
    """
    failed = f"{folder} cannot be read as a data set of the library datasets"
    with library(f"{folder}, a data set of the library datasets,", failed) as datasets:
        if not (folder / SPLITS_FILE).is_file():
            return _split(folder, datasets)

        splits = _settings(folder / SPLITS_FILE).get("splits")
        if not isinstance(splits, list) or not splits:
            raise WrongData(f"{folder / SPLITS_FILE} names no splits")
        return datasets.DatasetDict(
            {str(name): _split(_inside(folder, name), datasets) for name in splits}
        )


def _split(folder: Path, datasets: Any) -> Any:
    """Return the Dataset in a folder.

    Args:
        folder: the folder of one split.
        datasets: the library.
    """
    tables = [_table(path) for path in _arrow_files(folder)]
    table = pa.concat_tables(tables)
    described = _settings(folder / INFO_FILE).get("features")
    features = datasets.Features.from_dict(_undecoded(described))
    if table.column_names != list(features):
        raise WrongData(
            f"{folder / INFO_FILE} tells of other columns than the files have"
        )
    return datasets.Dataset(table, info=datasets.DatasetInfo(features=features))


def _arrow_files(folder: Path) -> list[Path]:
    """Return the files that hold the rows of a split, as its state names them."""
    state = _settings(folder / STATE_FILE)
    # `datasets` before 2.0 may keep the order of the rows in files of its own.
    if state.get("_indices_data_files"):
        raise WrongData(
            f"{folder} keeps an order of rows beside its files",
            fix="save it anew, after flatten_indices()",
        )

    files = state.get("_data_files")
    if not isinstance(files, list) or not all(isinstance(file, dict) for file in files):
        raise WrongData(f"{folder / STATE_FILE} names no files of Arrow")
    paths = [_inside(folder, file.get("filename")) for file in files]
    if not paths:
        raise WrongData(f"no images in {folder}: {STATE_FILE} names no file")
    if len(set(paths)) < len(paths):
        raise WrongData(f"{folder / STATE_FILE} names a file twice")
    return paths


def _settings(path: Path) -> dict[str, Any]:
    """Return the object in a file of JSON, key -> value."""
    settings = parse_json(read_file(path), path)
    if not isinstance(settings, dict):
        raise WrongData(
            f"{path} holds a {type(settings).__name__}; expected what save_to_disk "
            "writes"
        )
    return settings


def _inside(folder: Path, name: Any) -> Path:
    """Return the file or folder of this name in `folder`.

    Raises:
        WrongData: the name leads elsewhere.
    """
    if isinstance(name, str) and _is_plain_name(name):
        return folder / name
    raise WrongData(
        f"{folder} names {shown(repr(name))}: randsmooth opens only files inside it"
    )


def _is_plain_name(name: str) -> bool:
    """Return whether a name leads nowhere else on any system."""
    if name in ("", ".", ".."):
        return False
    return not any(character in name for character in "/\\:\0")


def _undecoded(features: Any) -> Any:
    """Return a description of columns in which all decoders are switched off.

    Args:
        features: the description of all columns, or of a part of one.
    """
    if isinstance(features, list):
        return [_undecoded(part) for part in features]
    if not isinstance(features, dict):
        return features

    undecoded = {key: _undecoded(value) for key, value in features.items()}
    kind = features.get("_type")
    if isinstance(kind, str) and kind not in PLAIN_COLUMNS:
        undecoded["decode"] = False
    return undecoded


def _table(path: Path) -> pa.Table:
    """Return the table in a file of Arrow, mapped into memory, once it was found valid.

    Its metadata are dropped: they describe the columns too, with decoders on.
    """
    # A pipe may have no end.
    if not path.is_file():
        raise NotFound(f"no file at {path}")
    with refused(f"{path} is damaged, save the data set anew", DAMAGED):
        with pa.memory_map(str(path)) as file:
            _check_whole(file, path)
            _check_not_packed(file, path)

        batches = []
        with pa.ipc.open_stream(pa.memory_map(str(path))) as stream:
            for batch in stream:
                batch.validate(full=True)
                batches.append(batch)
            table = pa.Table.from_batches(batches, stream.schema)
        table.validate(full=True)
        return table.replace_schema_metadata(None)


def _check_whole(file: pa.MemoryMappedFile, path: Path) -> None:
    """Raise WrongFile where the end of the stream is missing."""
    start_of_end = file.size() - len(END)
    if start_of_end < 0 or file.read_at(len(END), start_of_end) != END:
        raise WrongFile(f"{path} is cut short", fix="save the data set anew")


def _check_not_packed(file: pa.MemoryMappedFile, path: Path) -> None:
    """Raise WrongData where a file holds compressed numbers: it could fill the memory."""
    for message in _messages(file):
        if _is_packed(message):
            raise WrongData(
                f"{path} is compressed, and may hold far more than it is long",
                fix="save it without",
            )


def _messages(file: pa.MemoryMappedFile) -> Iterator[pa.ipc.Message]:
    """Yield the messages of a stream."""
    file.seek(0)
    reader = pa.ipc.MessageReader.open_stream(file)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _is_packed(message: pa.ipc.Message) -> bool:
    """Return whether the numbers in a message are compressed.

    Only the flatbuffer at the head of the message tells it. The flatbuffer is a table. One
    of its fields is another table, for a batch of rows; or one for a dictionary, in which
    the table for a batch lies.
    """
    if message.type not in ("record batch", "dictionary"):
        return False
    raw = message.metadata.to_pybytes()
    # A flatbuffer begins with the distance to its first table.
    root = _follow(raw, 0)
    batch = _follow(raw, _field(raw, root, HEADER_OF_MESSAGE))
    if message.type == "dictionary":
        batch = _follow(raw, _field(raw, batch, BATCH_OF_DICTIONARY))
    return _field(raw, batch, COMPRESSION_OF_BATCH) != 0


def _follow(raw: bytes, place: int) -> int:
    """Return the position of a table; its distance from `place` is stored there."""
    (distance,) = struct.unpack_from("<I", raw, place)
    return place + int(distance)


def _field(raw: bytes, table: int, number: int) -> int:
    """Return the position of a field of a table; 0 where the field has its default.

    A table begins with the distance back to a list of numbers of 16 bits: the length of the
    list, the length of the table, and for each field its offset in the table.

    Args:
        raw: the flatbuffer.
        table: the position of the table.
        number: the number of the field.
    """
    (back,) = struct.unpack_from("<i", raw, table)
    fields = table - back
    (length,) = struct.unpack_from("<H", raw, fields)
    # Two lengths come before the offsets.
    entry = 4 + 2 * number
    # The list may end before a field that has its default.
    if entry >= length:
        return 0
    (offset,) = struct.unpack_from("<H", raw, fields + entry)
    return table + offset if offset else 0
