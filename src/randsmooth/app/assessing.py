"""Assess a model that is there: clean, under noise, certified and attacked, in one go."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from numpy.typing import NDArray

from randsmooth import data, metrics, models
from randsmooth.app.explaining import TESTS, attempt
from randsmooth.app.image_certificate import Attempts, radius_by_samples
from randsmooth.app.page import said
from randsmooth.certificates import (
    ABSTAIN,
    Certificates,
    CertificationSettings,
    JournalRow,
)
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
from randsmooth.launch import plan
from randsmooth.metrics import Estimate
from randsmooth.noise import (
    Gaussian,
    InDeviations,
    Noise,
    noise_said,
    printed_radius,
)
from randsmooth.noise.gaussian import STD
from randsmooth.notes import Note
from randsmooth.progress import Progress, Reporter, chosen_progress
from randsmooth.urls import name_of

SIGMAS = (0.06, 0.12, 0.25, 0.5)
DEVIATIONS = (
    0.1,
    0.25,
    0.5,
    1.0,
)  # of each feature, the sigmas where inputs are features
LEAST = 20  # images, of which some choose the noise and the others are certified
CLEAN = 1000  # images, at most, on which the network alone is tried
PILOT, PILOT_N0, PILOT_N = (
    64,
    20,
    200,
)  # images that choose the noise, and samples of each
PLAN_N, PLAN_SECONDS = (
    100_000,
    1.0,
)  # the samples of the literature, which the plan is for; and its pilot's time
BUDGETS = (
    10_000,
    5_000,
    2_000,
    1_000,
    500,
    200,
)  # samples of an image, of which the first that fits the time is taken
SECONDS = 30.0  # of the certification, and of the attacks, about, at most;
LONGER = 6.0  # times as many if fewer samples cannot prove the radius that matters
ATTACKED = 20  # images, at most


@dataclass(frozen=True)
class Candidate:
    """A noise that was tried.

    Attributes:
        noise: it.
        accuracy: of the network, asked once under it: the mean over images of the share of right answers.
        expected: mean certified accuracy over the radii from 0 to the one that matters, as those shares foretell it.
        n: samples of an image for which it is foretold.
        farthest: the largest radius that so many can prove.

    Example:
        >>> Candidate(Gaussian(0.25), metrics.share([True]), metrics.share([True]), 1000, 0.61).noise.text
        'gaussian=0.25'
    """

    noise: Noise
    accuracy: Estimate
    expected: Estimate
    n: int
    farthest: float


@dataclass(frozen=True)
class Assessment:
    """What `assess` found. Where inputs are features, "images" below are rows of these.

    Attributes:
        name: what to call the model.
        images: how many the data set has.
        shape: (C, H, W) of each, or (d,) of features.
        clean: accuracy of the network alone, without noise.
        candidates: the noises that were tried, on images other than those that were certified.
        chosen: the candidate under whose noise the images were certified, see `choose`.
        guess: accuracy that is no better than guessing: the share of the largest class (see `data.guessing`).
        radius: the change that matters, in the units of the noise's radii: what `expected` goes up to.
        table: the certificates, under the noise that promised the most.
        attempts: attacks on right and certified images, by their rows in the table.
        pictures: the images (C, H, W) that were attacked, by the same.
        seconds_each: time of an answer with its certificate.
        seconds_all: time of a certification of all images with 100,000 samples, by rule.
        notes: on the run.
        columns: the names of the features, where the data name them.
        split: that of the images; empty of data that have one alone.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> found: Assessment = assess(model, "digits", sigmas=[0.25], take=20, n=200)
        >>> found.noise.text, len(found.table), found.clean.images
        ('gaussian=0.25', 20, 364)
    """

    name: str
    images: int
    shape: tuple[int, ...]
    clean: Estimate
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    guess: float
    radius: float
    table: Certificates
    attempts: dict[int, Attempts] = field(repr=False)
    pictures: dict[int, NDArray[np.float32]] = field(repr=False)
    seconds_each: float
    seconds_all: dict[str, float]
    notes: tuple[Note, ...]
    columns: tuple[str, ...] = ()
    split: str = ""

    @property
    def features(self) -> bool:
        """Whether inputs are features of any scale, and no images."""
        return not data.is_image(self.shape)

    @property
    def held(self) -> tuple[str, ...]:
        """The names of the columns without noise, of which no certificate says anything."""
        return self.table.header.smoothing.held_columns

    @property
    def inputs(self) -> str:
        """What to call the inputs."""
        return "rows" if self.features else "images"

    @property
    def noise(self) -> Noise:
        """Of the certificates."""
        return self.chosen.noise

    @property
    def right(self) -> int:
        """How many of the images the vote answers rightly, with a certificate."""
        return int(self.table.correct.sum())

    @property
    def wrong(self) -> int:
        """About how many of them it is wrong."""
        return len(self.table) - self.right - self.abstained

    @property
    def abstained(self) -> int:
        """On how many of them it declines to answer."""
        return int((self.table.predict == ABSTAIN).sum())

    @cached_property
    def certified(self) -> dict[float, Estimate]:
        """Certified accuracy at radius 0, at the radius that matters, at what is in reach of it, and at usual ones."""
        radii = {
            *metrics.usual_radii([self.table]),
            0.0,
            *(r / k for r in (self.radius, self.reach) for k in (1, 2)),
        }
        return {r: metrics.certified_accuracy(self.table, r) for r in sorted(radii)}

    @property
    def reach(self) -> float:
        """The radius that matters, or what so many samples can prove if that is less."""
        return (
            self.radius
            if self.radius <= self.chosen.farthest
            else float(printed_radius(self.chosen.farthest))
        )

    @property
    def least(self) -> int | None:
        """The fewest samples of an image that can prove the radius that matters; None: no number can."""
        q = float(self.table.smoothing.tail(self.radius))
        return (
            math.ceil(math.log(self.table.header.alpha or 1.0) / math.log1p(-q))
            if q > 1e-9
            else None
        )

    @property
    def attacked(self) -> str:
        """How many images were attacked, how they were chosen, and why not all."""
        right, some = (
            int((self.table.correct & (self.table.radius > 0.0)).sum()),
            len(self.attempts),
        )
        few = f"at most {ATTACKED}, and as many as {SECONDS:g} seconds allow, since a search takes thousands of answers"
        chosen = f", chosen by chance ({few})" if some < right else ""
        return (
            f"{some} of the {right} {self.inputs} that are right and certified{chosen}"
        )

    @property
    def failed(self) -> list[int]:
        """Rows whose answer an attack changed within the certified radius, which shows that a certificate is wrong."""
        answers = {row: (self.table.predict[row], ABSTAIN) for row in self.attempts}
        return [
            row
            for row, tried in self.attempts.items()
            if tried.inside.predict not in answers[row]
        ]

    @property
    def changed(self) -> dict[int, float]:
        """Of the rows whose answer an attack changed, the distance of the changed image."""
        outside = ((row, tried.outside) for row, tried in self.attempts.items())
        found = {row: each.distance for row, each in outside if each is not None}
        return found | {row: self.attempts[row].inside.distance for row in self.failed}

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain numbers and words."""
        header, rows = self.table.header, self.attempts
        facts = {
            name: getattr(header, name)
            for name in ("dataset", "split", "selection", "n", "alpha", "seed")
        }
        tried = [
            asdict(each) | {"noise": each.noise.text, "chosen": each is self.chosen}
            for each in self.candidates
        ]
        certified = [
            asdict(estimate) | {"radius": r} for r, estimate in self.certified.items()
        ]
        distance = {int(self.table.idx[row]): self.changed.get(row) for row in rows}
        return {
            **{
                "model": self.name,
                "images": self.images,
                **facts,
                "noise": self.noise.text,
                "norm": self.noise.norm,
            },
            **{
                "clean": asdict(self.clean),
                "guess": self.guess,
                "noises": tried,
                "certified": certified,
            },
            **({"held": list(self.held)} if self.held else {}),
            **{
                "radius": self.radius,
                "farthest": self.chosen.farthest,
                "least_n": self.least,
            },
            **{"right": self.right, "wrong": self.wrong, "abstained": self.abstained},
            **{
                "attacked": len(rows),
                "failed": len(self.failed),
                "changed_at": distance,
            },
            **{
                "seconds_each": self.seconds_each,
                "seconds_all": self.seconds_all,
                "notes": [str(note) for note in self.notes],
            },
        }


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
    """What a model that is there can do: clean accuracy, accuracy under noise, certificates of some images, an attack.

    Several sigmas are tried on 64 images. Of those under which the network is shown to be right more often than an
    answer that is always the largest class (of all, where it never is), the one with the largest mean certified
    accuracy over the radii from 0 to `radius` is taken, as the shares of 200 noisy copies foretell it. Other images are
    certified under it, so that this choice takes nothing from their certificates.

    Args:
        model, dataset: as for `certify`; images, or features, which need labels.
        sigmas: to be tried; default: 0.06, 0.12, 0.25 and 0.5, and the one that the model was trained with. Of features
            "0.1std", "0.25std", "0.5std" and "1std", standard deviations of each feature over the training split.
        noise: another noise than Gaussian, which is then the only one; default: that of the model, if it names one.
        radius: the change that matters, in the norm of the noise: in pixels in [0, 1], under "0.25std" and the like in
            standard deviations of each feature.
        take: certify so many images, two thirds of them all at most.
        n: samples of each; default: 200 to 10,000, as many as take half a minute, or three if `radius` needs more.
        alpha, seed: as for `certify`.
        progress: as for `certify`.
        keep: called with the certificates as soon as they are there, before the attack.
        options: how model and images are opened, as for `certify`: `split`,
            `image_column`, `label_column`, `resize`, `crop`, `device`, `identity`,
            `num_classes` and `model_args`.

    Raises:
        Problem: anything that cannot be used, named; images without labels, or fewer than 20.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> found = assess(model, "digits", sigmas=[0.12, 0.25], take=20, n=200)
        >>> [each.noise.text for each in found.candidates], len(found.table)
        (['gaussian=0.12', 'gaussian=0.25'], 20)
    """
    metrics.check_radius(radius)
    if radius == 0.0 or take < 1:
        raise BadValue(
            f"radius={radius:g}, take={take}: give a radius above 0 that matters, and images to certify"
        )
    settings = CertificationSettings(alpha=alpha, seed=seed, n=n or BUDGETS[0])
    show = chosen_progress(progress)
    spec = RunSpec.of(model, dataset, settings, **options)
    base = spec.open_model()
    trained = models.provenance_of(base)
    first = _noises(trained, sigmas, noise, SIGMAS)[0]
    inputs = spec.on(settings.replace(noise=first)).open_inputs(base)
    images = inputs.images
    features = images.spec.features
    usual = tuple(f"{share:g}{STD}" for share in DEVIATIONS) if features else SIGMAS
    noises = _learned(inputs, _noises(trained, sigmas, noise, usual))
    chosen, others = _split(images, take, seed)
    pilot_settings = settings.replace(n0=PILOT_N0, n=PILOT_N)
    pilots = [
        spec.on(pilot_settings.replace(noise=each), others).open(inputs)
        for each in noises
    ]
    clean = _clean(pilots[0], show)
    with show(
        "accuracy under noise", len(pilots) * len(others[0]), "images"
    ) as reporter:
        reporter.say(f"clean accuracy {clean}")
        seen = [_seen(pilot, reporter) for pilot in pilots]
        drawn = len(pilots) * len(others[0]) * (PILOT_N0 + PILOT_N)
        of_each = (
            len(chosen[0]) * sum(row.seconds for rows in seen for row in rows) / drawn
        )
        samples = [n or _samples(noise, of_each, radius, settings) for noise in noises]
        tried = [
            _tried(*each, radius, settings.alpha)
            for each in zip(noises, seen, samples, strict=True)
        ]
        for each in tried:
            reporter.say(_line(each))
    guess = data.guessing(images.labels, images.spec.num_classes)
    best = choose(tried, guess)
    settings = settings.replace(noise=best.noise, n=best.n)
    run = spec.on(settings, chosen).open(inputs)
    planning = spec.on(settings.replace(n=PLAN_N), chosen).open(inputs)
    planned = plan(
        planning, seconds=PLAN_SECONDS, seed=seed, progress=show, radius=radius
    )
    sample, beside = planned.about["sample_seconds"], planned.about["image_seconds"]
    total = len(images)
    seconds = (settings.n0 + best.n) * sample + beside
    table = certify_in_memory(
        run,
        lambda title, *of: show(
            f"{title} {said(best.noise)}, {best.n:,} samples each", *of
        ),
    )
    if keep is not None:
        keep(table)
    attacks = _attacked(run, table, seed, show)
    rules = planned.rules.items()
    whole = {
        rule: total * (found["samples"].middle / len(table) * sample + beside)
        for rule, found in rules
    }
    name = name_of(model) if isinstance(model, str | Path) else type(model).__name__
    shape = images.spec.shape
    notes = notes_of(run).notes
    columns = images.spec.columns
    facts = (
        name,
        total,
        shape,
        clean,
        tuple(tried),
        best,
        guess,
        radius,
        table,
        *attacks,
        seconds,
        whole,
        notes,
    )
    split = images.split if len(images.spec.sizes) > 1 else ""
    return Assessment(*facts, columns, split)


def choose(candidates: Sequence[Candidate], guess: float) -> Candidate:
    """Return the candidate that is expected to certify the most, of those that are shown to beat `guess`; else of all.

    A network that names one class for everything is certified far out, and is worth nothing.
    """
    better = [each for each in candidates if each.accuracy.low > guess]
    return max(better or candidates, key=lambda each: each.expected.value)


def _line(tried: Candidate) -> str:
    expected = f"expected mean certified accuracy {tried.expected.value:.3f} with {tried.n:,} samples"
    return f"{said(tried.noise)}: accuracy {tried.accuracy}, {expected}"


def _noises(
    trained: Mapping[str, Any],
    sigmas: Sequence[float | str] | None,
    noise: Noise | str | None,
    usual: Sequence[float | str],
) -> list[Noise]:
    """Those to be tried, ascending; each settings of its own validate it. `usual` are the sigmas without others."""
    if noise is not None:
        if sigmas is not None:
            raise Conflict(f"sigma={list(sigmas)} and noise={noise}: give one of them")
        return [CertificationSettings(noise=noise).smoothing]
    own = noise_said(trained)
    if sigmas is None and own is not None and not isinstance(own, Gaussian):
        return [own]
    given = [
        *(sigmas or usual),
        *([own.sigma] if sigmas is None and isinstance(own, Gaussian) else []),
    ]
    made = {CertificationSettings(sigma=sigma).smoothing for sigma in given}  # type: ignore[arg-type]
    return sorted(
        made,
        key=lambda each: each.times if isinstance(each, InDeviations) else each.scale,
    )


def _learned(inputs: Inputs, noises: Sequence[Noise]) -> list[Noise]:
    """The noises, of which those in standard deviations of the features know these."""
    if not any(isinstance(each, InDeviations) for each in noises):
        return list(noises)
    deviations = deviations_of_numbers(inputs.split("train"))
    return [
        each.learned(deviations) if isinstance(each, InDeviations) else each
        for each in noises
    ]


Chosen = tuple[tuple[int, ...], str]


def _split(images: data.Images, take: int, seed: int) -> tuple[Chosen, Chosen]:
    """Positions of images to certify, evenly spread, and of others to choose the noise by; each with their words."""
    total, inputs = len(images), "rows" if images.spec.features else "images"
    if not images.labelled or total < LEAST:
        what = inputs if images.labelled else f"{inputs} without labels"
        raise WrongData(
            f"assess takes {LEAST} {inputs} with labels or more; {images.spec.name} has {total} {what}"
        )
    size = min(take, 2 * total // 3)
    chosen = data.take(total, size).tolist()
    left = np.setdiff1d(np.arange(total), chosen)
    others = np.sort(np.random.default_rng(seed).permutation(left)[:PILOT]).tolist()
    return (tuple(chosen), f"take {size} of {total}"), (
        tuple(others),
        f"{len(others)} others by chance of {total}",
    )


def _clean(run: OpenRun, show: Progress) -> Estimate:
    """Accuracy without noise, on at most so many images, evenly spread."""
    images = run.images
    engine = run.engine
    parts, right = (
        data.take(len(images), min(len(images), CLEAN)).split(64),
        list[bool](),
    )
    with show("clean accuracy", sum(map(len, parts)), images.spec.inputs) as reporter:
        for part, (x, _) in zip(parts, images.batches(parts), strict=True):
            right += (
                engine.ask(x.cpu()).argmax(dim=1).cpu() == images.labels_at(part)
            ).tolist()
            reporter.advance(len(part))
    return metrics.share(right)


def _seen(run: OpenRun, reporter: Reporter) -> list[JournalRow]:
    rows = list[JournalRow]()
    for row in run.certify(run.indices):
        rows.append(row)
        reporter.advance(1)
    return rows


def _samples(
    noise: Noise, seconds: float, radius: float, settings: CertificationSettings
) -> int:
    """Of an image, if one of each takes `seconds`; more than fit the time if only so many can prove `radius`."""
    times = {budget: seconds * (settings.n0 + budget) / SECONDS for budget in BUDGETS}
    enough = [
        b
        for b in BUDGETS
        if times[b] <= LONGER and noise.largest_radius(b, settings.alpha) >= radius
    ]
    return max(
        [*enough[-1:], next((b for b in BUDGETS if times[b] <= 1.0), BUDGETS[-1])]
    )


def _tried(
    noise: Noise, rows: Sequence[JournalRow], n: int, radius: float, alpha: float
) -> Candidate:
    """A noise by its rows: what `n` samples would prove if the shares stay those of the few drawn."""
    votes = np.array([row.counts[row.label] for row in rows])
    right = np.array([row.counts0.argmax() == row.label for row in rows])
    far = radius_by_samples(votes, PILOT_N, n, alpha=alpha, noise=noise)
    once, kept = (
        metrics.mean(x, (0.0, 1.0))
        for x in (votes / PILOT_N, right * np.minimum(far, radius) / radius)
    )
    return Candidate(noise, once, kept, n, noise.largest_radius(n, alpha))


def _attacked(
    run: OpenRun, table: Certificates, seed: int, show: Progress
) -> tuple[dict[int, Attempts], dict[int, NDArray[np.float32]]]:
    """Attacks on some of the right images, chosen by chance, as many as time allows by the first; and these images."""
    rows = np.flatnonzero(table.correct & (table.radius > 0.0))
    rows = np.random.default_rng(seed).permutation(rows)[:ATTACKED]
    found, start = dict[int, Attempts](), time.perf_counter()
    if not len(rows):
        return found, {}
    x, y = (
        run.images.batch(torch.from_numpy(table.idx[rows]))[0].cpu(),
        torch.from_numpy(table.predict[rows]),
    )

    def attacked(at: int, reporter: Reporter | None = None) -> None:
        row = int(rows[at])
        found[row] = attempt(
            run.smoothed,
            x[at],
            int(y[at]),
            float(table.radius[row]),
            (x, y),
            reporter=reporter,
        )

    with show("attack on a first image", TESTS, "searches") as reporter:
        attacked(0, reporter)
    others = min(len(rows) - 1, int(SECONDS / (time.perf_counter() - start)))
    with show("attack on others", others, "images") as reporter:
        for at in range(1, 1 + others):
            attacked(at)
            reporter.advance(1)
    return found, dict(zip(found, x.numpy(), strict=False))
