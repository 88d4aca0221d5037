"""`python -m fuzz`: mutated files through every reader, and what came of them. `make fuzz` runs it."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from pathlib import Path

from rich.console import Console

from fuzz.harness import Reader
from fuzz.run import find, groups, record, run, table

READERS = "fuzz.readers:READERS"


def main(where: str = READERS) -> int:
    """Run what the options ask for, on the readers at `where`; 1 where an input failed, and 0 where none did."""
    readers = find(where)
    asked = options(readers)
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(f"seed {asked.seed}: {len(asked.readers)} readers")
    share = range(-(-asked.inputs // len(asked.readers)))  # the readers' inputs are evenly shared
    numbers = dict.fromkeys(asked.readers, share if asked.number is None else range(asked.number, asked.number + 1))
    tallies = run(
        where,
        numbers,
        seed=asked.seed,
        folder=asked.out,
        workers=asked.workers,
        tell=lambda tally: console.print(
            f"{tally.reader}: {tally.counts.total():,} inputs, {len(tally.failures):,} failed", style="dim"
        ),
    )
    console.print(table(tallies, readers))
    found = groups(tallies)
    for group in found:
        again = f"--seed {asked.seed} --readers {group.reader} --number {group.numbers[0]}"
        told = f"{group.reader}: {len(group.numbers):,} {group.kind}: {group.said}\n    again: python -m fuzz {again}"
        console.print(told, markup=False, soft_wrap=True)
    if asked.json is not None:
        asked.json.write_text(record(tallies, readers, asked.seed), encoding="utf-8")
    if found:
        console.print(f"failing inputs, with what came of each, are in {asked.out / 'failed'}", markup=False)
    return 1 if found else 0


def options(readers: dict[str, Reader]) -> argparse.Namespace:
    """Options, by default as FUZZ_INPUTS, FUZZ_SEED and FUZZ_READERS say."""
    said = os.environ.get
    parser = argparse.ArgumentParser(prog="make fuzz, or python -m fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=int(said("FUZZ_INPUTS") or 100_000), help="of all readers")
    parser.add_argument("--seed", type=int, default=int(said("FUZZ_SEED") or secrets.randbelow(2**32)))
    parser.add_argument("--readers", default=said("FUZZ_READERS") or ",".join(readers), help="with commas between")
    parser.add_argument("--number", type=int, help="read this one input of the reader, and no others")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/fuzz"), help="where failing inputs are kept")
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    options = parser.parse_args()
    options.readers = options.readers.replace(",", " ").split()
    unknown = [name for name in options.readers if name not in readers]
    if unknown:
        parser.error(f"unknown reader {unknown[0]!r}; known are {', '.join(readers)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
