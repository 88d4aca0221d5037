"""Certificate tables on disk: Parquet with the evidence, and the TSV logs of the literature."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from randsmooth import bounds
from randsmooth.atomic import write_atomically
from randsmooth.certificates.header import VERSION, Header
from randsmooth.certificates.logs import TSV_COLUMNS, is_log, read_tsv
from randsmooth.certificates.rules import Evidence
from randsmooth.certificates.table import Certificates, Ints, from_counts
from randsmooth.errors import InputError

KEY = b"randsmooth"
SUFFIXES = (".parquet", ".tsv", ".mat")
OTHERS = (".html", ".json", ".md", ".pdf", ".png", ".pt", ".pth", ".py", ".safetensors", ".tex", ".yaml")  # unopened


class ForeignFile(InputError):
    """A Parquet file of something else than certificates."""


def read(path: Path | str) -> Certificates:
    """A table from `path`, named after the file: Parquet by its suffix, anything else as a TSV log.

    Raises:
        InputError: no such file, or one that is damaged or not a certificate table.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no certificate file at {path}; `randsmooth certify` writes them")
    return read_parquet(path) if path.suffix == ".parquet" else read_tsv(path)


def candidates(folder: Path) -> list[Path]:
    """Files at any depth below `folder` that certificates may be in, by suffix or by their first line, sorted.

    Raises:
        InputError: no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; give one that holds certificates or logs")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if path.suffix in SUFFIXES or (path.suffix not in OTHERS and is_log(path))]


def write_parquet(table: Certificates, path: Path | str) -> None:
    """Write the table with its counts and its header. One row an image; p_lower is the lower bound on p_A.

    Under the two-sided bound the radius comes from p_lower and the bound on the runner-up, so that p_lower may lie
    below 1/2. `path` holds how often the picked class had come out at each look.
    """
    counts0, counts = table.evidence()
    evidence = Evidence.of(counts0, counts, idx=table.idx, paths=table.paths)
    q, _ = table.rule.claims(evidence)
    n_a = np.take_along_axis(counts, evidence.picked[:, None], axis=1)[:, 0]
    columns = {
        "idx": table.idx,
        "label": table.label,
        "predict": table.predict,
        "radius": table.radius,
        "correct": table.correct,
        "picked": evidence.picked,
        "n_A": n_a,
        "p_lower": 1.0 - q,
        "counts0": list(counts0),
        "counts": list(counts),
        "path": pa.array(evidence.paths, pa.list_(pa.int64())),
        "seconds": table.seconds,
    }
    arrow = pa.table(columns).replace_schema_metadata({KEY: table.header.model_dump_json().encode()})
    buffer = io.BytesIO()
    pq.write_table(arrow, buffer, compression="zstd")
    write_atomically(Path(path), buffer.getvalue())


def read_parquet(path: Path | str) -> Certificates:
    """The table that `write_parquet` wrote. Radii are derived anew from the counts; the columns for a reader's eye
    (predict, radius, correct, picked, n_A, p_lower) are not read.
    """
    path = Path(path)
    try:
        arrow = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} is not a readable Parquet file (truncated?): {error}") from error
    metadata = (arrow.schema.metadata or {}).get(KEY)
    if metadata is None:
        raise ForeignFile(f"{path} is a Parquet file but holds no certificates of randsmooth")
    header = parse_header(metadata.decode(), path)
    frame = arrow.to_pandas()
    try:
        idx, label = (frame[column].to_numpy(np.int64) for column in ("idx", "label"))
        seconds = frame["seconds"].to_numpy(np.float64)
        counts0, counts = (_stacked(frame[column], header) for column in ("counts0", "counts"))
        paths = [np.asarray(path, np.int64) for path in frame["path"]] if "path" in frame else None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged, a column is missing or holds what it should not: {error}") from error
    return from_counts(
        header, idx=idx, label=label, counts0=counts0, counts=counts, seconds=seconds, paths=paths, name=path.stem
    )


def _stacked(column: pd.Series[Any], header: Header) -> Ints:
    """(N, K) from N lists of K counts. Without a row, K is known from the header only."""
    if column.empty:
        return np.zeros((0, max(1, len(header.classes or ()))), np.int64)
    return np.stack(column.to_list()).astype(np.int64)


def parse_header(text: str | bytes, path: Path) -> Header:
    """The header in `text`, as read from `path`; InputError when it is damaged or newer than this code."""
    try:
        raw = json.loads(text)
        version = raw.get("version")
        if version not in range(1, VERSION + 1):
            raise InputError(f"{path} is in format {version}; this randsmooth reads formats 1 to {VERSION}: upgrade it")
        return Header.model_validate(raw)
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, ValidationError) as error:
        raise InputError(f"{path} has a damaged header: {error}") from error


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
