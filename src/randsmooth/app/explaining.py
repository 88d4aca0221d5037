"""Explain the certificate of one image: certify it, compare it with others, attack it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import torch
from torch import Tensor

from randsmooth import data, models
from randsmooth.app.image_certificate import (
    Attempt,
    Attempts,
    Explanation,
    Neighbour,
    Neighbours,
    NoisyCopies,
)
from randsmooth.app.page import write_explanation
from randsmooth.certificates import (
    ABSTAIN,
    CertificationOptions,
    CertificationSettings,
)
from randsmooth.certification import Certified, SmoothedClassifier, matched
from randsmooth.certification.algorithm import ESTIMATE
from randsmooth.certification.batches import SampleRange
from randsmooth.certification.opening import opened, reading_of, under_noise
from randsmooth.certification.refutation import predict_anywhere
from randsmooth.certification.samples import first_samples
from randsmooth.certification.searches import ball_under, make_search
from randsmooth.data import Images
from randsmooth.errors import BadValue, WrongData
from randsmooth.frozen_record import settings_from
from randsmooth.noise import Gaussian, Noise, fresh_seed
from randsmooth.progress import Progress, Reporter, Silent, chosen_progress, silent

COPIES = 12

MOST = 60_000  # images that are compared with one
MOST_LARGE = 2_000  # of those that are decoded and scaled one by one
TOGETHER = 512  # images in memory at a time

OUTWARDS = (
    1.25,
    1.5,
    2.0,
    2.5,
    3.0,
    4.0,
    6.0,
    8.0,
)  # radii of larger balls that are searched, in certified ones
TESTS = 1 + len(OUTWARDS)  # answers that PREDICT gives at most
N = 1000  # samples of each
STEPS = 20  # of each search

ON_GRID = "No attack was tried: the certificate is about images on the grid k/255, between whose points attacks search."


def explain(
    model: object,
    image: Tensor,
    settings: CertificationSettings | None = None,
    *,
    training: Any = None,
    label: int | None = None,
    classes: Sequence[str] = (),
    attack: bool = True,
    device: str = "auto",
    num_classes: int | None = None,
    name: str = "the image",
    out: Path | str | None = None,
    progress: Progress | bool | None = None,
    **fields: Unpack[CertificationOptions],
) -> Explanation:
    """What the certificate of one image means: its votes, and its radius beside distances that a person can see.

    The image is certified as `SmoothedClassifier.certify` does, by the rule "fixed"; without a seed under a new one.

    Args:
        model: the base classifier, or its name, as for `certify`.
        image: (C, H, W) in [0, 1].
        settings: how to certify, the noise among them. Without sigma or noise, as the model says.
        training: images to compare it with, in any form that `data.load` takes. Default: those that the model was
            trained on, where it names them and they are on this machine. False: none.
        label: the true class, if it is known.
        classes: names of the K classes; default: those of the model or of the training images.
        attack: search the ball for a change of the answer, and larger ones. Left out where noisy images lie on a grid
            (`sound`), and where nothing is certified.
        device: auto, cpu or cuda.
        num_classes: K, for a function that answers with labels.
        name: what to call the image.
        out: HTML file to write the page to, which shows all of it and works offline.
        progress: as for `certify`.
        fields: settings as keywords, such as `sigma` or `n`, each in place of the one in
            `settings`; `CertificationSettings` describes them.

    Raises:
        Problem: the model, the image or a setting cannot be used.

    Example:
        >>> (x,), (y,) = data.load("digits", "test").batch(torch.tensor([3]))
        >>> explained = explain("demo", x, label=int(y), n=1000, attack=False)
        >>> explained.neighbours.compared, explained.copies.pixels.shape
        (1433, (12, 1, 8, 8))
    """
    base = opened(model, {}, num_classes)
    settings = _settings(settings, fields, base)
    if not isinstance(image, Tensor) or image.dim() != 3:
        got = tuple(getattr(image, "shape", ())) or type(image).__name__
        raise WrongData(f"explain takes one image (C, H, W) in [0, 1]; got {got}")
    settings = settings.of(image.shape)
    images, why = _training(training, base)
    if images is not None:
        base, images = matched(base, images, settings.smoothing)
    seed = (
        fresh_seed() if settings.seed is None else settings.seed
    )  # one, for all that the page shows
    smoothed = SmoothedClassifier(
        base, settings.replace(seed=seed), device=models.pick_device(device)
    )
    show = chosen_progress(progress)
    certified = smoothed.certify(image)
    picked = int(certified.counts0[0].argmax())
    around = (
        None
        if images is None
        else nearest(image, picked, images, settings.smoothing, show)
    )
    asked = (None, "No attack was tried, as was asked for.")
    attempts, why_not = (
        _attempts(smoothed, image, certified, around, show) if attack else asked
    )
    pixels, called = (
        image.detach().cpu().float().numpy(),
        _classes(classes, base, images, certified.counts.shape[1]),
    )
    seen = (
        name,
        pixels,
        called,
        label,
        certified,
        _copies(smoothed, image),
        around,
        attempts,
    )
    explained = Explanation(
        *seen, tuple(filter(None, [why, why_not])), models.notes_of(smoothed.model)
    )
    if out is not None:
        write_explanation(explained, out)
    return explained


def _settings(
    settings: CertificationSettings | None,
    fields: CertificationOptions,
    base: models.BaseClassifier,
) -> CertificationSettings:
    """Complete ones, by the rule that a page can explain. Problem for another rule or bound, or no noise."""
    found = settings_from(CertificationSettings, settings, fields)
    if found.rule != "fixed" or found.bound != "clopper-pearson" or not found.n0:
        raise BadValue(
            f"rule={found.rule!r}, bound={found.bound!r}, n0={found.n0}: explain shows the rule fixed with the bound "
            "clopper-pearson, and n0 >= 1 samples that pick the class; `randsmooth certify` has the others"
        )
    return under_noise(found, models.provenance_of(base))


def _training(training: Any, base: models.BaseClassifier) -> tuple[Images | None, str]:
    """The images to compare with, or why there are none."""
    if training is False:
        return None, "No training images are compared, as was asked for."
    if training is None:
        training = models.provenance_of(base).get("dataset")
        if not isinstance(training, str) or training not in data.DATASETS:
            return (
                None,
                "The model does not name a data set, so that no training images are compared: name it (dataset).",
            )
        if not data.is_at_hand(training):
            missing = f"The training images of {training} are not on this machine (RANDSMOOTH_DATA)"
            return None, f"{missing}, so none are compared."
    how = reading_of(
        base, training, {}
    )  # as the model takes them, where they are named
    return data.load(
        training, "train", stream=isinstance(training, str | Path), **how
    ), ""


def _attempts(
    smoothed: SmoothedClassifier,
    image: Tensor,
    certified: Certified,
    around: Neighbours | None,
    show: Progress,
) -> tuple[Attempts | None, str]:
    """The attacks, or why there are none."""
    predict, radius = int(certified.predict[0]), float(certified.radius[0])
    if predict < 0 or radius <= 0.0:
        return None, "Nothing is certified, so there is nothing to attack."
    if smoothed.settings.sound:
        return None, ON_GRID
    other = None if around is None else around.other
    elsewhere = (
        None
        if other is None
        else (torch.from_numpy(other.pixels)[None], torch.tensor([other.label]))
    )
    with show("attack", TESTS, "searches") as reporter:
        return attempt(
            smoothed, image, predict, radius, elsewhere, reporter=reporter
        ), ""


@torch.inference_mode()
def _copies(smoothed: SmoothedClassifier, image: Tensor) -> NoisyCopies:
    """The first copies that were counted, their classes, and what a denoiser makes of them."""
    (x,), model = smoothed.checked(image), smoothed.model
    noisy, answers = first_samples(
        smoothed.engine, x, SampleRange(ESTIMATE, 0, smoothed.settings.n), COPIES
    )
    noisy = noisy[:, : len(x)]  # without marks of what is hidden
    if not isinstance(model, models.Denoised):
        return NoisyCopies(noisy.numpy(), answers, None)
    where = next(
        (parameter.device for parameter in model.parameters()), torch.device("cpu")
    )
    return NoisyCopies(
        noisy.numpy(), answers, model.denoiser(noisy.to(where)).float().cpu().numpy()
    )


def _classes(
    given: Sequence[str], base: models.BaseClassifier, images: Images | None, width: int
) -> tuple[str, ...]:
    """The names of `width` classes: those given, else those that the model or its images have."""
    own = (
        getattr(base, "classes", None)
        if isinstance(base, models.Classifier | models.Denoised)
        else None
    )
    theirs = (
        images.spec.classes if images is not None and not images.spec.open_ended else ()
    )
    fits = (
        tuple(map(str, names))
        for names in (given[:width], own or (), theirs)
        if len(names) == width
    )
    return next(fits, tuple(map(str, range(width))))


def nearest(
    x: Tensor,
    y: int,
    images: Images,
    noise: Noise | None = None,
    progress: Progress = silent,
) -> Neighbours:
    """The nearest of `images` to `x` (C, H, W) in [0, 1] in class `y` and out of it; equal ones are passed over.

    Distances are in the norm of `noise`, in L2 without one.

    Of more than 60,000 images (2,000 of those too large to be held in memory) as many, evenly spread, are compared.

    Raises:
        Problem: the images have another shape, or no labels.

    Example:
        >>> images = data.load("digits", "train")
        >>> (x,), _ = images.batch(torch.tensor([0]))
        >>> found = nearest(x, 0, images)
        >>> found.same.label, found.other.label != 0, found.compared
        (0, True, 1433)
    """
    if tuple(images.spec.shape) != tuple(x.shape):
        raise WrongData(
            f"the images of {images.spec.name} have the shape {tuple(images.spec.shape)}, and this one "
            f"{tuple(x.shape)}: give the data set that the model is for"
        )
    if not images.labelled:
        raise WrongData(
            f"the images of {images.spec.name} ({images.split}) have no labels, which tell classes apart"
        )
    chosen = data.take(
        len(images), min(len(images), MOST_LARGE if images.spec.streams else MOST)
    )
    ball = ball_under(noise or Gaussian(1.0))
    lengths = list[float]()
    with progress(
        f"compare with {images.spec.name}", len(chosen), "images"
    ) as reporter:
        for batch, _ in images.batches(chosen.split(TOGETHER)):
            lengths += [ball.length(change) for change in batch.cpu() - x.cpu().float()]
            reporter.advance(len(batch))
    distances, labels = (
        torch.tensor(lengths, dtype=torch.float64),
        images.labels_at(chosen),
    )
    distances[distances == 0.0] = torch.inf  # of the image itself
    here = labels == y

    def first(among: Tensor) -> Neighbour | None:
        apart = torch.where(among, distances, torch.inf)
        if not bool(apart.isfinite().any()):
            return None
        best = int(apart.argmin())
        (pixels,), _ = images.batch(chosen[best : best + 1])
        return Neighbour(
            int(chosen[best]),
            int(labels[best]),
            float(apart[best]),
            pixels.cpu().numpy(),
        )

    split = images.split if len(images.spec.sizes) > 1 else ""
    return Neighbours(
        images.spec.name, split, len(chosen), len(images), first(~here), first(here)
    )


def attempt(
    smoothed: SmoothedClassifier,
    x: Tensor,
    y: int,
    radius: float,
    elsewhere: tuple[Tensor, Tensor] | None,
    *,
    reporter: Reporter | None = None,
) -> Attempts:
    """Search the certified ball of `radius` around `x` (C, H, W) for a class other than `y`, then larger ones.

    Each of at most 9 answers is given at level alpha / 9 (Bonferroni), on noise that no search has used, so that all of
    them are right with probability at least 1 - alpha, the level of the certificate.

    Args:
        elsewhere: images (P, C, H, W) of any class and their classes (P,), for a search without gradients.
    """
    nowhere = torch.zeros(0, *x.shape), torch.zeros(0, dtype=torch.int64)
    search = make_search(
        smoothed,
        tuple(x.shape),
        lambda: elsewhere or nowhere,
        steps=STEPS,
        m=None,
        restarts=1,
        seed=smoothed.engine.seed,
        gradient_free=False,
    )
    alpha, x = smoothed.settings.alpha, x.cpu().float()

    def within(eps: float) -> Attempt:
        point = search.find(x, y, eps)
        predict = predict_anywhere(smoothed.engine, point, N, alpha / TESTS)
        (reporter or Silent()).advance(1)
        return Attempt(eps, point.numpy(), search.distance(point, x), predict)

    inside = within(radius)
    outside = next(
        (
            tried
            for out in OUTWARDS
            if (tried := within(out * radius)).predict not in (y, ABSTAIN)
        ),
        None,
    )
    farthest = outside.eps if outside is not None else OUTWARDS[-1] * radius
    return Attempts(inside, outside, farthest, search.gradient_free, N, alpha)
