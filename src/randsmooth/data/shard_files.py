"""Parquet and tar files of one split: shards that are numbered in their names."""

import re
from pathlib import Path

from randsmooth.errors import WrongData

PARQUET_SHARD = re.compile(r"-[0-9]{1,9}-of-[0-9]{1,9}\.parquet$")
TAR_NUMBER = re.compile(r"[-_.]?[0-9]+$")
TAR = ".tar"


def parquet_files(folder: Path) -> dict[str, list[Path]]:
    """Return the Parquet files in a folder: name without the number of a shard -> files.

    Where there are both shards and a whole file of one name, the whole file counts.
    """
    shards = dict[str, list[Path]]()
    whole = dict[str, list[Path]]()
    for path in sorted(folder.glob("*.parquet")):
        if not path.is_file():
            continue
        if PARQUET_SHARD.search(path.name):
            name = PARQUET_SHARD.sub("", path.name)
            shards.setdefault(name, []).append(path)
        else:
            whole[path.stem] = [path]
    return shards | whole


def tar_files(folder: Path) -> dict[str, list[Path]]:
    """Return the tar files in a folder: name without the number -> files, in order."""
    files = dict[str, list[Path]]()
    for path in sorted(folder.glob(f"*{TAR}")):
        if path.is_file():
            name = TAR_NUMBER.sub("", path.stem)
            files.setdefault(name, []).append(path)
    return files


def check_complete(shards: list[Path]) -> list[Path]:
    """Check that no Parquet file of one name is missing, and return the files.

    Raises:
        WrongData: a shard is missing.
    """
    first = shards[0]
    # A whole file has no shards.
    if not PARQUET_SHARD.search(first.name):
        return shards
    # "train-00000-of-00002" says how many there are.
    _, _, number = first.stem.rpartition("-")
    if len(shards) != int(number):
        raise WrongData(
            f"{first.parent} holds {len(shards)} of the shards {first.name}, ...",
            fix="fetch the others",
        )
    return shards
