"""Logs of others: TSV in its forms, and MATLAB files. They carry no digest."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat

from certificates.walks import HEADER, table_of
from fuzz.draw import Draw
from fuzz.reader import Files, Reader
from fuzz.tables import impossible, meaning
from randsmooth.bounds import q_upper
from randsmooth.certificates import read_all, write_tsv
from randsmooth.cli import reading
from randsmooth.noise import Gaussian
from randsmooth.report import render

LOG = "mnist-sigma0.5/gaussian.tsv"
SIGMA, N, ALPHA = 0.5, 200, 0.05
ROUNDED = 1.01  # logs print three significant digits


class Log(Reader):
    """A TSV log as `evaluate` reads it: what it says is possible, and what every cell of it says.

    Possible: images in rising order, classes of 0 and above, radii that n samples prove at alpha.
    """

    name = "log"
    signed = False

    def valid(self) -> list[Files]:
        forms: list[Callable[[bytes], bytes]] = [bytes, _running, _bare, _more]
        return [{LOG: form(_log(seed))} for seed, form in enumerate(forms)]

    def read(self, folder: Path) -> Any:
        (table,) = reading.load([folder / LOG], sigma=SIGMA, n=N, alpha=ALPHA)
        render([table], format="json")
        return meaning(table) | {"cells": _cells((folder / LOG).read_bytes())}

    def fault(self, read: Any) -> str:
        cells = read["cells"]
        said = {key: [row.get(key) for row in cells] for key in ("label", "predict", "radius", "correct")}
        if len(cells) != len(read["idx"]) or any(None in column for column in said.values()):
            return f"{len(read['idx'])} rows of a log of {len(cells)} lines"
        for key in ("label", "predict", "radius"):
            if said[key] != read[key].tolist():
                return f"another {key} than the log's"
        if (read["radius"] > ROUNDED * _farthest()).any():
            return "a radius that no counts prove"
        if (np.diff(read["idx"]) <= 0).any() and (read["idx"] >= 0).any():
            return "images that do not rise"
        right = read["predict"] == read["label"]
        if said["correct"] not in (right.tolist(), np.cumsum(right).tolist()):
            return "a row's correct contradicts its prediction"
        return impossible({key: value for key, value in read.items() if key != "cells"})

    def bent(self, files: Files, draw: Draw) -> Files | None:
        """A cell with another number or text, or two cells or columns exchanged."""
        rows = [line.split(b"\t") for line in files[LOG].splitlines()]
        row, other = draw.pick(rows), draw.pick(rows)
        at, to = draw.below(len(row)), draw.below(len(row))
        way = draw.below(4)
        if way == 0:
            for each in rows:
                each[at], each[to] = each[to], each[at]
        elif way == 1:
            row[at] = other[at]
        else:
            row[at] = str(draw.number() if way == 2 else draw.value()).encode(errors="surrogatepass")
        return {LOG: b"\n".join(map(b"\t".join, rows)) + b"\n"}


class Matlab(Reader):
    """A MATLAB file of MACER's certification: a table of each kind of radii, of images and classes unknown."""

    name = "matlab"
    signed = False

    def valid(self) -> list[Files]:
        radii = np.array([[0.5, -1.0, 0.25]])
        return [_matlab(hard=radii), _matlab(hard=radii, soft=np.where(radii < 0.0, radii, radii / 2))]

    def read(self, folder: Path) -> Any:
        return {table.name: meaning(table) for table in read_all(folder / "radii.mat")}

    def fault(self, read: Any) -> str:
        for table in read.values():
            if (table["idx"] >= 0).any():
                return "images that the file does not name"
            if found := impossible(table):
                return found
        return ""


@cache
def _log(seed: int) -> bytes:
    header = HEADER.model_copy(update={"n": N, "alpha": ALPHA, "sigma": SIGMA, "bound": "clopper-pearson"})
    with tempfile.TemporaryDirectory() as folder:
        write_tsv(table_of(header, 12, seed), Path(folder) / "a.tsv")
        return (Path(folder) / "a.tsv").read_bytes()


def _running(log: bytes) -> bytes:
    """`correct` as a running total, and time in seconds."""
    total, lines = 0, log.decode().splitlines()
    for at, line in enumerate(lines[1:], start=1):
        idx, label, predict, radius, correct, _ = line.split("\t")
        total += int(correct)
        lines[at] = "\t".join((idx, label, predict, radius, str(total), f"{at}.5"))
    return ("\n".join(lines) + "\n").encode()


def _bare(log: bytes) -> bytes:
    """Without header and idx."""
    return b"".join(line.split(b"\t", 1)[1] for line in log.splitlines(keepends=True)[1:])


def _more(log: bytes) -> bytes:
    """With a further column behind."""
    header, *lines = log.splitlines()
    return b"\n".join([header + b"\tpABar", *(line + b"\t0.9" for line in lines)]) + b"\n"


def _cells(log: bytes) -> list[dict[str, float]]:
    """The numbers in each line's cells, by column, read as plainly as can be; a cell that is none is left out."""
    lines = [line.split("\t") for line in log.decode("utf-8", "replace").splitlines() if line]
    named = bool(lines) and "label" in lines[0]
    names = lines[0] if named else ["label", "predict", "radius", "correct", "time"]
    return [_numbers(names, line) for line in lines[named:]]


def _numbers(names: list[str], cells: list[str]) -> dict[str, float]:
    found = {}
    for name, cell in zip(names, cells, strict=False):
        try:
            found[name] = float(cell)
        except ValueError:
            continue
    return found


def _farthest() -> float:
    return float(Gaussian(SIGMA).radius(q_upper(N, N, ALPHA)))


def _matlab(**radii: np.ndarray) -> Files:
    buffer = io.BytesIO()
    savemat(buffer, radii)
    # Its first line says when it was made: inputs shall be the same every time.
    return {"radii.mat": b"MATLAB 5.0 MAT-file".ljust(116) + buffer.getvalue()[116:]}
