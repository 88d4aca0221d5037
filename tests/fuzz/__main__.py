"""`python -m fuzz`: mutated files through every reader, and what came of them. `make fuzz` runs it."""

import argparse
import json
import os
import platform
import secrets
import sys
from pathlib import Path

import pandas as pd

from fuzz.harness import BAD, GOOD
from fuzz.run import find, run
from randsmooth.extras import versions

READERS = "fuzz.readers:READERS"
TOLD = 10  # failing inputs of a reader


def main(where: str = READERS) -> int:
    """Run what the options ask for, on the readers at `where`; 1 where an input failed, and 0 where none did.

    By default they are as FUZZ_INPUTS, FUZZ_SEED and FUZZ_READERS say.
    """
    readers, said = find(where), os.environ.get
    parser = argparse.ArgumentParser(
        prog="make fuzz, or python -m fuzz", description=__doc__
    )
    parser.add_argument(
        "--inputs",
        type=int,
        default=int(said("FUZZ_INPUTS") or 100_000),
        help="of all readers",
    )
    parser.add_argument(
        "--seed", type=int, default=int(said("FUZZ_SEED") or secrets.randbelow(2**32))
    )
    parser.add_argument(
        "--readers",
        default=said("FUZZ_READERS") or ",".join(readers),
        help="with commas between",
    )
    parser.add_argument(
        "--number", type=int, help="read this one input of the reader, and no others"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/fuzz"),
        help="where failing inputs are kept",
    )
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    asked = parser.parse_args()
    chosen = asked.readers.replace(",", " ").split()
    if unknown := [name for name in chosen if name not in readers]:
        parser.error(f"unknown reader {unknown[0]!r}; known are {', '.join(readers)}")
    print(f"seed {asked.seed}: {len(chosen)} readers", flush=True)
    share = range(
        -(-asked.inputs // len(chosen))
    )  # the readers' inputs are evenly shared
    numbers = dict.fromkeys(
        chosen, share if asked.number is None else range(asked.number, asked.number + 1)
    )
    tallies = run(
        where, numbers, seed=asked.seed, folder=asked.out, workers=asked.workers
    )
    counts = {
        name: {"digest": readers[name].signed, "inputs": tally.counts.total()}
        | {kind.replace(" ", "_"): tally.counts[kind] for kind in (*GOOD, *BAD)}
        for name, tally in tallies.items()
    }
    frame = pd.DataFrame.from_dict(counts, orient="index").astype(int)
    frame.loc["all"] = frame.sum()
    print(frame.to_string())
    if asked.json is not None:
        made = {"python": platform.python_version()} | versions(
            "pyarrow", "pillow", "onnxruntime"
        )
        kept = {"seed": asked.seed, "versions": made, "readers": counts}
        asked.json.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    for reader, tally in tallies.items():
        for number, outcome in tally.failures[:TOLD]:
            print(f"{reader}: {outcome.kind}: {outcome.said}")
            print(
                f"    again: python -m fuzz --seed {asked.seed} --readers {reader} --number {number}"
            )
    if any(tally.failures for tally in tallies.values()):
        print(f"failing inputs, with what came of each, are in {asked.out / 'failed'}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
