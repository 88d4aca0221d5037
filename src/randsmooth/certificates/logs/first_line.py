"""The first line of a log: the columns that it names, and whether they are a log's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from randsmooth.documents import shown
from randsmooth.errors import ForeignFile, WrongFile

TSV_COLUMNS = ["idx", "label", "predict", "radius", "correct", "time"]

# The sigma of each image's noise.
SIGMA_COLUMNS = ("sigma", "best_sigma", "sigmamin")

# The lower bound on p_A of each image.
P_LOWER = "pABar"

# The columns that are read, by their names in small letters, and by those that other
# programs give them.
COLUMNS = {name.lower(): name for name in (*TSV_COLUMNS, *SIGMA_COLUMNS, P_LOWER)}
COLUMNS |= {"original_idx": "idx", "radius_l2": "radius"}

# The most columns that a log may have.
MOST_COLUMNS = 100

# Bytes that hold the first line of any log.
FIRST_BYTES = 400

# A row of a log, from idx or a later column to time, where names of columns should be.
ROW = re.compile(r"(-?\d+\t){1,2}-?\d+\t[\d.]+(e[-+]?\d+)?\t[01]\t[\d:.]+")

# Columns of the result_df.csv of VERONA, which is no log.
VERONA_COLUMNS = {"network", "image_id", "epsilon_value"}

# What spreadsheets and editors write between columns in place of tabs: a pattern, and
# its name.
# Spaces are the last, since they may stand around all others.
OTHER_SEPARATORS = {",": "commas", ";": "semicolons", r"\|": "bars", " +": "spaces"}

# What logs of certificates and of predictions have in common.
OF_ANY_LOG = {"label", "predict"}


class PredictionLog(ForeignFile):
    """A log of predictions (`predict.py`): it certifies nothing.

    Example:
        >>> from randsmooth.certificates import read_tsv
        >>> names = "idx\\tlabel\\tpredict\\tcorrect\\ttime\\n"
        >>> _ = Path("predictions").write_text(names)
        >>> read_tsv("predictions")
        Traceback (most recent call last):
            ...
        randsmooth.certificates.logs.first_line.PredictionLog: predictions is a log ...
    """


def looks_like_log(path: Path) -> bool:
    """Return whether the first line is that of a log of certificates or predictions.

    The file may have any name.

    Example:
        >>> names = "idx\\tlabel\\tpredict\\tradius\\tcorrect\\ttime\\n"
        >>> _ = Path("sigma_0.25").write_text(names)
        >>> looks_like_log(Path("sigma_0.25"))
        True
    """
    with path.open("rb") as file:
        text = file.read(FIRST_BYTES).decode("ascii", errors="replace")
    line = text.partition("\n")[0].rstrip("\r")
    return set(column_names(line)) >= OF_ANY_LOG or ROW.fullmatch(line) is not None


def column_names(line: str) -> list[str]:
    """Return the columns that a first line names, the known ones by our names."""
    written = _cells(line)
    names = list[str]()
    for name in written:
        our_name = COLUMNS.get(name.lower(), name)
        # Where the line has our name too, this column is another one, and is not read.
        is_further = our_name != name and our_name in written
        names.append(name if is_further else our_name)
    return names


def names_without_header(line: str) -> list[str]:
    """Return the columns of a log whose first line is a row; none if it is no row.

    The first columns may be missing.
    """
    if not ROW.fullmatch(line):
        return []
    # `ROW` allows no more cells than there are columns.
    cells = line.count("\t") + 1
    return TSV_COLUMNS[-cells:]


def check_names(path: Path, names: Sequence[str], line: str) -> None:
    """Check that a log of certificates has these columns.

    Args:
        path: the path of the file.
        names: the names of the columns.
        line: the line that names them.

    Raises:
        PredictionLog: they are those of a log of predictions.
        WrongFile: they are none of a log of certificates.
    """
    unique_names = set(names)
    if "radius proved" in unique_names:
        raise WrongFile(
            f"{path} is a log of one radius R, which it lacks: "
            "give from_radii R where it "
            "is proved",
            file=path,
        )
    _check_one_radius(path, line)
    if "predict" in unique_names and "radius" not in unique_names:
        column = " (basePredict)" if "basePredict" in unique_names else ""
        raise PredictionLog(
            f"{path} is a log of predictions{column}, not of certificates: it holds no "
            "radius; take the log that was made by certifying",
            file=path,
        )
    if set(line.split(",")) >= VERONA_COLUMNS:
        raise WrongFile(
            f"{path} is a result_df.csv of VERONA, which leaves out images and says no "
            "classes: take the .txt log beside it (original_idx, label, predict, "
            "radius, correct, time)",
            file=path,
        )
    separators = _other_separators(line)
    if separators:
        raise WrongFile(
            f"{path} has {separators} in its first line: expected "
            f"{', '.join(TSV_COLUMNS)}, with tabs between and without quotes",
            file=path,
        )
    missing = [name for name in TSV_COLUMNS if name not in unique_names]
    all_differ = len(unique_names) == len(names) <= MOST_COLUMNS
    if missing or not all_differ:
        lacks = ", ".join(missing) or "different names"
        raise WrongFile(
            f"{path} is not a log of certificates: its first line lacks {lacks}. "
            f"It reads {shown(repr(line[:FIRST_BYTES]))}. A log has the columns "
            f"{', '.join(TSV_COLUMNS)}, with tabs between; of class counts, "
            "`randsmooth from-counts` makes a table",
            file=path,
        )


def _cells(line: str) -> list[str]:
    """Return the names in a first line, as they are written."""
    # Beyond MOST_COLUMNS, the rest of the line is one more name, and is refused later.
    return [name.strip() for name in line.split("\t", MOST_COLUMNS)]


def _check_one_radius(path: Path, line: str) -> None:
    """Raise WrongFile for a log with several radii of each image, to choose from."""
    written = _cells(line)
    radii = [name for name in written if name.lower().startswith("radius")]
    has_choice = len(radii) >= 2 and written.count("radius") != 1
    if "predict" in written and has_choice:
        raise WrongFile(
            f"{path} has several radii, {', '.join(radii)}: call the one that is meant "
            "radius (the L2 radius of Cohen et al., if p_A is to be recovered from it)",
            file=path,
        )


def _other_separators(line: str) -> str:
    """Return in words what separates or encloses the names of a log, besides tabs.

    The text is empty where tabs alone separate them, and where the line is of no log.
    """
    unquoted = line.replace('"', "")
    if set(column_names(unquoted)) >= OF_ANY_LOG:
        return "quotes around its columns" if '"' in line else ""
    for separator, words in OTHER_SEPARATORS.items():
        names = re.split(separator, unquoted.strip(), maxsplit=MOST_COLUMNS)
        if set(column_names("\t".join(names))) >= OF_ANY_LOG:
            return f"{words} between its columns"
    return ""
