"""Where the finished images of a run wait for the rest."""

from __future__ import annotations

from pathlib import Path

UNFINISHED = ".partial"  # suffix of a journal


def journal_path(out: Path) -> Path:
    """The journal of a run into the table `out`.

    Example:
        >>> journal_path(Path("runs/mine.parquet")).name
        'mine.parquet.partial'
    """
    return out.with_name(out.name + UNFINISHED)


def shards_path(out: Path) -> Path:
    """The folder of the shards of a run into the table `out` that is shared out.

    Example:
        >>> shards_path(Path("runs/mine.parquet")).as_posix()
        'runs/mine.shards'
    """
    return out.with_suffix(".shards")
