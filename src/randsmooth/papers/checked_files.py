"""The certificates of folders that passed their checks, and the checks of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates
from randsmooth.escape import printable
from randsmooth.papers.find_certificates import (
    CertificateFile,
    FolderScan,
    scan_folder,
)
from randsmooth.report.checks import CheckBlock

LabelsOf = Callable[[Sequence[Certificates]], Mapping[str, NDArray[np.int64]]]
"""Labels of data sets (N,) by their names, of those that tables are about."""


def scan_and_check(
    folders: Sequence[Path], labels_of: LabelsOf | None, *, anyway: bool
) -> tuple[FolderScan, CheckBlock]:
    """Find all certificates below the folders, and check them.

    Args:
        folders: the folders.
        labels_of: returns the labels of the data sets of tables, where they are at hand,
            as `report.render` takes them.
        anyway: whether certificates that failed a check are kept, too.

    Returns:
        The scan without the certificates that failed a check, and the checks of all
        certificates, which go by their paths below the folder.

    Raises:
        Problem: no such folder.
    """
    scan = scan_folder(*folders)
    names = [_name_in(found, folders) for found in scan.found]
    tables = [
        found.table.renamed(name) for found, name in zip(scan.found, names, strict=True)
    ]
    labels = {} if labels_of is None else labels_of(tables)
    block = CheckBlock.of_folder(tables, labels, anyway=anyway)
    trusted = tuple(
        found
        for found, name in zip(scan.found, names, strict=True)
        if name not in block.doubted
    )
    return scan._replace(found=trusted), block


def _name_in(found: CertificateFile, folders: Sequence[Path]) -> str:
    """Return the path of a file, safe to print: below the one folder that was given.

    Of several folders, two may hold a file of the same name: it is the whole path then.
    """
    path = found.path
    if len(folders) == 1:
        path = path.relative_to(folders[0])
    return printable(path.as_posix())
