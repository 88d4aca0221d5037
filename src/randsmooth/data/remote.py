"""Data sets at URLs: Parquet files are read where they are, the part that is asked for; others are copied first."""

from __future__ import annotations

import re

from randsmooth.data.columns import USUAL, ColumnNames
from randsmooth.data.dataset_spec import SPLITS
from randsmooth.data.encoded import Encoded
from randsmooth.data.layout import NAMES
from randsmooth.data.table import read_parquet
from randsmooth.errors import InputError
from randsmooth.stores import Store

SHARD = re.compile(r"(?:data/)?(?P<split>[a-z]+)(?:-(?P<number>\d{1,9})-of-(?P<of>\d{1,9}))?\.parquet")


def parquet_splits(url: str, split: str, columns: ColumnNames = USUAL) -> dict[str, Encoded]:
    """The splits at `url`, a Parquet file or a folder of them as the hub lays them out; {} for anything else.

    Of a file, `split` is the one that is asked for.

    Raises:
        InputError: shards are missing, or a file cannot be used.
    """
    store = Store.at(url)
    if store.kind() == "file":
        return {split: read_parquet([url], columns)} if url.lower().endswith(".parquet") else {}
    names = [str(path) for path in store.files()] if store.kind() == "directory" else []
    found = {each: files for each in SPLITS if (files := _shards(names, each, url))}
    return {each: read_parquet([f"{store.url}/{name}" for name in files], columns) for each, files in found.items()}


def _shards(names: list[str], split: str, url: str) -> list[str]:
    """The files of a split, in order."""
    for name in NAMES[split]:
        parts = [found for found in map(SHARD.fullmatch, sorted(names)) if found and found["split"] == name]
        whole = [found[0] for found in parts if found["of"] is None]
        if whole:
            return whole[:1]
        if parts and len(parts) != int(parts[0]["of"]):
            raise InputError(f"{url} holds {len(parts)} of the shards {parts[0][0]}, ...: put the others there")
        if parts:
            return [found[0] for found in parts]
    return []
