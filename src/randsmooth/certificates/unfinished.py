"""What an unfinished run has certified so far, as a table: from its journal, which stays as it is."""

from __future__ import annotations

import warnings
from pathlib import Path

from randsmooth.certificates.header import Header
from randsmooth.certificates.journal import read_journal, table_of
from randsmooth.certificates.selection import Selection, Shard
from randsmooth.certificates.table import Certificates
from randsmooth.errors import InputError, Note


def read_unfinished(path: Path) -> Certificates:
    """The table of the images that are finished in the journal at `path`, in the order of their positions.

    Its name says how many of how many they are, and so does a `Note`.

    Raises:
        InputError: the journal is damaged, or not one image is finished.
    """
    content = read_journal(path)
    if content is None or not content.rows:
        raise InputError(f"{path} is the journal of a run that has not finished any image yet")
    finished, planned = len(content.rows), images_planned(content.header)
    known = f"{finished:,} of {planned:,}" if planned else f"the first {finished:,}"
    rows = sorted(content.rows, key=lambda row: row.idx)
    table = table_of(content.header, rows, f"{Path(path.stem).stem} ({known})")
    easy = f"; images that --rule {content.header.rule} decides early come first" if table.rule.sequential else ""
    warnings.warn(
        f"{path}: the run is not finished, judged are {known} images{easy}. The command that began it ends it, with "
        "--resume",
        Note,
        3,
    )
    return table


def images_planned(header: Header) -> int | None:
    """How many images a run with this header certifies in the end; None where its selection does not say.

    Example:
        >>> [images_planned(Header(selection=how)) for how in ("take 500 of 10000", "one in 20 of 10000")]
        [500, 500]
    """
    selection = Selection.parse(header.selection)
    if selection is None:
        return None
    return selection.chosen if header.shard is None else Shard.parse(header.shard).images_of(selection.chosen)
