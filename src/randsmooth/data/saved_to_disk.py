"""Folders that `save_to_disk` of the library `datasets` wrote: read here, for that library opens whatever they name."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from randsmooth.data.tables import DAMAGED, library
from randsmooth.documents import parse_json, read_file, refused, shown
from randsmooth.errors import NotFound, WrongData, WrongFile

STATE, SPLITS, INFO = "state.json", "dataset_dict.json", "dataset_info.json"
END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream of Arrow's, without which it may be cut short

# Kinds of columns that hold what they say. All others (images, sounds, videos, ...) may name a file or an address,
# which their decoder would open or fetch.
PLAIN = {
    "Value",
    "ClassLabel",
    "List",
    "LargeList",
    "Sequence",
    *(f"Array{axes}D" for axes in range(2, 6)),
}

# Fields of Arrow's flatbuffers (format/Message.fbs), by their places in a table.
HEADER, COMPRESSION, DICTIONARY = 2, 3, 1


class Rows:
    """Rows of a data set that was read from a folder: what their decoder raises of a damaged one names it."""

    def __init__(self, rows: Any, name: str) -> None:
        self.rows, self.name = rows, name

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        with refused(f"row {index} of {self.name} is damaged"):
            return self.rows[index]


def is_saved(folder: Path) -> bool:
    """Whether `save_to_disk` of the library `datasets` wrote this folder."""
    return any((folder / name).is_file() for name in (STATE, SPLITS))


def from_disk(folder: Path) -> Any:
    """The Dataset or DatasetDict in a folder that `save_to_disk` wrote, none of whose columns is decoded.

    All of an Arrow file is validated before anything of it is used: damage would end the process. What lies outside of
    the folder is neither opened nor fetched.

    Raises:
        Problem: the library is missing, or the folder is damaged or names a file outside of itself.
    """
    failed = f"{folder} cannot be read as a data set of the library datasets"
    with library(f"{folder}, a data set of the library datasets,", failed) as datasets:
        if not (folder / SPLITS).is_file():
            return _split(folder, datasets)
        splits = _settings(folder / SPLITS).get("splits")
        if not isinstance(splits, list) or not splits:
            raise WrongData(f"{folder / SPLITS} names no splits")
        return datasets.DatasetDict(
            {str(name): _split(_inside(folder, name), datasets) for name in splits}
        )


def _split(folder: Path, datasets: Any) -> Any:
    state = _settings(folder / STATE)
    files = state.get("_data_files")
    if state.get(
        "_indices_data_files"
    ):  # of datasets before 2.0: rows in another order than in the file
        raise WrongData(
            f"{folder} keeps an order of rows beside its files: save it anew, after flatten_indices()"
        )
    if not isinstance(files, list) or not all(isinstance(file, dict) for file in files):
        raise WrongData(f"{folder / STATE} names no files of Arrow")
    paths = [_inside(folder, file.get("filename")) for file in files]
    if not paths:
        raise WrongData(f"no images in {folder}: {STATE} names no file")
    if len({*paths}) < len(paths):
        raise WrongData(f"{folder / STATE} names a file twice")
    tables = [_table(path) for path in paths]
    features = datasets.Features.from_dict(
        _undecoded(_settings(folder / INFO).get("features"))
    )
    whole = pa.concat_tables(tables)
    if whole.column_names != list(features):
        raise WrongData(f"{folder / INFO} tells of other columns than the files have")
    return datasets.Dataset(whole, info=datasets.DatasetInfo(features=features))


def _settings(path: Path) -> dict[str, Any]:
    found = parse_json(read_file(path), path)
    if not isinstance(found, dict):
        raise WrongData(
            f"{path} holds a {type(found).__name__}; expected what save_to_disk writes"
        )
    return found


def _inside(folder: Path, name: Any) -> Path:
    """The file or folder of this name in `folder`. Problem where the name leads elsewhere."""
    if not isinstance(name, str) or name in ("", ".", "..") or {*"/\\:\0"} & {*name}:
        raise WrongData(
            f"{folder} names {shown(repr(name))}: only what lies in it is opened"
        )
    return folder / name


def _undecoded(features: Any) -> Any:
    """The description of columns, with decoders off."""
    if isinstance(features, list):
        return [_undecoded(each) for each in features]
    if not isinstance(features, dict):
        return features
    plain = features.get("_type") in PLAIN or not isinstance(features.get("_type"), str)
    return {key: _undecoded(value) for key, value in features.items()} | (
        {} if plain else {"decode": False}
    )


def _table(path: Path) -> pa.Table:
    """The table in a file of Arrow, mapped into memory and valid; without metadata, which describe columns anew."""
    if not path.is_file():  # nor a pipe, which may have no end
        raise NotFound(f"no file at {path}")
    with refused(f"{path} is damaged, save the data set anew", DAMAGED):
        with pa.memory_map(str(path)) as file:
            if (
                file.size() < len(END)
                or file.read_at(len(END), file.size() - len(END)) != END
            ):
                raise WrongFile(f"{path} is cut short: save the data set anew")
            for part in _parts(file):
                if _packed(part):
                    raise WrongData(
                        f"{path} is compressed, and may hold far more than it is long: save it without"
                    )
        file = pa.memory_map(str(path))
        batches = []
        with pa.ipc.open_stream(file) as stream:
            for batch in stream:
                batch.validate(full=True)
                batches.append(batch)
            table = pa.Table.from_batches(batches, stream.schema)
        table.validate(full=True)
        return table.replace_schema_metadata(None)


def _parts(file: pa.MemoryMappedFile) -> Iterator[pa.ipc.Message]:
    """The messages of a stream."""
    file.seek(0)
    reader = pa.ipc.MessageReader.open_stream(file)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _packed(message: pa.ipc.Message) -> bool:
    """Whether the numbers in a message are compressed, so that a small file may fill the memory."""
    if message.type not in ("record batch", "dictionary"):
        return False
    raw = message.metadata.to_pybytes()
    batch = _follow(raw, _field(raw, _follow(raw, 0), HEADER))
    if message.type == "dictionary":
        batch = _follow(raw, _field(raw, batch, DICTIONARY))
    return _field(raw, batch, COMPRESSION) != 0


def _follow(raw: bytes, place: int) -> int:
    """Where a table begins whose offset is stored at `place`."""
    return place + int(struct.unpack_from("<I", raw, place)[0])


def _field(raw: bytes, table: int, field: int) -> int:
    """Where a field of the `table` is stored in a flatbuffer; 0 where it has its default."""
    fields = table - struct.unpack_from("<i", raw, table)[0]
    (length,) = struct.unpack_from("<H", raw, fields)
    place = 4 + 2 * field
    if place >= length:
        return 0
    (offset,) = struct.unpack_from("<H", raw, fields + place)
    return table + offset if offset else 0
