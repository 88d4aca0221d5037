"""Assess a model as it is: clean, under noise, certified and attacked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from numpy.typing import NDArray

from randsmooth import data, metrics, models
from randsmooth.app.assessment import (
    MOST_ATTACKED,
    SECONDS_FOR_ATTACKS,
    Assessment,
    Candidate,
)
from randsmooth.app.attacking import MOST_ANSWERS, attempt
from randsmooth.app.image_certificate import Attempts, radius_by_samples
from randsmooth.app.wording import noise_words
from randsmooth.certificates import Certificates, CertificationSettings, JournalRow
from randsmooth.certification import (
    OpeningOptions,
    OpenRun,
    RunSpec,
    certify_in_memory,
    notes_of,
)
from randsmooth.certification.matching import deviations_of_numbers
from randsmooth.certification.run import Inputs
from randsmooth.errors import BadValue, Conflict, WrongData
from randsmooth.launch import Plan, plan
from randsmooth.metrics import Estimate
from randsmooth.noise import (
    Deviations,
    Gaussian,
    Noise,
    named_noise,
    noise_meant,
    recorded_noise,
)
from randsmooth.noise.gaussian_per_coordinate import STD
from randsmooth.progress import Progress, Reporter, chosen_progress
from randsmooth.urls import name_of

# The sigmas that are tried on images; on features, in standard deviations of each.
SIGMAS = (0.06, 0.12, 0.25, 0.5)
DEVIATIONS = (0.1, 0.25, 0.5, 1.0)

# The fewest images of a data set: some choose the noise, and others are certified.
FEWEST_IMAGES = 20
# The most images on which the network alone is tried, and how many of them at a time.
MOST_CLEAN_IMAGES = 1000
CLEAN_IMAGES_AT_ONCE = 64

# The number of images that choose the noise, and the numbers of samples of each: those
# that pick its class, and those that are counted.
PILOT_IMAGES = 64
PILOT_N0 = 20
PILOT_N = 200

# The plan is for the number of samples of the literature. Its pilot takes these seconds.
PLAN_N = 100_000
PLAN_SECONDS = 1.0

# The numbers of samples of an image to choose from: the largest that fits the time.
BUDGETS = (10_000, 5_000, 2_000, 1_000, 500, 200)
SECONDS_FOR_CERTIFICATES = 30.0
# The factor by which the time may be longer if fewer samples cannot prove the radius
# that matters.
TIMES_LONGER_FOR_RADIUS = 6.0

# Positions of images, and how they were chosen, in words.
Chosen = tuple[tuple[int, ...], str]


def assess(
    model: object,
    dataset: Any = None,
    *,
    sigmas: Sequence[float | str] | None = None,
    noise: Noise | str | None = None,
    radius: float = 0.5,
    take: int = 100,
    n: int | None = None,
    alpha: float = 0.001,
    seed: int = 0,
    progress: Progress | bool | None = None,
    keep: Callable[[Certificates], None] | None = None,
    **options: Unpack[OpeningOptions],
) -> Assessment:
    """Assess what a model can do as it is.

    That is its clean accuracy, its accuracy under noise, certificates of some images,
    and an attack on them.

    Several sigmas are tried on 64 images, with 200 noisy copies of each. A sigma
    qualifies if the network under it is shown to be right more often than an answer
    that is always the largest class; where none does, all qualify. Of these, the one is
    taken with the largest expected mean certified accuracy over the radii from 0 to
    `radius`. Other images are certified under it, so that this choice takes nothing
    from their certificates.

    Args:
        model, dataset: as for `certify`; images, or features, which need labels.
        sigmas: the sigmas to try; default: 0.06, 0.12, 0.25 and 0.5, and the one that
            the model was trained with. Of features "0.1std", "0.25std", "0.5std" and
            "1std", standard deviations of each feature over the training split.
        noise: another noise than Gaussian, which is then the only one; default: that of
            the model, if it names one.
        radius: the change that matters, in the norm of the noise: in pixels in [0, 1],
            under "0.25std" and the like in standard deviations of each feature.
        take: certify so many images, two thirds of them all at most.
        n: samples of each; default: 200 to 10,000, as many as take half a minute, or
            three if `radius` needs more.
        alpha, seed: as for `certify`.
        progress: as for `certify`.
        keep: called with the certificates as soon as they are there, before the attack.
        options: how model and images are opened, as for `certify`: `split`,
            `image_column`, `label_column`, `resize`, `crop`, `device`, `identity`,
            `num_classes` and `model_args`.

    Raises:
        Problem: anything that cannot be used, named; images without labels, or fewer
            than 20.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> found = assess(model, "digits", sigmas=[0.12, 0.25], take=20, n=200)
        >>> [candidate.noise.text for candidate in found.candidates], len(found.table)
        (['gaussian=0.12', 'gaussian=0.25'], 20)
    """
    metrics.check_radius(radius)
    if radius == 0.0 or take < 1:
        raise BadValue(
            f"radius={radius:g}, take={take}: give a radius above 0 that matters, and "
            "images to certify"
        )
    settings = CertificationSettings(alpha=alpha, seed=seed, n=n or BUDGETS[0])
    show = chosen_progress(progress)
    spec = RunSpec.of(model, dataset, settings, **options)
    inputs, noises = _opened(spec, sigmas, noise)
    images = inputs.images
    chosen, others = _split(images, take, seed)

    # Which noise to take is tried on other images than those that are certified.
    trial = _try(
        noises,
        _pilots(spec, inputs, noises, others),
        settings,
        n=n,
        radius=radius,
        images=len(chosen[0]),
        show=show,
    )
    guess = data.guessing(images.labels, images.spec.num_classes)
    best = choose(trial.candidates, guess)

    spec = spec.on(settings.replace(noise=best.noise, n=best.n), chosen)
    run = spec.open(inputs)
    planned = _planned(spec, inputs, chosen, radius=radius, seed=seed, show=show)
    table = certify_in_memory(run, _titled(show, best))
    if keep is not None:
        keep(table)
    attacked = _attacks(run, table, seed, show)
    return Assessment(
        name=name_of(model) if isinstance(model, str | Path) else type(model).__name__,
        images=len(images),
        shape=images.spec.shape,
        clean=trial.clean,
        candidates=trial.candidates,
        chosen=best,
        guess=guess,
        radius=radius,
        table=table,
        attempts=attacked.attempts,
        pictures=attacked.pictures,
        seconds_each=_seconds_of_image(planned, settings.n0 + best.n),
        seconds_all=_seconds_of_all(
            planned, planned_images=len(table), images=len(images)
        ),
        notes=notes_of(run).notes,
        columns=images.spec.columns,
        split=images.split if len(images.spec.sizes) > 1 else "",
    )


def _opened(
    spec: RunSpec,
    sigmas: Sequence[float | str] | None,
    noise: Noise | str | None,
) -> tuple[Inputs, list[Noise]]:
    """Open the model and the images, and return them with the noises to be tried."""
    base = spec.open_model()
    own_noise = recorded_noise(models.provenance_of(base))
    # To open the images takes a noise, and whether they are features is known only
    # then. They are the same under all noises: any will do.
    any_noise = _noises(own_noise, sigmas, noise, usual=SIGMAS)[0]
    inputs = spec.on(spec.settings.replace(noise=any_noise)).open_inputs(base)

    usual: tuple[float | str, ...] = SIGMAS
    if inputs.images.spec.features:
        usual = tuple(f"{times:g}{STD}" for times in DEVIATIONS)
    noises = _noises(own_noise, sigmas, noise, usual=usual)
    return inputs, _learned(inputs, noises)


def _noises(
    own_noise: Noise | None,
    sigmas: Sequence[float | str] | None,
    noise: Noise | str | None,
    usual: Sequence[float | str],
) -> list[Noise | Deviations]:
    """Return the noises to be tried, in ascending order.

    Args:
        own_noise: the noise of the model's training; None where it names none.
        sigmas: the sigmas asked for; None for the usual ones.
        noise: the noise asked for, which is then the only one; or None.
        usual: the sigmas to try where neither is asked for.

    Raises:
        Conflict: both sigmas and a noise are asked for.
    """
    asked = noise_meant(noise)
    if asked is not None:
        if sigmas is not None:
            raise Conflict(f"sigma={list(sigmas)} and noise={noise}: give one of them")
        return [asked]
    if sigmas is None and own_noise is not None and not isinstance(own_noise, Gaussian):
        return [own_noise]
    # A set has no noise twice.
    tried = {named_noise(sigma, noise=None) for sigma in sigmas or usual}
    if sigmas is None:
        tried.add(own_noise)
    # The own noise may be None.
    return sorted(filter(None, tried), key=_size)


def _size(noise: Noise | Deviations) -> float:
    """Return the number by which noises of one kind are sorted."""
    return noise.times if isinstance(noise, Deviations) else noise.scale


def _learned(inputs: Inputs, noises: Sequence[Noise | Deviations]) -> list[Noise]:
    """Return the noises, each known in numbers.

    Those in standard deviations of the features get these from the training split.
    """
    # The training split is read only where a noise needs it.
    if any(isinstance(noise, Deviations) for noise in noises):
        deviations = deviations_of_numbers(inputs.split("train"))
    return [
        noise.noise_for(deviations) if isinstance(noise, Deviations) else noise
        for noise in noises
    ]


def _split(images: data.Images, take: int, seed: int) -> tuple[Chosen, Chosen]:
    """Return images to certify, evenly spread, and others to choose the noise by.

    Raises:
        WrongData: the images have no labels, or there are too few.
    """
    total = len(images)
    inputs = "rows" if images.spec.features else "images"
    if not images.labelled or total < FEWEST_IMAGES:
        unlabelled = "" if images.labelled else " without labels"
        raise WrongData(
            f"assess takes {FEWEST_IMAGES} {inputs} with labels or more; "
            f"{images.spec.name} has {total} {inputs}{unlabelled}"
        )
    # A third is left at least, by which the noise is chosen.
    size = min(take, 2 * total // 3)
    certified = data.take(total, size).tolist()
    left = np.setdiff1d(np.arange(total), certified)
    shuffled = np.random.default_rng(seed).permutation(left)
    others = np.sort(shuffled[:PILOT_IMAGES]).tolist()
    to_certify = (tuple(certified), f"take {size} of {total}")
    to_choose_by = (tuple(others), f"{len(others)} others by chance of {total}")
    return to_certify, to_choose_by


def _pilots(
    spec: RunSpec, inputs: Inputs, noises: Sequence[Noise], chosen: Chosen
) -> list[OpenRun]:
    """Open a run for each of the noises, with few samples of the chosen images."""
    settings = spec.settings.replace(n0=PILOT_N0, n=PILOT_N)
    return [
        spec.on(settings.replace(noise=noise), chosen).open(inputs) for noise in noises
    ]


def _clean_accuracy(run: OpenRun, show: Progress) -> Estimate:
    """Return the accuracy without noise, on images that are evenly spread.

    Args:
        run: any run of the model, whatever its noise.
        show: shows the progress.
    """
    images = run.images
    indices = data.take(len(images), min(len(images), MOST_CLEAN_IMAGES))
    parts = indices.split(CLEAN_IMAGES_AT_ONCE)
    right: list[bool] = []
    with show("clean accuracy", len(indices), images.spec.inputs) as reporter:
        for part, (x, _) in zip(parts, images.batches(parts), strict=True):
            answers = run.engine.ask(x.cpu()).argmax(dim=1).cpu()
            right += (answers == images.labels_at(part)).tolist()
            reporter.advance(len(part))
    return metrics.share(right)


class PilotResults(NamedTuple):
    """The results of the pilots.

    Attributes:
        clean: the accuracy without noise.
        candidates: the noises that were tried, each with what it promises.
    """

    clean: Estimate
    candidates: tuple[Candidate, ...]


def _try(
    noises: Sequence[Noise],
    pilots: Sequence[OpenRun],
    settings: CertificationSettings,
    *,
    n: int | None,
    radius: float,
    images: int,
    show: Progress,
) -> PilotResults:
    """Try the model without noise, and each of the noises on the pilots' images.

    Args:
        noises: the noises to try.
        pilots: a run for each noise.
        settings: the settings of the certificates.
        n: samples of each certificate; None: as many as fit the time.
        radius: the change that matters.
        images: the number of images to certify.
        show: shows the progress.
    """
    clean = _clean_accuracy(pilots[0], show)
    images_of_pilots = sum(len(pilot.indices) for pilot in pilots)
    with show("accuracy under noise", images_of_pilots, "images") as reporter:
        reporter.say(f"clean accuracy {clean}")
        rows_of_pilots = [_rows(pilot, reporter) for pilot in pilots]

        seconds = sum(row.seconds for rows in rows_of_pilots for row in rows)
        seconds_of_sample = seconds / (images_of_pilots * (PILOT_N0 + PILOT_N))
        candidates = []
        for noise, rows in zip(noises, rows_of_pilots, strict=True):
            samples = n or _samples(noise, images * seconds_of_sample, radius, settings)
            candidate = _candidate(noise, rows, samples, radius, settings.alpha)
            candidates.append(candidate)
            reporter.say(_line(candidate))
    return PilotResults(clean, tuple(candidates))


def _rows(run: OpenRun, reporter: Reporter) -> list[JournalRow]:
    """Return the rows of all images of a run, and report each."""
    rows = []
    for row in run.certify(run.indices):
        rows.append(row)
        reporter.advance(1)
    return rows


def _samples(
    noise: Noise,
    seconds_of_sample: float,
    radius: float,
    settings: CertificationSettings,
) -> int:
    """Return the number of samples of an image: the largest that fits the time.

    If that cannot prove the radius, it is the smallest that can, as long as this takes
    at most TIMES_LONGER_FOR_RADIUS times the time.

    Args:
        noise: the noise of the samples.
        seconds_of_sample: the seconds that one sample of each image takes.
        radius: the change that matters.
        settings: the settings of the certificates.
    """
    seconds = {n: seconds_of_sample * (settings.n0 + n) for n in BUDGETS}
    fitting = [n for n in BUDGETS if seconds[n] <= SECONDS_FOR_CERTIFICATES]
    samples = max(fitting, default=min(BUDGETS))

    limit = TIMES_LONGER_FOR_RADIUS * SECONDS_FOR_CERTIFICATES
    proving = [
        n
        for n in BUDGETS
        if seconds[n] <= limit and noise.largest_radius(n, settings.alpha) >= radius
    ]
    return max(samples, min(proving, default=samples))


def _candidate(
    noise: Noise, rows: Sequence[JournalRow], n: int, radius: float, alpha: float
) -> Candidate:
    """Return a noise with what it promises.

    Args:
        noise: the noise that was tried.
        rows: the rows of the pilot's images under it.
        n: the samples of a certificate; their votes are expected to have the shares of
            the rows.
        radius: the change that matters.
        alpha: the level of the certificates.
    """
    # The votes for the true class.
    votes = np.array([row.counts[row.label] for row in rows])
    right = np.array([row.counts0.argmax() == row.label for row in rows])
    radii = radius_by_samples(votes, PILOT_N, n, alpha=alpha, noise=noise)
    # For each image, the share of the radii from 0 to `radius` at which it is certified:
    # their mean over images is the mean certified accuracy over these radii.
    shares = right * np.minimum(radii, radius) / radius
    return Candidate(
        noise=noise,
        accuracy=metrics.mean(votes / PILOT_N, (0.0, 1.0)),
        expected=metrics.mean(shares, (0.0, 1.0)),
        n=n,
        farthest=noise.largest_radius(n, alpha),
    )


def _line(candidate: Candidate) -> str:
    """Return the results of a noise in one line for the user."""
    return (
        f"{noise_words(candidate.noise)}: accuracy {candidate.accuracy}, expected mean "
        f"certified accuracy {candidate.expected.value:.3f} with {candidate.n:,} "
        "samples"
    )


def choose(candidates: Sequence[Candidate], guess: float) -> Candidate:
    """Return the candidate that is expected to certify the most.

    Only candidates count whose accuracy is shown to be above `guess`, or all if none
    is: a network that names one class for everything is certified far out, and is worth
    nothing.

    Args:
        candidates: at least one candidate.
        guess: the accuracy of naming the largest class for everything.
    """
    better = [candidate for candidate in candidates if candidate.accuracy.low > guess]
    return max(better or candidates, key=lambda candidate: candidate.expected.value)


def _planned(
    spec: RunSpec,
    inputs: Inputs,
    chosen: Chosen,
    *,
    radius: float,
    seed: int,
    show: Progress,
) -> Plan:
    """Return a plan for the chosen images with as many samples as in the literature."""
    settings = spec.settings.replace(n=PLAN_N)
    return plan(
        spec.on(settings, chosen).open(inputs),
        seconds=PLAN_SECONDS,
        seed=seed,
        progress=show,
        radius=radius,
    )


def _titled(show: Progress, best: Candidate) -> Progress:
    """Return `show` with titles that name the noise and the samples."""
    budget = f"{noise_words(best.noise)}, {best.n:,} samples each"
    return lambda title, total, unit: show(f"{title} {budget}", total, unit)


def _seconds_of_image(planned: Plan, samples: float) -> float:
    """Return the seconds that an image takes with so many samples."""
    seconds_of_sample = planned.about["sample_seconds"]
    return float(samples * seconds_of_sample + planned.about["image_seconds"])


def _seconds_of_all(
    planned: Plan, *, planned_images: int, images: int
) -> dict[str, float]:
    """Return rule -> the seconds that the certification of all images takes.

    Args:
        planned: the plan for some of the images.
        planned_images: the number of these.
        images: the number of all.
    """
    seconds = {}
    for rule, spans in planned.rules.items():
        samples_of_image = spans["samples"].middle / planned_images
        seconds[rule] = images * _seconds_of_image(planned, samples_of_image)
    return seconds


class AttackedRows(NamedTuple):
    """The rows of a table that were attacked.

    Attributes:
        attempts: the attacks, by their rows in the table.
        pictures: the images that were attacked, by their rows.
    """

    attempts: dict[int, Attempts]
    pictures: dict[int, NDArray[np.float32]]


def _attacks(
    run: OpenRun, table: Certificates, seed: int, show: Progress
) -> AttackedRows:
    """Attack some images that are right and certified, chosen by chance.

    The first one shows how long an attack takes, and so how many more there is time for.
    """
    certified = np.flatnonzero(table.correct & (table.radius > 0.0))
    rows = np.random.default_rng(seed).permutation(certified)[:MOST_ATTACKED]
    if len(rows) == 0:
        return AttackedRows(attempts={}, pictures={})
    x, _ = run.images.batch(torch.from_numpy(table.idx[rows]))
    x = x.cpu()
    y = torch.from_numpy(table.predict[rows])
    attempts: dict[int, Attempts] = {}
    pictures: dict[int, NDArray[np.float32]] = {}

    def attack(place: int, reporter: Reporter | None = None) -> None:
        """Attack the image at a place in `rows`."""
        row = int(rows[place])
        attempts[row] = attempt(
            run.smoothed,
            x[place],
            int(y[place]),
            float(table.radius[row]),
            elsewhere=(x, y),
            reporter=reporter,
        )
        pictures[row] = x[place].numpy()

    start = time.perf_counter()
    with show("attack on a first image", MOST_ANSWERS, "searches") as reporter:
        attack(place=0, reporter=reporter)
    seconds_of_one = time.perf_counter() - start
    others = min(len(rows) - 1, int(SECONDS_FOR_ATTACKS / seconds_of_one))
    with show("attack on others", others, "images") as reporter:
        for place in range(1, 1 + others):
            attack(place)
            reporter.advance(1)
    return AttackedRows(attempts, pictures)
