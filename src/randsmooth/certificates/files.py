"""Certificate tables on disk: Parquet with the evidence, and the TSV logs of the literature."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.atomic import write_atomically
from randsmooth.certificates.columns import Columns, parquet, read_columns
from randsmooth.certificates.digest import damaged, digests
from randsmooth.certificates.header import VERSION, WITH_DIGESTS, Header
from randsmooth.certificates.limits import HEADER
from randsmooth.certificates.logs import TSV_COLUMNS, looks_like_log, read_tsv
from randsmooth.certificates.rows import check_images
from randsmooth.certificates.rules import Evidence, missing_rule
from randsmooth.certificates.table import Certificates, from_counts
from randsmooth.certificates.words import in_own_words
from randsmooth.documents import parse_json, shown
from randsmooth.errors import ForeignFile, InputError, NoDigest

KEY, DIGESTS = b"randsmooth", b"randsmooth.sha256"  # in the metadata of the Parquet file
UNFINISHED = ".partial"  # suffix of a journal
SUFFIXES = (".parquet", ".tsv", ".mat")
OTHERS = (".html", ".json", ".md", ".pdf", ".png", ".pt", ".pth", ".py", ".safetensors", ".tex", ".yaml")  # unopened


def read(path: Path | str) -> Certificates:
    """A table from `path`, named after the file: Parquet by its suffix, anything else as a TSV log.

    Raises:
        InputError: no such file, or one that is damaged or not a certificate table.
    """
    path = Path(path)
    if not path.is_file():
        what = "no file of certificates" if path.exists() else "not there"
        raise InputError(f"{path} is {what}; `randsmooth certify` writes them")
    if path.suffix == UNFINISHED:
        raise InputError(
            f"{path} is the journal of an unfinished run: the command that began it ends it, with --resume"
        )
    return read_parquet(path) if path.suffix == ".parquet" else read_tsv(path)


def find_certificates(folder: Path) -> list[Path]:
    """Files at any depth below `folder` that certificates may be in, by suffix or by their first line, sorted.

    Raises:
        InputError: no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; give one that holds certificates or logs")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if path.suffix in SUFFIXES or (path.suffix not in OTHERS and _may_be_log(path))]


def _may_be_log(path: Path) -> bool:
    """Whether it is a log by its first line, or nobody can tell: its reader will name it."""
    try:
        return looks_like_log(path)
    except OSError:
        return True


def write_parquet(table: Certificates, path: Path | str) -> None:
    """Write the table with its counts and its header. One row an image; p_lower is the lower bound on p_A.

    Under the two-sided bound the radius comes from p_lower and the bound on the runner-up, so that p_lower may lie
    below 1/2. `path` holds how often the picked class had come out at each look. Digests of the header and of each
    column of evidence go with them, and a checksum with every page (see `digest`). On return file and name are synced.

    Raises:
        InputError: the table has no counts, or an image twice.
    """
    columns, header = Columns.of(table), table.header.model_dump_json().encode()
    check_images(columns.idx)
    stored = columns.to_arrow()
    front = {name: stored.pop(name) for name in ("idx", "label")}
    arrow = pa.table(front | derived(table) | stored)
    arrow = arrow.replace_schema_metadata({KEY: header, DIGESTS: digests(header, columns.parts())})
    buffer = io.BytesIO()
    pq.write_table(arrow, buffer, compression="zstd", write_page_checksum=True)
    write_atomically(Path(path), buffer.getvalue())


def derived(table: Certificates) -> dict[str, NDArray[Any]]:
    """The columns for a reader's eye: they follow from the evidence, and are not read."""
    counts0, counts = table.evidence()
    evidence = Evidence.of(counts0, counts, idx=table.idx, paths=table.paths)
    q, _ = table.rule.claims(evidence)
    return {
        "predict": table.predict,
        "radius": table.radius,
        "correct": table.correct,
        "picked": evidence.picked,
        "n_A": np.take_along_axis(counts, evidence.picked[:, None], axis=1)[:, 0],
        "p_lower": 1.0 - q,
    }


def read_parquet(path: Path | str) -> Certificates:
    """The table that `write_parquet` wrote. Radii are derived anew from the counts; the columns for a reader's eye
    (predict, radius, correct, picked, n_A, p_lower) are not read.

    A file without digests, as they were before, is read with a `NoDigest`.

    Raises:
        ForeignFile: a Parquet file of something else.
        InputError: damaged or cut short: header or evidence are not what was written, or cannot have been.
    """
    path = Path(path)
    with parquet(path) as file:
        metadata = file.metadata.metadata or {}
        if KEY not in metadata:
            raise _without_header(path, {*metadata, *(name.encode() for name in file.schema_arrow.names)})
        header = parse_header(metadata[KEY], path)
        columns = read_columns(file, path, len(header.classes or ()))
    _check_digests(metadata, header, columns, path)
    try:
        return from_counts(
            header,
            idx=columns.idx,
            label=columns.label,
            counts0=columns.counts0,
            counts=columns.counts,
            seconds=columns.seconds,
            paths=columns.each_path(),
            name=path.stem,
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _without_header(path: Path, holds: set[bytes]) -> InputError:
    """The error for a Parquet file without our header: it was lost where there is else what only ours hold."""
    if DIGESTS in holds or {b"idx", b"label", b"counts0", b"counts"} <= holds:
        return InputError(f"{path} is damaged: its header is lost. Take another copy or certify again")
    return ForeignFile(f"{path} is a Parquet file but holds no certificates of randsmooth")


def _check_digests(metadata: Mapping[bytes, bytes], header: Header, columns: Columns, path: Path) -> None:
    if DIGESTS not in metadata and header.version >= WITH_DIGESTS:
        raise InputError(
            f"{path} is damaged: its digests are lost. Take another copy or certify again; a table that was changed on "
            "purpose is written by write_parquet"
        )
    if DIGESTS not in metadata:
        warnings.warn(f"{path} was written before tables carried digests: its counts are only added up", NoDigest, 3)
        return
    wrong = damaged(metadata[DIGESTS], digests(metadata[KEY], columns.parts()))
    if wrong:
        raise InputError(
            f"{path} is damaged: not what was written, by sha256, is its {', '.join(wrong)}. Take another copy or "
            "certify again; a table that was changed on purpose is written by write_parquet"
        )


def parse_header(text: str | bytes, path: Path) -> Header:
    """The header in `text`, as read from `path`, its guarantee and notes in our own words (see `in_own_words`).

    Raises:
        InputError: it is damaged or newer than this code, or a fact is beyond the limits of a header.
    """
    if len(text) > HEADER:
        raise InputError(f"{path} has a damaged header: it takes {len(text):,} bytes; expected at most {HEADER:,}")
    raw = parse_json(text, f"{path} has a damaged header: it")
    if not isinstance(raw, dict):
        raise InputError(f"{path} has a damaged header: it is no mapping of names to facts")
    version = raw.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        told = shown(repr(version))
        raise InputError(f"{path} is in format {told}; this randsmooth reads formats 1 to {VERSION}: upgrade it")
    try:
        header = Header(**raw)
        missing = missing_rule(header.rule, header.versions)
        if missing is None:
            return in_own_words(header, path)
    except InputError as error:
        raise InputError(f"{path} has a damaged header: {error}") from error
    raise InputError(f"{path}: {missing}")


def write_tsv(table: Certificates, path: Path | str) -> None:
    """Write a log as the literature does; radii are rounded *down* to six decimals, to stay certified.

    A log says nothing of how it was made, and its readers know one way: n samples of every image, judged by
    Clopper-Pearson. They recover p_A from a radius by turning that bound round, at the sigma, n and alpha that they are
    told beside the file; those may be any.

    Raises:
        InputError: a table that was made another way, whose log would be misread.
    """
    _check_a_log_can_say(table)
    lines = ["\t".join(TSV_COLUMNS)]
    for row in range(len(table)):
        radius = bounds.round_down(table.radius[row], 6)
        took = timedelta(seconds=float(table.seconds[row]))
        cells = (table.idx[row], table.label[row], table.predict[row], radius, int(table.correct[row]), took)
        lines.append("\t".join(map(str, cells)))
    write_atomically(Path(path), ("\n".join(lines) + "\n").encode())


def _check_a_log_can_say(table: Certificates) -> None:
    """Raise InputError unless all rows are CERTIFY's: n samples an image, one-sided Clopper-Pearson."""
    header = table.header
    if header.rule != "fixed":
        made, way = f"certified by --rule {header.rule}", "certify with --rule fixed"
    elif header.bound not in (None, "clopper-pearson"):
        made, way = f"judged by the {header.bound} bound", "certify with --bound clopper-pearson"
    elif header.label_aware:
        made, way = "certified with --label-aware", "certify without it"
    else:
        return
    raise InputError(
        f"{table.name or 'this table'} was {made}, which a TSV log cannot say: its readers take every row for n "
        "samples judged by Clopper-Pearson, and would recover a false p_A or abstention. Keep the Parquet file, or "
        f"{way}"
    )
