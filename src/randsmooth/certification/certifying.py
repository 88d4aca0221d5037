"""A certification from one call, in memory or into a file that survives a kill."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Unpack

from randsmooth import certificates
from randsmooth.atomic import claimed
from randsmooth.certificates import (
    Certificates,
    CertificationSettings,
    Header,
    Journal,
    JournalRow,
    Shard,
)
from randsmooth.certificates.journal import (
    check_parquet,
    journal_path,
    shards_path,
)
from randsmooth.certificates.journal_rows import table_of
from randsmooth.certification.keywords import RunOptions
from randsmooth.certification.routed import Routed
from randsmooth.certification.routed_run import certify_routed
from randsmooth.certification.run import Chosen, OpenRun, RunSpec, open_run, spread
from randsmooth.certification.run_notes import tell
from randsmooth.errors import (
    GO_ON_OR_BEGIN_ANEW,
    OVERWRITE,
    RESUME,
    BadValue,
    Conflict,
    MissingValue,
    OutputExists,
    Problem,
    Setting,
)
from randsmooth.progress import Progress, chosen_progress, silent
from randsmooth.urls import Place, delivered, place_of


class SharesOut(Protocol):
    """Workers that certify a run among themselves, such as `launch.Processes(4)`."""

    def certify(
        self,
        spec: RunSpec,
        out: Path,
        show: Progress,
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> Certificates:
        """Certify into the file `out`, as `certification.certify` asks for it."""


def certify(
    model: object,
    dataset: Any = None,
    settings: CertificationSettings | None = None,
    *,
    out: Place | None = None,
    workers: SharesOut | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    shard: Shard | str | None = None,
    only: Chosen | None = None,
    command: Sequence[str] | None = None,
    router_rule: str | None = None,
    **options: Unpack[RunOptions],
) -> Certificates:
    """Certify images of a data set, and return the table of certificates with their
    evidence.

    Args:
        model: where it is, as in `load_model`, or the model itself: any torch module in
            eval mode that takes images in [0, 1], or features, TorchScript, a
            `torch.export` program, a scikit-learn estimator, or a function from images
            (B, C, H, W), or features (B, d), to logits (B, K) or labels (B,). A
            `Routed` is certified in stages: its router, its experts on the images that
            they get, and then the routed table (see `routed_run`).
        dataset: name, folder or file of images, arrays (x, y) or x, or any other form
            that `data.load` takes, of features too; default: the data set that the
            model was trained on, by its name. A folder named by the model is opened
            only if you pass it here. Images without labels are certified, too: what is
            then not known is whether they are right.
        settings: how to certify: n0, n, alpha, rule, backend, ... (see
            `CertificationSettings`). They may also be given as keywords, each in place
            of the one in `settings`. Without sigma, the model folder's sigma is taken.
        out: the file to write, `something.parquet`, or its URL, such as
            `s3://bucket/something.parquet`; None: the table is kept in memory alone.
            While a file is being made, each finished image is on a line of a journal
            beside it; for a URL both wait on this machine (see `urls.delivered`).
        workers: who certifies, such as `launch.Processes(4)`, four processes on this
            machine; default: this process alone. The counts do not depend on it.
        resume, overwrite: go on with an interrupted run into `out`, or discard what is
            there. A resumed run keeps the backend and the batch that it had.
        progress: True shows how far the run is, False does not; default: on a terminal.
            It may also be a function like `progress.console`.
        shard, only, command: see `RunSpec`.
        router_rule: the rule of the router of a `Routed`; default: that of its experts.
        options: which images, and how they and the model are opened, as in `RunSpec`:
            split, image_column, label_column, resize, crop, take, skip, device,
            identity, num_classes, model_args. The fields of `settings` are options,
            too.

    Raises:
        Problem: anything that cannot be used, named, before the work starts.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> table = certify(model, "digits", sigma=0.25, n=100, take=5)
        >>> len(table), table.header.settings.n
        (5, 100)
    """
    if workers is not None and not hasattr(workers, "certify"):
        raise BadValue(
            field="workers",
            value=workers,
            fix="name their kind, such as rs.launch.Processes(4)",
        )
    if isinstance(model, Routed):
        of_settings = {} if settings is None else dict(settings)
        # What is None in settings was left open.
        stated = {
            name: value for name, value in of_settings.items() if value is not None
        }
        of_run = {
            "workers": workers,
            "progress": progress,
            "shard": shard,
            "only": only,
            "command": command,
        }
        return certify_routed(
            model,
            dataset,
            certify,
            out=out,
            resume=resume,
            overwrite=overwrite,
            router_rule=router_rule,
            options={**stated, **options, **of_run},
        )
    if router_rule is not None:
        raise BadValue(
            field="router_rule", value=router_rule, expected="is for a Routed alone"
        )
    spec = RunSpec.of(
        model, dataset, settings, shard=shard, only=only, command=command, **options
    )
    show = chosen_progress(progress)
    if out is None:
        if workers is not None or resume or overwrite or spec.shard is not None:
            raise MissingValue(
                "workers, shard, resume and overwrite are about a file",
                field="out",
                fix=("give ", Setting("out", "something.parquet")),
            )
        return certify_in_memory(spec.open(), show)

    if workers is not None and spec.shard is not None:
        raise Conflict(
            field="shard",
            value=str(spec.shard),
            expected="excludes workers, who share a run themselves: leave out one of them",
        )
    check_parquet(out)
    place = place_of(out)
    if spec.shard is not None:
        place = spec.shard.file(place)
    with delivered(place, resume=resume, overwrite=overwrite) as path:
        if workers is not None:
            return workers.certify(spec, path, show, resume=resume, overwrite=overwrite)
        return _certify_here(spec, path, show, resume=resume, overwrite=overwrite)


def _certify_here(
    spec: RunSpec, path: Path, show: Progress, *, resume: bool, overwrite: bool
) -> Certificates:
    """Certify into the file at `path`, without workers, as `certify` asks for it."""
    check_flags(path, resume=resume, overwrite=overwrite)
    shards = shards_path(path)
    if shards.exists() and not overwrite:
        raise OutputExists(
            f"{shards} holds a run that was shared out",
            fix=(Setting("workers"), " go on with it"),
            file=shards,
        )
    if resume:
        spec = spec.like(header_of(path))
    return certify_into(spec, path, show, overwrite=overwrite)


def certify_in_memory(run: OpenRun, show: Progress = silent) -> Certificates:
    """Certify a run, and return its table.

    Example:
        >>> from torch import nn
        >>> from randsmooth.certification import RunSpec
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> run = RunSpec.of(model, "digits", sigma=0.5, n=100, take=3).open()
        >>> len(certify_in_memory(run))
        3
    """
    # Images are decided in another order than the table's: rows are found by position.
    rows = dict[int, JournalRow]()
    with show("certify", len(run.indices), run.images.spec.inputs) as reporter:
        tell(run, show, reporter)
        for row in run.certify(spread(run.indices)):
            rows[row.idx] = row
            reporter.advance(1)
    return table_of(run.header, [rows[index] for index in run.indices])


def certify_into(
    run: RunSpec | OpenRun,
    out: Path,
    show: Progress = silent,
    *,
    overwrite: bool = False,
) -> Certificates:
    """Certify a run into the file `out`, and return its table.

    An unfinished run into `out` is resumed, unless it is to be overwritten. A finished
    one is returned.

    A run that is killed, at whatever moment, loses only the few images that it is
    counting. An image that is reported as done was written to the disk before, so that
    a power failure does not lose it either. A `RunSpec` is opened once the file is
    claimed, so that a second process is refused at once.

    Raises:
        Problem: `out` holds a run with another header, or another process writes it; or
            an image is unusable, or the model's logits are not finite.

    Example:
        >>> import tempfile
        >>> from torch import nn
        >>> from randsmooth.certification import RunSpec
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> spec = RunSpec.of(model, "digits", sigma=0.5, n=1000, take=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     certify_into(spec, Path(folder) / "two.parquet").idx
        array([  0, 182])
    """
    # This comes before the claim: a finished table may lie where nothing can be written.
    if is_finished(out) and not overwrite:
        return finished(open_run(run), out)
    path = journal_path(out)
    # While `out` is claimed, no other run into it begins or finishes.
    with claimed(out) as check_claim:
        run = open_run(run)
        if overwrite:
            out.unlink(missing_ok=True)
            shutil.rmtree(shards_path(out), ignore_errors=True)
        # A kill may have come between writing the table and removing the journal.
        if out.exists():
            table = finished(run, out)
        else:
            with _journal(path, run.header, anew=overwrite) as journal:
                table = _journalled(run, journal, out, show)
                # Raises if another process has taken the claim meanwhile.
                check_claim()
                certificates.write_parquet(table, out)
        path.unlink(missing_ok=True)
    return table


def _journal(path: Path, header: Header, *, anew: bool) -> Journal:
    """Begin the journal at `path`, or go on with the one that is there."""
    if anew or not path.exists():
        return Journal.create(path, header)
    return Journal.resume(path, header)


def _journalled(
    run: OpenRun, journal: Journal, out: Path, show: Progress
) -> Certificates:
    """Certify the images that the `journal` lacks, and return the table of all.

    A journal without a row is removed after an error.
    """
    task = f"certify {out.stem}"
    try:
        with show(task, len(run.indices), run.images.spec.inputs) as reporter:
            tell(run, show, reporter)
            done = {row.idx for row in journal.rows}
            reporter.skip(len(done))
            # How many rows count as certified, of those that were judged so far.
            certified = _newly_certified(journal)
            left = [index for index in spread(run.indices) if index not in done]
            counted_as = "certified and right" if run.images.labelled else "certified"
            for row in run.certify(left):
                journal.append(row)
                # `settle` brings all rows to the disk, but only now and then.
                is_last = len(journal.rows) == len(run.indices)
                newly_safe = journal.sync() if is_last else journal.settle()
                if newly_safe:
                    certified += _newly_certified(journal)
                    share = certified / len(journal.rows)
                    reporter.advance(newly_safe, f"{share:.1%} {counted_as}")
        table = journal.table(run.indices, out.stem)
    except Problem:
        # What was refused is mended and tried again: an empty journal would be in the way.
        if not journal.rows:
            journal.path.unlink(missing_ok=True)
        raise
    # The table holds the same counts: so they are in memory once.
    journal.rows.clear()
    return table


def _newly_certified(journal: Journal) -> int:
    """Return how many of the rows since the last call are certified.

    Where there are labels, only rows whose certified class is the label count.
    """
    table = journal.judge()
    if table.labelled:
        return int(table.correct.sum())
    return int((table.predict != certificates.ABSTAIN).sum())


def is_finished(out: Path) -> bool:
    """Return whether `out` is there, and no journal beside it."""
    return out.exists() and not journal_path(out).exists()


def finished(run: OpenRun, out: Path) -> Certificates:
    """Return the table in the file `out`.

    Raises:
        Problem: it is the table of another run.
    """
    table = certificates.read_parquet(out)
    # Rows of a shard, and of merged shards, say which machine made them, so that this
    # machine may be another.
    several = run.spec.shard is not None or bool(table.header.machines)
    certificates.check_same_run(table.header, run.header, out, several=several)
    return table


def check_flags(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Raise Problem for both flags, or for neither where a run into `out` exists."""
    if resume and overwrite:
        raise Conflict(
            (RESUME, " goes on, ", OVERWRITE, " begins anew: give one of them"),
            field="resume",
            value=True,
        )
    if resume or overwrite:
        return
    for path in (out, journal_path(out), shards_path(out)):
        if path.exists():
            raise OutputExists(f"{path} exists", fix=GO_ON_OR_BEGIN_ANEW, file=path)


def header_of(out: Path) -> Header | None:
    """Return the header of the run into `out`, finished or not; None if there is none."""
    if out.exists():
        return certificates.read_parquet(out).header
    path = journal_path(out)
    return certificates.journal_header(path) if path.exists() else None
