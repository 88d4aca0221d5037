"""`randsmooth certify`, `randsmooth plan`, `randsmooth merge` and `randsmooth accuracy`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, PositiveInt

from randsmooth import certificates, certification, launch, metrics
from randsmooth.certificates import Shard
from randsmooth.certificates.selection import whole_of
from randsmooth.certificates.settings import AskedPrecision
from randsmooth.cli.options import (
    Answered,
    SigmaNamed,
    Slurm,
    Smoothed,
    Where,
    certification_option,
    check_no_secrets,
    words_of,
)
from randsmooth.cli.output import note, say_lines
from randsmooth.cli.settings import Argument, Given, words
from randsmooth.cli.what_to_certify import (
    OF_THE_MODEL,
    ModelAndImages,
    WhatToCertify,
    default_out,
)
from randsmooth.errors import (
    BadValue,
    Conflict,
    MissingValue,
    Problem,
    SeveralProblems,
)
from randsmooth.noise import NORMS, round_down
from randsmooth.progress import clock, console
from randsmooth.urls import Place, is_url

FEW = 10  # images that show nothing
FEW_SAMPLES = 100  # of an image, which leave even good models undecided
MANY = (
    3 / 4
)  # of the certified images, which one class gets only by mistake where no label has half of the images

# How a run is shared out, which its shards need not know.
NOT_OF_A_SHARD = {*Slurm.model_fields, "array", "parallel", "plan", "format"}


class Certify(Answered, Slurm, WhatToCertify):
    """Settings of `randsmooth certify`.

    Attributes:
        out: Parquet file for the certificates, or its URL (s3://...). (default: MODEL.parquet, or
            MODEL+DENOISER.parquet)
        resume: Go on with an interrupted run into the file.
        overwrite: Discard what is in the file.
        array: With --slurm: how many tasks share the images; each certifies a shard of them.
        parallel: With --slurm: how many tasks may run at once. (default: all)
        plan: Say what it will take instead, as `randsmooth plan` does.
    """

    out: Place | None = None
    resume: bool = False
    overwrite: bool = False
    array: int | None = None
    parallel: int | None = None
    plan: bool = False


class Plan(Answered, WhatToCertify):
    """Settings of `randsmooth plan`.

    Attributes:
        workers: Also say how long so many workers take, each like this process: 8, or 8,16,50.
        seconds: Begin no image of the pilot later.
        pilot_seed: Seed of the choice of the pilot's images.
    """

    workers: Annotated[
        list[PositiveInt] | None,
        BeforeValidator(words),
        Given(kind=str, metavar="K,K,..."),
    ] = None
    seconds: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 30.0
    pilot_seed: Annotated[int, Field(ge=0)] = 0


class Merge(Answered):
    """Settings of `randsmooth merge`.

    Attributes:
        shards: Shards that `randsmooth certify --shard` wrote, or their URLs, and journals of unfinished ones.
        out: Parquet file of the whole run. (default: T.parquet, of shards T-1-of-16.parquet, ...)
        overwrite: Replace a file that exists.
    """

    shards: Argument[list[Place]]
    out: Place | None = None
    overwrite: bool = False


def certify(settings: Certify) -> None:
    """Certify images of a data set, and keep the evidence in a Parquet file.

    Each certificate says: within this radius of the image, in L2 or in the norm of another --noise, the smoothed
    classifier's answer cannot change (wrong with probability at most alpha). A killed run loses at most the few images
    in hand; --resume goes on.

    Example: randsmooth certify runs/gaussian --take 500 --rule grid --out gaussian.parquet
    """
    if settings.plan:
        show_plan(
            settings, workers=[] if settings.workers is None else [settings.workers]
        )
    elif settings.slurm:
        submit(settings)
    else:
        table = run(settings)
        for suspicion in suspicions(table):
            note(suspicion)
        out = out_file(settings)
        settings.answer_tables([table], f"certificates in {out}", certificates=str(out))


def out_file(settings: Certify) -> Place:
    """Where the certificates go; of a shard, its own file."""
    out = settings.out or default_out(settings.model, settings.denoiser)
    return out if settings.shard is None else Shard.parse(settings.shard).file(out)


def command_of(settings: Certify) -> list[str]:
    """The words of the command that certifies with these `settings`, but for its file, its shard and secrets."""
    arguments = [settings.model] if isinstance(settings.model, str) else settings.model
    return words_of(
        "certify",
        arguments,
        settings,
        {"model", "shard", "out", "resume", "overwrite", *NOT_OF_A_SHARD},
    )


def run(settings: Certify) -> certificates.Certificates:
    """Certify as `settings` say; the finished table."""
    settings.check(settings.backend, settings.shard)
    workers = settings.where()
    if settings.array is not None or settings.parallel is not None:
        raise Conflict(
            "--array and --parallel are for --slurm: give it too, or --workers"
        )
    model, arguments = settings.opened(settings.sigma)
    values = settings.model_dump(
        exclude={*OF_THE_MODEL, *NOT_OF_A_SHARD, "dataset", "out"}
    )
    values |= {"out": out_file(settings), "workers": workers, "model_args": arguments}
    if settings.shard is not None:
        values["command"] = command_of(settings)
    return certification.certify(model, settings.dataset, **values, progress=console)


def submit(settings: Certify) -> None:
    """Submit the shards of a certification to Slurm, and say what to do next."""
    check_no_secrets(settings, "--slurm")
    resources = settings.resources()
    if settings.shard is not None or settings.resume:
        raise BadValue(
            "--shard and --resume are not for --slurm: each task has a shard, and goes on by itself"
        )
    if settings.array is None or settings.array < 1:
        raise MissingValue(
            "--slurm needs --array, in how many tasks the images are shared out, such as --array 50"
        )
    settings.check(settings.backend, settings.shard)
    from randsmooth.launch.shards import discard
    from randsmooth.launch.slurm_shards import submit_shards

    out = out_file(settings)
    if is_url(out):
        raise BadValue(
            f"{out} is a URL, and tasks of Slurm write to a folder that all of them see: give a path"
        )
    out = Path(out)
    if settings.overwrite:
        discard(out)
    jobs = submit_shards(
        settings.spec,
        out,
        settings.array,
        command_of(settings),
        resources,
        at_once=settings.parallel,
    )
    settings.answer(jobs.lines("tasks"), lambda: asdict(jobs))
    note(
        f"the last merges what the others make into {out}; the same command says how far they are"
    )


def suspicions(table: certificates.Certificates) -> list[str]:
    """Sentences where most images abstain, or (nearly) all that are certified get one class; usually none.

    A model that never saw noise, or gets its images normalised twice or not at all, looks like this.

    Example:
        >>> from randsmooth.certificates import from_counts
        >>> counts0, counts = [[9, 1]] * 12, [[90, 10]] * 12
        >>> table = from_counts(counts, counts0=counts0, label=[0, 1] * 6, sigma=0.5, alpha=0.001, name="mine")
        >>> print(suspicions(table)[0].partition(";")[0])
        12 of 12 images that are certified (100%) get class 0
    """
    if len(table) < FEW or table.header.label_aware or table.rule.sequential:
        return []
    certified = table.predict[table.predict >= 0]
    away = len(table) - len(certified)
    found = []
    if 2 * away > len(table) and (table.header.n or FEW_SAMPLES) >= FEW_SAMPLES:
        found.append(f"most images abstain ({away} of {len(table)})")
    if len(certified) >= FEW and table.labelled:
        classes, sizes = np.unique(certified, return_counts=True)
        of_label, most = np.unique(table.label, return_counts=True)[1], int(sizes.max())
        share = most / len(certified)
        if len(of_label) > 1 and (
            share == 1 or (share >= MANY and 2 * of_label.max() < len(table))
        ):
            name, percent = (
                table.class_name(classes[sizes.argmax()]),
                100 * most // len(certified),
            )
            found.append(
                f"{most} of {len(certified)} images that are certified ({percent}%) get class {name}"
            )
    header = table.header
    way = f"was the model trained with the noise {header.smoothing.text}, and does it take images in [0, 1]?"
    if header.distribution is None:
        way += " --sigma 0.01 shows what it answers without noise"
    return [f"{' and '.join(found)}; {way}"] if found else []


def plan(settings: Plan) -> None:
    """Say what a certification will take: samples, time here and on workers, memory, disk, and what other rules cost.

    A few images, chosen by chance, are certified to know; nothing is written. The limits of the number of samples hold
    with probability 95%; those of the time suppose that the machine stays as busy as it is.

    Example: randsmooth plan runs/gaussian --rule grid --n 1e5 --workers 8
    """
    show_plan(
        settings,
        workers=settings.workers or [],
        seconds=settings.seconds,
        seed=settings.pilot_seed,
    )


def merge(settings: Merge) -> None:
    """Make one table of the shards of a run: the one that a single process would have made, in every count.

    Shards may come from different machines, which the table records for each row. Shards of another run are refused,
    with what differs. If images are missing, each is named, and the commands that make them are printed on stdout,
    ready for a shell.

    Example: randsmooth merge gaussian-*-of-16.parquet --out gaussian.parquet
    """
    whole, *others = {whole_of(path) for path in settings.shards} or {None}
    if settings.out is None and (whole is None or others):
        raise MissingValue(
            "the names of the shards do not say what the whole is called: give --out"
        )
    out = settings.out or whole
    try:
        table = certificates.merge(
            settings.shards, out=out, overwrite=settings.overwrite
        )
    except certificates.NotWhole as error:
        say_lines(error.commands)
        faults = list(error.faults)
        if error.commands:
            faults.append("the commands above, on stdout, make what is missing")
        raise SeveralProblems(*map(Problem, faults)) from None
    settings.answer_tables([table], f"certificates in {out}", certificates=str(out))


def show_plan(settings: Certify | Plan, **asked: Any) -> None:
    """Print the plan of a certification, in words or as JSON alone; `asked` is what `launch.plan` is told."""
    settings.check(settings.backend, settings.shard)
    found = launch.plan(settings.spec(), **asked)
    settings.answer(
        plan_lines(found), lambda: {"model": settings.model, **found.to_dict()}
    )
    for remark in found.notes:
        note(remark)


def plan_lines(plan: launch.Plan) -> Iterator[str]:
    """The plan for a person to read."""
    about, samples, pilot = plan.about, plan.samples, plan.pilot
    title = f"{about['dataset']} {about['split']}, {about['selection']}, rule {about['rule']}, n = {about['n']:,}"
    yield from (f"{title}: {about['images']:,} images", "")
    yield f"samples     {_span(samples, count)}; {samples.middle / about['images']:,.0f} an image"
    yield f"time here   {_span(plan.seconds, clock)}; {clock(about['start_seconds'])} of it to begin"
    for k, seconds in plan.workers.items():
        yield f"{f'{k} worker' + 's' * (k != 1):11} {_span(seconds, clock)}; each as fast as this process"
    held = {
        "a process": about["memory_bytes"],
        "of each GPU": about["device_memory_bytes"],
    }
    yield f"memory      {'; '.join(f'{size / 1e6:,.0f} MB {of}' for of, size in held.items() if size) or 'unknown'}"
    yield f"disk        {about['table_bytes'] / 1e6:.1f} MB; {about['journal_bytes'] / 1e6:.1f} MB more while it runs"
    yield from (
        "",
        f"{'rule':18} {'samples (95% limits)':30} {'time here':>12} {'of fixed':>9}",
    )
    fixed = plan.rules.get("fixed", plan.rules[about["rule"]])["samples"].middle
    for rule, found in sorted(
        plan.rules.items(), key=lambda item: -item[1]["samples"].middle
    ):
        took, mark = (
            clock(found["seconds"].middle),
            " <- asked for" if rule == about["rule"] else "",
        )
        share = found["samples"].middle / fixed
        yield f"{rule:18} {_span(found['samples'], count):30} {took:>12} {share:>9.1%}{mark}"
    cut = pilot["images"] - pilot["known"]
    chosen = f"{pilot['images']:,} images that chance chose (seed {pilot['seed']}){f', {cut} cut short' if cut else ''}"
    speed = f"{1.0 / max(about['sample_seconds'], 1e-9):,.0f} samples a second"
    yield from (
        "",
        f"from {chosen}: {pilot['samples']:,} samples in {clock(pilot['seconds'])}, {speed}",
    )


def _span(span: launch.Span, words: Callable[[float], str]) -> str:
    limits = (
        f"({words(span.low)} to {words(span.high)})"
        if span.low < span.high
        else "(exact)"
    )
    return f"{words(span.middle)} {limits}"


def count(number: float) -> str:
    """A number with three digits.

    Example:
        >>> count(950), count(3_163_333), count(2.5e9)
        ('950', '3.16M', '2.50G')
    """
    place = min(4, (len(f"{number:.0f}") - 1) // 3)
    value = number / 1000**place
    return f"{value:.{(3 - len(str(int(value)))) if place else 0}f}{' kMGT'[place]}".rstrip()


class Accuracy(Answered, Where, Smoothed, ModelAndImages):
    """Settings of `randsmooth accuracy`.

    Attributes:
        radius: Radius of the certified accuracy, in the unit of the noise: pixels in [0, 1]; under 0.25std standard
            deviations of each feature.
        within: Half of the length of its 95% interval, as a share of the images: 0.01 is one point; settle it
            beforehand.
        out: Parquet file for the first pass, over all images, or its URL; the second, over some of those left open,
            goes to OUT-open.parquet. (default: MODEL-accuracy-R.parquet)
        resume: Go on with an interrupted run into these files.
        overwrite: Discard what is in these files.
    """

    sigma: SigmaNamed = certification_option("sigma")  # type: ignore[assignment]  # also of features
    radius: float
    within: float = 0.01
    n: int = certification_option("n", 100_000)
    sound: bool = certification_option("sound", False)
    precision: AskedPrecision = certification_option("precision", "32")
    batch: int | None = certification_option("batch")
    seed: int | None = certification_option("seed", stands_for="0")
    out: Place | None = None
    resume: bool = False
    overwrite: bool = False


def accuracy(settings: Accuracy) -> None:
    """Measure certified accuracy at one radius to a point: a few samples of every image, many of a few images.

    It is the figure that `randsmooth certify --rule radius=R --label-aware --n0 0` shows for all images. Most are
    decided by a few hundred samples; of those left open so many are chosen by chance, and certified to the end, that
    the interval is short enough. Whoever needs each image's certificate takes `randsmooth certify`.

    Example: randsmooth accuracy runs/gaussian --radius 0.5 --within 0.01
    """
    settings.check(settings.backend)
    workers = settings.where()
    out = settings.out or default_out(
        settings.model, settings.denoiser, f"-accuracy-{settings.radius:g}.parquet"
    )
    number = settings.sigma if isinstance(settings.sigma, float) else None
    model, arguments = settings.opened(number)
    how = settings.model_dump(
        exclude={*OF_THE_MODEL, "dataset", "ray", "dask", "format"}
    )
    how |= {"workers": workers, "model_args": arguments, "out": out}
    measured = certification.measure_accuracy(
        model, settings.dataset, **how, progress=console
    )
    norm = certificates.read(out).norm
    settings.answer(
        [*_told(measured, norm), f"certificates in {out}"],
        lambda: asdict(measured) | {"norm": norm},
    )


def _told(measured: metrics.MeasuredAccuracy, norm: str) -> list[str]:
    """What was measured, in sentences, of radii in this norm."""
    assured = round_down(measured.assured, 3)
    each = measured.samples / measured.images
    how = f"{measured.left_open:,} images were left open, {measured.resolved:,} of them certified to the end"
    if measured.left_open == measured.images:
        how = f"{measured.resolved:,} of the images, chosen by chance, were certified"
    return [
        f"{measured}, {measured.level:.0%} interval",
        f"r is the {NORMS[norm].title}",
        f"with {measured.level:.0%} confidence at least {assured} of the images are right and robust at that radius",
        f"{measured.samples:,} samples, {each:,.0f} an image; {how}",
    ]
