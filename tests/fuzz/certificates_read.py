"""Certificates as they come in: tables, headers, journals, logs of others, and counts."""

import hashlib
import io
import json
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.stats import norm

from certificates.walks import HEADER, table_of
from fuzz.formats import metadata, parquet, read_table
from fuzz.harness import Files, Reader, difference, written
from randsmooth.certificates import (
    Certificates,
    Journal,
    JournalRow,
    Machine,
    from_counts,
    parse_header,
    write_parquet,
    write_tsv,
)
from randsmooth.certificates.evidence import COLUMNS
from randsmooth.certificates.parquet_file import KEY, digests, parts_in
from randsmooth.cli import certificate_files
from randsmooth.errors import Problem
from randsmooth.noise import Gaussian
from randsmooth.notes import Note
from randsmooth.report import render

NAME = "table.parquet"
JOURNAL = NAME + ".partial"
DIGESTS = b"randsmooth.sha256"  # the key of a table's digests, as a stranger knows it
WHICH = "run"  # the number of the run to go on with, in the tests' own words
RULES = ("fixed", "radius=0.5", "grid")
FACTS = {
    **{
        "bound": None,
        "dataset": "digits",
        "split": "test",
        "backend": "torch",
        "batch": 64,
    },
    **{
        "model": {"method": "gaussian", "lr": 0.1, "epochs": 2},
        "versions": {"numpy": "2.0"},
        "drawn_by": "NumPy SFC64",
    },
}
LOG = "mnist-sigma0.5/gaussian.tsv"
SIGMA, N, ALPHA = 0.5, 200, 0.05
FARTHEST = float(Gaussian(SIGMA).largest_radius(N, ALPHA))


def meaning(table: Certificates) -> dict[str, Any]:
    """All that a table says, but for its name, which is the file's."""
    columns = (
        "idx",
        "label",
        "predict",
        "radius",
        "seconds",
        "counts0",
        "counts",
        "machine",
        "image",
    )
    paths = None if table.paths is None else list(table.paths)
    return {"header": table.header.model_dump(), "paths": paths} | {
        name: getattr(table, name) for name in columns
    }


def impossible(table: dict[str, Any]) -> str:
    """What no table of certificates can say."""
    size = len(table["idx"])
    if any(
        len(column) != size
        for key, column in table.items()
        if key != "header" and column is not None
    ):
        return "columns of different lengths"
    numbers = np.concatenate([table["radius"], table["seconds"]])
    if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        return "a radius or a time that is not finite, or below 0"
    if (table["predict"] < -1).any() or (table["label"] < 0).any():
        return "a class below 0"
    return "an image twice" if len(set(table["idx"].tolist())) < size else ""


# --- tables and journals --------------------------------------------------------------------------------------------


@cache
def tables() -> list[Certificates]:
    """Small tables of one layout, each of another rule, and with other counts; and one as a shard of two machines."""
    made = [
        table_of(HEADER.model_copy(update=FACTS | {"rule": rule}), 6, seed)
        for seed, rule in enumerate(RULES)
    ]
    machines = tuple(
        Machine(host=host, device="cpu", versions={"numpy": "2.0"})
        for host in ("node7", "node8")
    )
    rows, one = np.arange(6), made[0]
    facts = {
        "selection": "one in 2 of 12",
        "shard": "1/1",
        "command": ("certify", "a"),
        "machines": machines,
    }
    image = np.arange(32 * 6, dtype=np.uint8).reshape(-1, 32)
    header = one.header.model_copy(update=facts)
    shard = replace(
        one.rows(rows), header=header, idx=2 * rows, machine=rows % 3 - 1, image=image
    )
    return [
        one.at(alpha=0.02),
        *made[1:],
        shard,
    ]  # of which the first notes it in the header


class Table(Reader):
    """A Parquet table as `evaluate` reads it, and all of its figures."""

    name = "table"

    def valid(self) -> list[Files]:
        return [stored(table) for table in tables()]

    def bombs(self) -> list[Files]:
        """A table of ever the same row: few bytes on disk, and gigabytes in memory."""
        several, buffer = (
            read_table(stored(tables()[0])[NAME]).take(pa.array([0] * 1_000_000)),
            io.BytesIO(),
        )
        with pq.ParquetWriter(buffer, several.schema, compression="zstd") as writer:
            for _ in range(30):
                writer.write_table(several)
        return [{NAME: buffer.getvalue()}]

    def read(self, folder: Path) -> Any:
        with warnings.catch_warnings():
            # It is a part of a run.
            warnings.simplefilter("ignore", Note)
            (table,) = certificate_files.load([folder / NAME])
        render([table], format="json")
        return meaning(table)

    def fault(self, read: Any) -> str:
        return impossible(read)

    def sealed(self, files: Files, name: str) -> Files:
        """With digests of its columns too, where the header lets them be read."""
        told, file = metadata(files[name]), pq.ParquetFile(io.BytesIO(files[name]))
        header = told[KEY]
        try:
            told[DIGESTS] = digests(
                header,
                parts_in(
                    file,
                    Path(name),
                    COLUMNS,
                    parse_header(header, Path(name)).count_columns,
                ),
            )
        except Problem:
            _, newline, others = told[DIGESTS].partition(b"\n")
            told[DIGESTS] = (
                b"header "
                + hashlib.sha256(header).hexdigest().encode()
                + newline
                + others
            )
        return {name: parquet(read_table(files[name]), told)}


class Begun(Reader):
    """A journal as a resumed run reads it. Images that it lost are certified anew: what is left must be as it was."""

    name = "journal"
    target = JOURNAL

    def valid(self) -> list[Files]:
        return [
            {JOURNAL: journal_of(table), WHICH: b"%d" % k}
            for k, table in enumerate(tables())
        ]

    def read(self, folder: Path) -> Any:
        header = tables()[int((folder / WHICH).read_text())].header
        with Journal.resume(folder / JOURNAL, header) as journal:
            if journal.rows:
                journal.table([row.idx for row in journal.rows])
            return {row.idx: vars(row) for row in journal.rows}

    def same(self, meant: Any, read: Any) -> str:
        return difference({idx: row for idx, row in meant.items() if idx in read}, read)

    def sealed(self, files: Files, name: str) -> Files:
        """With the checksums of its lines, each over all lines before it."""
        checksum, lines = "", b""
        for line in files[name].splitlines():
            text = line.rpartition(b"\t")[0]
            checksum = hashlib.sha256(checksum.encode() + text).hexdigest()[:16]
            lines += text + b"\t" + checksum.encode() + b"\n"
        return files | {name: lines}


def stored(table: Certificates) -> Files:
    return written(lambda folder: write_parquet(table, folder / NAME))


def journal_of(table: Certificates) -> bytes:
    counts0, counts = table.evidence()

    def write(folder: Path) -> None:
        with Journal.create(folder / JOURNAL, table.header) as journal:
            for i, walked in enumerate(table.paths or ()):
                row = (
                    int(table.idx[i]),
                    int(table.label[i]),
                    counts0[i],
                    counts[i],
                    walked,
                    float(table.seconds[i]),
                )
                number = -1 if table.machine is None else int(table.machine[i])
                machine = table.header.machines[number] if number >= 0 else None
                image = None if table.image is None else table.image[i].tobytes()
                journal.append(JournalRow(*row, machine, image))

    return written(write)[JOURNAL]


# --- logs of others -------------------------------------------------------------------------------------------------


class Log(Reader):
    """A TSV log as `evaluate` reads it: what it says is possible, and what every cell of it says.

    Possible: images in rising order, classes of 0 and above, radii that n samples prove at alpha.
    """

    name = "log"
    signed = False

    def valid(self) -> list[Files]:
        """As ours are; `correct` as a running total and time in seconds; without header and idx; with p_A or sigma."""
        plain = log_of()
        forms = (
            plain.to_csv(sep="\t", index=False),
            plain.assign(correct=plain.correct.cumsum(), time=0.5).to_csv(
                sep="\t", index=False
            ),
            plain.drop(columns="idx").to_csv(sep="\t", index=False, header=False),
            plain.assign(pABar=norm.cdf(plain.radius / SIGMA)).to_csv(
                sep="\t", index=False
            ),
            plain.iloc[::-1]
            .assign(best_sigma=SIGMA, right=plain.correct)
            .to_csv(sep="\t", index=False),
        )
        return [{LOG: form.encode()} for form in forms]

    def read(self, folder: Path) -> Any:
        (table,) = certificate_files.load([folder / LOG], sigma=SIGMA, n=N, alpha=ALPHA)
        render([table], format="json")
        return meaning(table) | {"cells": cells_of((folder / LOG).read_bytes())}

    def fault(self, read: Any) -> str:
        columns = ("label", "predict", "radius", "correct")
        cells = read["cells"]
        if (read["idx"] >= 0).all():
            order = np.argsort([row.get("idx", np.nan) for row in cells])
            cells = [cells[place] for place in order]
        said = {key: [row.get(key, np.nan) for row in cells] for key in columns}
        said["predict"] = np.maximum(
            said["predict"], -1
        ).tolist()  # one that was misclassified was not certified
        for key in columns[:3]:
            if said[key] != read[key].tolist():
                return f"another {key} than the log's"
        if (
            read["radius"] > 1.01 * FARTHEST
        ).any():  # logs print three significant digits
            return "a radius that no counts prove"
        if (np.diff(read["idx"]) <= 0).any() and (read["idx"] >= 0).any():
            return "images that do not rise"
        right = read["predict"] == read["label"]
        counted = sorted(
            x for x, hit in zip(said["correct"], right, strict=True) if hit
        )
        if said["correct"] != right.tolist() and counted != list(
            range(1, right.sum() + 1)
        ):
            return "a row's correct contradicts its prediction"
        return impossible({key: value for key, value in read.items() if key != "cells"})


@cache
def log_of() -> pd.DataFrame:
    header = HEADER.model_copy(
        update={
            "n": N,
            "alpha": ALPHA,
            "noise": Gaussian(SIGMA),
            "bound": "clopper-pearson",
        }
    )
    log = written(lambda folder: write_tsv(table_of(header, 12, 0), folder / "a.tsv"))[
        "a.tsv"
    ]
    return pd.read_csv(io.BytesIO(log), sep="\t")


def cells_of(log: bytes) -> list[dict[str, float]]:
    """The numbers in each line's cells, by column, read as plainly as can be; NaN for a cell that is none."""
    lines = [
        line.split("\t") for line in log.decode("utf-8", "replace").splitlines() if line
    ]
    names = [name.strip().lower() for name in lines[0]] if lines else []
    rows = [line for line in lines if line != lines[0]]
    if "label" not in names:
        rows = lines
        names = (
            ["idx", "label", "predict", "radius", "correct", "time"][-len(lines[0]) :]
            if lines
            else []
        )
    return [dict(zip(names, map(number, row), strict=False)) for row in rows]


def number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return np.nan


# --- counts ---------------------------------------------------------------------------------------------------------


class Counts(Reader):
    """Values between commas or tabs: what is read is possible, and no radius is larger than n samples prove."""

    name = "counts"
    signed = False
    file = "counts.csv"

    def valid(self) -> list[Files]:
        """A column for each count, between commas or tabs; the picked class's count alone."""
        lists = pd.DataFrame(rows_of(1))
        each = [
            pd.DataFrame([*lists[name]]).add_prefix(f"{name}_")
            for name in ("counts", "counts0")
        ]
        wide = pd.concat([lists[["idx", "label"]], *each, lists["seconds"]], axis=1)
        picked = [int(np.argmax(counts)) for counts in lists["counts0"]]
        tops = [counts[k] for counts, k in zip(lists["counts"], picked, strict=True)]
        alone = pd.DataFrame(
            {"label": lists["label"], "picked": picked, "n_A": tops, "n": N}
        )
        texts = [table.to_csv(index=False) for table in (wide, alone)]
        return [
            {self.file: text.encode()}
            for text in (*texts, wide.to_csv(index=False, sep="\t"))
        ]

    def read(self, folder: Path) -> Any:
        table = from_counts(folder / self.file, sigma=SIGMA, alpha=ALPHA)
        render([table], format="json")
        return meaning(table)

    def fault(self, read: Any) -> str:
        n = read["header"]["n"]
        if (
            read["radius"]
            > Gaussian(SIGMA).largest_radius(n or 0, ALPHA) * (1.0 + 1e-9)
        ).any():
            return "a radius that no counts prove"
        if (read["counts"] < 0).any() or (read["counts0"] < 0).any():
            return "a count below 0"
        if (read["counts"].sum(axis=1) != n).any():
            return "counts that do not add up"
        label = read["label"]  # images without labels have -1 throughout
        return impossible(
            read | {"label": np.zeros_like(label)}
            if len(label) and (label == -1).all()
            else read
        )


class CountLines(Counts):
    """The same as JSON lines."""

    name = "count-lines"
    file = "counts.jsonl"

    def valid(self) -> list[Files]:
        return [
            {self.file: "".join(json.dumps(row) + "\n" for row in rows_of(k)).encode()}
            for k in range(2)
        ]


@cache
def rows_of(seed: int) -> list[dict[str, Any]]:
    update = {"n": N, "alpha": ALPHA, "noise": Gaussian(SIGMA), "rule": "fixed"}
    table = table_of(HEADER.model_copy(update=update), 6, seed)
    counts0, counts = table.evidence()
    columns = {
        "idx": table.idx,
        "label": table.label,
        "counts": counts,
        "counts0": counts0,
        "seconds": table.seconds,
    }
    return [
        {name: column[row].tolist() for name, column in columns.items()}
        for row in range(len(table))
    ]
