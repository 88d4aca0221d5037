"""Certify a data set into a file: resumable at any moment, one journal line an image."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from randsmooth.atomic import claimed
from randsmooth.certificates import (
    ABSTAIN,
    Certificates,
    Header,
    Journal,
    Machine,
    check_same_run,
    journal_header,
    read_parquet,
    write_parquet,
)
from randsmooth.certificates.journal import journal_path, shards_path
from randsmooth.certificates.same_run import as_begun
from randsmooth.certification.crew import Crew, RunFacts
from randsmooth.errors import InputError, setting
from randsmooth.progress import Reporter, Silent


def check_flags(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Raise InputError for both flags at once, or for neither where `out` or its journal exists."""
    if resume and overwrite:
        raise InputError(
            f"{setting(resume=True)} goes on with a run, {setting(overwrite=True)} discards it: give one of them"
        )
    there = next((path for path in (out, journal_path(out), shards_path(out)) if path.exists()), None)
    if there is not None and not (resume or overwrite):
        raise InputError(
            f"{there} exists. To go on with it: {setting(resume=True)}. To begin anew: {setting(overwrite=True)}, or "
            "another out (--out)"
        )


def header_of(out: Path) -> Header | None:
    """The header of the run into `out`, finished or not; None where there is none."""
    if out.exists():
        return read_parquet(out).header
    path = journal_path(out)
    return journal_header(path) if path.exists() else None


def certify_images(
    crew: Crew,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    reporter: Reporter | None = None,
) -> Certificates:
    """Have a crew certify its images into the Parquet file `out`.

    A run that is killed, at whatever moment, loses the few images in hand; `resume` goes on with it. What is reported
    to `reporter` as done was written to the disk before: a power failure does not take it either.

    Raises:
        InputError: `out` exists and neither flag is given, or holds a run with another header, or another
            process writes it; or an image is unusable, or the model's logits are not finite.

    Example:
        >>> import tempfile, torch
        >>> from randsmooth.certificates import CertificationSettings
        >>> from randsmooth.certification.order import Order
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> settings = CertificationSettings(sigma=0.5, n=1000)
        >>> prepared = Order(model=model, dataset="digits", settings=settings, take=2).prepare()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     certify_images(prepared, Path(folder) / "two.parquet").idx
        array([  0, 182])
    """
    header, indices = crew.facts.header, crew.facts.indices
    check_flags(out, resume=resume, overwrite=overwrite)
    path = journal_path(out)
    if out.exists() and not (overwrite or path.exists()):  # also where nothing may be written
        return _finished(out, header)
    with claimed(out) as check_claim:  # so that no other run finishes, or begins, meanwhile
        if overwrite:
            out.unlink(missing_ok=True)
            shutil.rmtree(shards_path(out), ignore_errors=True)
        if out.exists():
            table = _finished(out, header)
            path.unlink(missing_ok=True)  # a kill may have come between writing the table and removing this
            return table
        begins = overwrite or not path.exists()
        with Journal.create(path, header) if begins else Journal.resume(path, header) as journal:
            try:
                _certify_rest(crew, journal, reporter or Silent())
            except InputError:
                if not journal.rows:  # nothing to resume: do not stand in the way of the next try
                    journal.path.unlink(missing_ok=True)
                raise
            table = journal.table(indices, out.stem)
            journal.rows.clear()  # the memory of as many counts as the table holds
        check_claim()
        write_parquet(table, out)
        path.unlink()
    return table


def _finished(out: Path, header: Header) -> Certificates:
    table = read_parquet(out)
    several = header.shard is not None or table.header.machines
    check_same_run(table.header, as_begun(table.header, header) if several else header, out)
    return table


def _certify_rest(crew: Crew, journal: Journal, reporter: Reporter) -> None:
    """Have the images certified that the journal does not hold yet, and add a line for each as it is decided.

    An image is reported once its line is on the disk.
    """
    facts, finished = crew.facts, {row.idx for row in journal.rows}
    _check_labels(journal, facts)
    left = [index for index in facts.indices if index not in finished]
    reporter.skip(len(finished))
    right = _settled(journal, facts)
    here = Machine.here(facts.header) if facts.header.shard is not None or journal.machines.machines else None
    for row in crew.rows(left):
        journal.append(row if row.machine else replace(row, machine=here))
        safe = journal.settle() if len(journal.rows) < len(facts.indices) else journal.sync()
        if safe:
            right += _settled(journal, facts)
            kind = "certified and right" if facts.labelled else "certified"
            reporter.advance(safe, f"{right / len(journal.rows):.1%} {kind}")


def _settled(journal: Journal, facts: RunFacts) -> int:
    """How many of the rows since the last call are certified, and right as far as labels tell."""
    table = journal.judge()
    return int((table.correct if facts.labelled else table.predict != ABSTAIN).sum())


def _check_labels(journal: Journal, facts: RunFacts) -> None:
    """Raise InputError for a row about none of these images: a damaged one from before journals had checksums."""
    labels = dict(zip(facts.indices, facts.labels, strict=True))
    for row in journal.rows:
        if labels.get(row.idx) != row.label:
            raise InputError(
                f"{journal.path} is damaged: it holds image {row.idx} with label {row.label}, which the data set does "
                "not; use --overwrite to start again"
            )
