"""kill -9 at random moments of the shards of a run, which go on and are merged: the table is the undisturbed one's."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from drills.bench import Bench
from randsmooth.certificates import Certificates, NotWhole, merge, read_parquet
from randsmooth.certificates.journal import read_journal

OF = 4  # shards
CHAIN = 8  # kills, at most, before all shards are let go on to their ends
COLUMNS = ("idx", "label", "predict", "radius", "counts0", "counts")


def killed(bench: Bench) -> None:
    """Kill shards `times` times; what is missing is told all along, and each merged table is the undisturbed one."""
    whole, tally = read_parquet(bench.out / "a.parquet"), bench.tally
    while tally.tried < bench.times:
        bench.clear()
        kills, left = min(CHAIN, bench.times - tally.tried), list(range(1, OF + 1))
        while left:
            shard = bench.rng.choice(left)
            if _ended(bench, shard, kill=kills > 0):
                left.remove(shard)
            kills -= 1
            tally.note(_told(bench, whole))
        code, said = bench.run(["merge", *map(str, _files(bench)), "--out", "merged.parquet"])
        if code != 0:
            tally.end(code, said)
            tally.judge(f"the shards are not merged: {said.strip()[-300:]}")
            continue
        tally.judge(_difference(whole, read_parquet(bench.folder / "merged.parquet")))


def _ended(bench: Bench, shard: int, *, kill: bool) -> bool:
    """Whether the shard, begun or gone on with, came to its end; otherwise it was killed before."""
    process = bench.begin([*bench.command(), "--shard", f"{shard}/{OF}"])
    if kill:
        time.sleep(bench.rng.uniform(0.0, bench.took))
        process.kill()
    process.join()
    if process.exitcode == -9:
        bench.tally.tried += 1
        return False
    bench.tally.missed += kill
    bench.tally.end(process.exitcode, bench.said.read_text(errors="replace"))
    return True


def _files(bench: Bench) -> list[Path]:
    return [bench.out / f"a-{shard}-of-{OF}.parquet" for shard in range(1, OF + 1)]


def _told(bench: Bench, whole: Certificates) -> str:
    """What is wrong with what a merge says of the shards as they are; empty if it tells every image that is missing."""
    there: set[int] = set()
    for file in _files(bench):
        journal = file.with_name(file.name + ".partial")
        if file.exists():
            there |= set(read_parquet(file).idx.tolist())
        elif journal.exists() and (content := read_journal(journal)):
            there |= {row.idx for row in content.rows}
    missing = [image for image in whole.idx.tolist() if image not in there]
    try:
        merge(_files(bench))
    except NotWhole as error:
        right = list(error.missing) == missing and not error.doubled and bool(error.commands) == bool(missing)
        return "" if right else f"told are {error.missing} and {error.doubled}, missing {missing}"
    except ValueError as error:  # no shard has begun yet
        return "" if not there else str(error)
    return "" if not missing else f"merged without {missing}"


def _difference(whole: Certificates, merged: Certificates) -> str:
    """In what the merged table differs from that of one process, but for its times and for who made it."""
    paths = zip(whole.paths or (), merged.paths or (), strict=True)
    wrong = [name for name in COLUMNS if not np.array_equal(getattr(whole, name), getattr(merged, name))]
    wrong += [] if all(np.array_equal(*pair) for pair in paths) else ["paths"]
    same_header = replace(merged, header=merged.header.replace(machines=())).header == whole.header
    return ", ".join(wrong + ([] if same_header else ["header"]))
