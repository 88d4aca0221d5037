"""A certification that workers share: they make its shards, which become one table."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from randsmooth.atomic import claimed
from randsmooth.certificates import Certificates, merge, read_parquet
from randsmooth.certificates.journal import journal_path, shards_path
from randsmooth.certification.certifying import check_flags, finished
from randsmooth.certification.run import RunSpec
from randsmooth.errors import RESUME, OutputExists, Problem, Setting
from randsmooth.launch.pool import Pool, watched
from randsmooth.launch.shards import Record, ShardFolder, certify_shards, discard
from randsmooth.progress import Progress, Reporter, silent, worded

# Shards of a worker, so that all workers are busy until nearly the end.
SHARDS_PER_WORKER = 8


def certify_on(
    workers: Pool,
    spec: RunSpec,
    out: Path,
    show: Progress,
    *,
    resume: bool = False,
    overwrite: bool = False,
) -> Certificates:
    """Certify by workers into the file `out`.

    The table is the one that one process would have made, in every count.

    Args:
        workers: the workers that certify.
        spec: the model, the images and the settings to certify with.
        out: the file of the table.
        show: the display of the progress.
        resume, overwrite: the arguments of `certify`.

    Raises:
        Problem: what `certify` raises, or workers that are not there. What is certified by
            then is kept.
    """
    check_flags(out, resume=resume, overwrite=overwrite)
    if resume and journal_path(out).exists():
        raise OutputExists(
            f"{journal_path(out)} was begun by one process, which goes on with it",
            fix=("leave out ", Setting("workers")),
            file=out,
        )
    split = spec.open_inputs().images
    positions, _ = spec.choose(len(split))
    images = len(positions)
    with claimed(shards_path(out), output=out):
        if overwrite:
            discard(out)
        folder = ShardFolder.begun(out)
        if folder is None:
            if out.exists():
                like_it = spec.like(read_parquet(out).header)
                return finished(like_it.open(), out)
            number = workers.number or SHARDS_PER_WORKER
            folder = ShardFolder(out, min(images, SHARDS_PER_WORKER * number))
            folder.begin()

        with show(f"certify {out.stem}", images, split.spec.inputs) as reporter:
            with watched(reporter, partial(folder.count_certified, images)) as look:
                _make_missing(folder, spec, workers, look)
            record = folder.record()
            if record is not None:
                _tell(record, reporter, warn=show is silent)
        table = merge(
            [folder.file(shard) for shard in folder.shards],
            out=out,
            overwrite=True,
            images=None if spec.only is None else spec.only[0],
        )
        shutil.rmtree(folder.path)
        return table


def _make_missing(
    folder: ShardFolder, spec: RunSpec, workers: Pool, look: Callable[[], int]
) -> None:
    """Make the shards that are missing.

    Raises:
        Problem: one of them fails.
    """
    # Each unit takes whichever shards are left, so that units are alike.
    number = min(workers.number or folder.of, folder.of)
    certify_some = partial(certify_shards, spec, folder)
    units = {str(unit): certify_some for unit in range(number)}

    def unfinished() -> set[str]:
        return set(units) if folder.missing() else set()

    try:
        failed = workers.run(units, device=spec.device, left=unfinished, look=look)
        for problem in failed.values():
            raise problem
    except Problem as problem:
        certified = look()
        if not certified:
            # There is nothing to go on with that may stand in the way of the next try.
            shutil.rmtree(folder.path)
            raise
        raise Problem(
            f"{problem}; {certified} inputs are certified",
            fix=("to go on: ", RESUME),
        ) from problem


def _tell(record: Record, reporter: Reporter, *, warn: bool) -> None:
    """Tell what the first worker noted; its doubts as warnings, where asked for."""
    for note in record.notes:
        reporter.say(f"note: {worded(note)}")
    if warn:
        for doubt in record.doubts:
            warnings.warn(doubt, stacklevel=4)
