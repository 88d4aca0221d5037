"""The folder of the results removed while a command writes it."""

from __future__ import annotations

import shutil
import time

from drills.bench import Bench


def removed(bench: Bench) -> None:
    """Remove it at `times` random moments; the run says so, or ends with the whole result all the same."""
    tally = bench.tally
    while tally.tried < bench.times:
        bench.clear()
        process = bench.begin(bench.command())
        time.sleep(bench.rng.uniform(0.0, bench.took))
        if not process.is_alive():
            tally.missed += 1
            continue
        tally.tried += 1
        shutil.rmtree(bench.out, ignore_errors=True)  # what is put there meanwhile may stay
        process.join()
        tally.end(process.exitcode, bench.said.read_text(errors="replace"))
        whole = process.exitcode == 0 and not bench.difference(bench.whole)
        tally.judge("" if whole else _made_again(bench))  # what was finished before may be gone, too


def _made_again(bench: Bench) -> str:
    """What is wrong once the command was run again; anew, where it finds too little to go on with and says so."""
    wrong = bench.settle()
    if "--overwrite" not in wrong:
        return wrong
    bench.finish([word.replace("--resume", "--overwrite") for word in bench.command()])
    return bench.difference(bench.whole)
