"""The folders of files of one name, as short as tells the files apart."""

from collections.abc import Sequence
from pathlib import PurePath


def folders_apart(files: Sequence[PurePath]) -> list[str]:
    """Return the folders of files, each with the fewest last parts that tell all apart.

    It is "" for all files where they lie in one folder.

    Example:
        >>> folders_apart([PurePath("runs/a/tables/x.tsv"), PurePath("runs/b/tables/x.tsv")])
        ['a/tables', 'b/tables']
        >>> folders_apart([PurePath("runs/x.tsv"), PurePath("runs/y.tsv")])
        ['', '']
    """
    folders = [file.parent.parts for file in files]
    different = {*folders}
    depth = 0
    while len({_last(folder, depth) for folder in different}) < len(different):
        depth += 1
    return ["/".join(_last(folder, depth)) for folder in folders]


def _last(folder: tuple[str, ...], depth: int) -> tuple[str, ...]:
    """Return the last `depth` parts of a folder, or all where it has fewer."""
    return folder[max(0, len(folder) - depth) :]
