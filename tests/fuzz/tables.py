"""Certificates: tables, their headers, and journals."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from certificates.walks import HEADER, table_of
from fuzz import parquet
from fuzz.draw import Draw
from fuzz.plain import bent, to_json
from fuzz.reader import Files, Reader, difference
from randsmooth.certificates import Certificates, Journal, JournalRow, Machine, write_parquet
from randsmooth.certificates.parquet import KEY
from randsmooth.cli import reading
from randsmooth.errors import Note
from randsmooth.report import render

NAME = "table.parquet"
JOURNAL = NAME + ".partial"
DIGESTS = b"randsmooth.sha256"  # the key of a table's digests, as a stranger knows it
WHICH = "run"  # the number of the run to go on with, in the tests' own words
RULES = ("fixed", "radius=0.5", "tolerance=0.3")
FACTS = {
    **{"bound": None, "dataset": "digits", "split": "test", "backend": "torch", "batch": 64},
    **{"model": {"method": "gaussian", "lr": 0.1, "epochs": 2}, "versions": {"numpy": "2.0"}, "noise": "NumPy SFC64"},
}


@cache
def tables() -> list[Certificates]:
    """Small tables of one layout, each of another rule, and with other counts."""
    made = [table_of(HEADER.model_copy(update=FACTS | {"rule": rule}), 6, seed) for seed, rule in enumerate(RULES)]
    return [made[0].at(alpha=0.02), *made[1:], _shard(made[0])]  # of which the first notes it in the header


def _shard(table: Certificates) -> Certificates:
    """The table as a shard that two machines made, beside the one of its header."""
    machines = tuple(Machine(host=host, device="cpu", versions={"numpy": "2.0"}) for host in ("node7", "node8"))
    rows = np.arange(len(table))
    facts = {"selection": "one in 2 of 12", "shard": "1/1", "command": ("certify", "a"), "machines": machines}
    return replace(
        table.rows(rows),
        header=table.header.having(**facts),
        idx=2 * rows,
        machine=rows % 3 - 1,
        image=np.arange(32 * len(table), dtype=np.uint8).reshape(-1, 32),
    )


def meaning(table: Certificates) -> dict[str, Any]:
    """All that a table says, but for its name, which is the file's."""
    columns = ("idx", "label", "predict", "radius", "seconds", "counts0", "counts", "machine", "image")
    paths = None if table.paths is None else list(table.paths)
    return {"header": table.header.model_dump(), "paths": paths} | {name: getattr(table, name) for name in columns}


def impossible(table: dict[str, Any]) -> str:
    """What no table of certificates can say."""
    size = len(table["idx"])
    if any(len(column) != size for key, column in table.items() if key != "header" and column is not None):
        return "columns of different lengths"
    numbers = np.concatenate([table["radius"], table["seconds"]])
    if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        return "a radius or a time that is not finite, or below 0"
    if (table["predict"] < -1).any() or (table["label"] < 0).any():
        return "a class below 0"
    if len(set(table["idx"].tolist())) < size:
        return "an image twice"
    return ""


class Table(Reader):
    """A Parquet table as `evaluate` reads it, and all of its figures."""

    name = "table"

    def valid(self) -> list[Files]:
        return [_file(table) for table in tables()]

    def bombs(self) -> list[Files]:
        return [{NAME: _rows(30_000_000)}]

    def read(self, folder: Path) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* is a part of a run", Note)
            (table,) = reading.load([folder / NAME])
        render([table], format="json")
        return meaning(table)

    def fault(self, read: Any) -> str:
        return impossible(read)

    def bent(self, files: Files, draw: Draw) -> Files | None:
        content = parquet.rewritten(files[NAME], draw)
        return None if content is None else {NAME: content}

    def forged(self, files: Files, draw: Draw) -> Files | None:
        """Without digests, as tables were written before they had any."""
        return self.bent({NAME: parquet.metadata_changed(files[NAME], {DIGESTS: None})}, draw)


class InTable(Table):
    """The header within a table."""

    name = "header"

    def bombs(self) -> list[Files]:
        return []

    def bent(self, files: Files, draw: Draw) -> Files | None:
        return {NAME: parquet.metadata_changed(files[NAME], {KEY: self._changed(files, draw)})}

    def forged(self, files: Files, draw: Draw) -> Files | None:
        """With the digest of the header that it has now."""
        changed = self._changed(files, draw)
        _, newline, others = parquet.read(files[NAME]).schema.metadata.get(DIGESTS, b"").partition(b"\n")
        signed = b"header " + hashlib.sha256(changed).hexdigest().encode() + newline + others
        return {NAME: parquet.metadata_changed(files[NAME], {KEY: changed, DIGESTS: signed})}

    def _changed(self, files: Files, draw: Draw) -> bytes:
        header = json.loads(parquet.read(files[NAME]).schema.metadata[KEY])
        return to_json(bent(header, draw), draw)


class Begun(Reader):
    """A journal as a resumed run reads it. Images that it lost are certified anew: what is left must be as it was."""

    name = "journal"
    target = JOURNAL

    def valid(self) -> list[Files]:
        return [{JOURNAL: _journal(table), WHICH: b"%d" % k} for k, table in enumerate(tables())]

    def read(self, folder: Path) -> Any:
        header = tables()[int((folder / WHICH).read_text())].header
        with Journal.resume(folder / JOURNAL, header) as journal:
            if journal.rows:
                journal.table([row.idx for row in journal.rows])
            return {row.idx: vars(row) for row in journal.rows}

    def same(self, meant: Any, read: Any) -> str:
        return difference({idx: row for idx, row in meant.items() if idx in read}, read)

    def bent(self, files: Files, draw: Draw) -> Files | None:
        return files | {JOURNAL: b"".join(line + b"\n" for line in self._changed(files, draw))}

    def forged(self, files: Files, draw: Draw) -> Files | None:
        """With the checksums of the lines that it has now, each over all lines before it; or without any."""
        checksum, lines, bare = "", [], draw.chance(0.3)
        for line in self._changed(files, draw):
            text = line.rpartition(b"\t")[0] or line
            checksum = hashlib.sha256(checksum.encode() + text).hexdigest()[:16]
            lines.append(text if bare else text + b"\t" + checksum.encode())
        return files | {JOURNAL: b"".join(line + b"\n" for line in lines)}

    def _changed(self, files: Files, draw: Draw) -> list[bytes]:
        """The lines, one of them saying something else."""
        *lines, _ = files[JOURNAL].split(b"\n")
        at = draw.below(len(lines))
        text, tab, checksum = lines[at].rpartition(b"\t") if b"\t" in lines[at] else (lines[at], b"", b"")
        lines[at] = to_json(bent(json.loads(text), draw), draw) + tab + checksum
        return lines


def _file(table: Certificates) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        write_parquet(table, Path(folder) / NAME)
        return {NAME: (Path(folder) / NAME).read_bytes()}


def _journal(table: Certificates) -> bytes:
    counts0, counts = table.evidence()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / JOURNAL
        with Journal.create(path, table.header) as journal:
            for i, walked in enumerate(table.paths or ()):
                row = (int(table.idx[i]), int(table.label[i]), counts0[i], counts[i], walked, float(table.seconds[i]))
                number = -1 if table.machine is None else int(table.machine[i])
                machine = table.header.machines[number] if number >= 0 else None
                image = None if table.image is None else table.image[i].tobytes()
                journal.append(JournalRow(*row, machine, image))
        return path.read_bytes()


def _rows(count: int) -> bytes:
    """A table of ever the same row: few bytes on disk, and gigabytes in memory."""
    several = parquet.read(_file(tables()[0])[NAME]).take(pa.array([0] * 1_000_000))
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, several.schema, compression="zstd") as writer:
        for _ in range(count // len(several)):
            writer.write_table(several)
    return buffer.getvalue()
