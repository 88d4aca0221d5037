"""Memory and time of reading a Parquet file of encoded images: all of it, and the share of one of sixteen processes.

    python benchmarks/big_parquet.py [--rows 50000] [--out results/bench/big-parquet.json]

Each reader is a process of its own, which reads its images in order: from the whole table held in memory, as
small files are read, or mapped from the cache of `datasets`, which the first one fills. Memory is the peak of what the
process itself holds above that of the loaded library; what the system keeps of the disk while memory is free is not.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from harness import Figure, finish
from randsmooth.data import tables
from randsmooth.data.decode import form

SIDE, GROUP, SHARDS = 96, 1000, 16
TARGET_MB, TARGET_SHARE = 400.0, 0.5


def written(path: Path, rows: int, group: int) -> None:
    """JPEGs of noise, each another, in row groups of `group`."""
    rng = np.random.default_rng(0)
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema({"image": kind, "label": pa.int64()})
    with pq.ParquetWriter(path, schema, compression="none") as writer:
        for first in range(0, rows, group):
            count = min(group, rows - first)
            images = pa.array([{"bytes": jpeg(rng), "path": None} for _ in range(count)], kind)
            writer.write_table(pa.table({"image": images, "label": np.arange(count) % 10}, schema=schema))


def jpeg(rng: np.random.Generator) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (SIDE, SIDE, 3), np.uint8)).save(stream, "JPEG", quality=75)
    return stream.getvalue()


def own() -> float:
    """What this process holds of its own, without mapped files, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) * 1024 / 1e6


def reader(path: Path, held: bool, step: int) -> None:
    """Read every `step`-th image; print megabytes and seconds."""
    import datasets  # noqa: F401  # the library is loaded before memory and time are measured

    tables.HELD_BYTES = 2**62 if held else 0
    seen, over = [own()], threading.Event()

    def watch() -> None:
        while not over.wait(0.01):
            seen.append(own())

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun = time.perf_counter()
    encoded = tables.read_parquet([path])
    for index in range(0, len(encoded.labels), step):
        with encoded.open(index) as stream:
            assert form(stream, encoded.where(index)) == ("RGB", SIDE, SIDE)
    seconds = time.perf_counter() - begun
    over.set()
    watcher.join()
    print(json.dumps({"mb": max(seen) - seen[0], "seconds": seconds}))


def measured(path: Path, *, held: bool, step: int) -> dict[str, float]:
    words = [sys.executable, __file__, "--read", str(path), "--step", str(step), *(["--held"] if held else [])]
    cache = os.environ | {"HF_DATASETS_CACHE": str(path.parent / "cache")}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=cache)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/big-parquet.json"))
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--held", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read is not None:
        reader(options.read, options.held, options.step)
        return
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for group, what in ((GROUP, f"row groups of {GROUP:,}"), (options.rows, "one row group")):
            path = Path(folder) / "images.parquet"
            written(path, options.rows, group)
            megabytes = path.stat().st_size / 1e6
            held, whole, share = (
                measured(path, held=held, step=step) for held, step in ((True, 1), (False, 1), (False, SHARDS))
            )
            note = f"{options.rows:,} JPEGs, {megabytes:,.0f} MB, {what}"
            for name, found in (("all images", whole), (f"one image in {SHARDS}", share)):
                memory = f"peak memory of reading {name}, mapped"
                against = f"{note}; held whole: {held['mb']:,.0f} MB, {held['seconds']:.1f} s"
                figures.append(Figure(memory, round(found["mb"], 1), TARGET_MB, [], against, unit=" MB", most=True))
            ratio = round(share["seconds"] / whole["seconds"], 3)
            times = f"{note}: {share['seconds']:.1f} s against {whole['seconds']:.1f} s"
            name = f"time of reading one image in {SHARDS}, as a share of all"
            figures.append(Figure(name, ratio, TARGET_SHARE, [], times, unit="", most=True))
    for figure in figures:
        print(figure.line(), f"  ({figure.note})")
    finish(figures, options.out)


if __name__ == "__main__":
    main()
