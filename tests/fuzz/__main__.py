"""`python -m fuzz`: mutated files through every reader, and what came of them. `make fuzz` runs it."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from fuzz import results
from fuzz.reader import Reader
from fuzz.run import Tally, run
from fuzz.worker import find

READERS = "fuzz.readers:READERS"


def main(where: str = READERS) -> int:
    """Run what the options ask for, on the readers at `where`; 1 where an input failed, and 0 where none did."""
    readers = find(where)
    asked = options(readers)
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(f"seed {asked.seed}: {len(asked.readers)} readers")
    numbers = _numbers(asked)
    tallies = run(where, numbers, seed=asked.seed, folder=asked.out, workers=asked.workers, tell=_tell(console))
    console.print(results.table(tallies, readers))
    found = results.groups(tallies.values())
    for group in found:
        console.print(_told(group, asked), markup=False, soft_wrap=True)
    if asked.json is not None:
        asked.json.write_text(results.record(tallies, readers, asked.seed), encoding="utf-8")
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


def _numbers(options: argparse.Namespace) -> dict[str, range]:
    """The numbers of each reader's inputs: evenly shared, and all of them where one cannot share evenly."""
    if options.number is not None:
        return {name: range(options.number, options.number + 1) for name in options.readers}
    share = -(-options.inputs // len(options.readers))
    return {name: range(share) for name in options.readers}


def _tell(console: Console) -> Callable[[Tally], None]:
    def tell(tally: Tally) -> None:
        console.print(f"{tally.reader}: {tally.inputs:,} inputs, {len(tally.failures):,} failed", style="dim")

    return tell


def _told(group: results.Group, options: argparse.Namespace) -> str:
    again = f"--seed {options.seed} --readers {group.reader} --number {group.numbers[0]}"
    return f"{group.reader}: {len(group.numbers):,} {group.kind}: {group.said}\n    again: python -m fuzz {again}"


if __name__ == "__main__":
    sys.exit(main())
