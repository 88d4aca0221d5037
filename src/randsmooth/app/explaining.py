"""Explain the certificate of one image: certify, compare and attack it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import torch
from torch import Tensor

from randsmooth import data, models
from randsmooth.app.attacking import MOST_ANSWERS, attempt
from randsmooth.app.image_certificate import (
    Attempts,
    Explanation,
    Neighbours,
    NoisyCopies,
)
from randsmooth.app.neighbours import nearest
from randsmooth.app.page import write_explanation
from randsmooth.certificates import (
    ABSTAIN,
    CertificationOptions,
    CertificationSettings,
)
from randsmooth.certification import Certified, SmoothedClassifier, matched
from randsmooth.certification.algorithm import ESTIMATE
from randsmooth.certification.batches import SampleRange
from randsmooth.certification.opening import opened, reading_of, trained_noise
from randsmooth.certification.refusals import refusal_name
from randsmooth.certification.samples import first_samples
from randsmooth.data import Images
from randsmooth.errors import BadValue, WrongData, WrongModel
from randsmooth.frozen_record import settings_from
from randsmooth.noise import fresh_seed, recorded_noise
from randsmooth.notes import Note
from randsmooth.progress import Progress, chosen_progress

# The number of noisy copies that a page shows.
COPIES_SHOWN = 12


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
    refusal: str | None = None,
    name: str = "the image",
    out: Path | str | None = None,
    progress: Progress | bool | None = None,
    **fields: Unpack[CertificationOptions],
) -> Explanation:
    """Explain the certificate of one image by its votes, and by distances to see.

    The image is certified as `SmoothedClassifier.certify` does, by the rule "fixed".
    Without a seed, a new one is drawn.

    Args:
        model: the base classifier, or its name, as for `certify`.
        image: (C, H, W) in [0, 1].
        settings: how to certify. Without sigma or noise, the noise is that of the
            model's training.
        training: the images to compare with, in any form that `data.load` takes.
            Default: those that the model was trained on, where it names them and they
            are on this machine. False: none.
        label: the true class; None where it is not known.
        classes: the names of the K classes; default: those of the model or of the
            training images.
        attack: whether to search the ball and larger ones for a change of the answer.
            No search is made where noisy images lie on a grid (`sound`), and where
            nothing is certified.
        device: auto, cpu or cuda.
        num_classes: K, for a function that answers with labels.
        refusal: the class that stands for declined answers, as for `certify`.
        name: the name of the image on the page.
        out: the HTML file to write the page to; it works offline.
        progress: as for `certify`.
        fields: settings as keywords, such as `sigma` or `n`, each in place of the one
            in `settings`; `CertificationSettings` describes them.

    Raises:
        Problem: the model, the image or a setting cannot be used.

    Example:
        >>> (x,), (y,) = data.load("digits", "test").batch(torch.tensor([3]))
        >>> explained = explain("demo", x, label=int(y), n=1000, attack=False)
        >>> explained.neighbours.compared, explained.copies.pixels.shape
        (1433, (12, 1, 8, 8))
    """
    base = opened(model, model_args={}, num_classes=num_classes, refusal=refusal)
    if models.takes_texts(base):
        raise WrongModel(
            "explain takes one image or one row, and the model takes texts",
            fix="`predict` tells how many words of a text may be replaced",
        )
    trained = recorded_noise(models.provenance_of(base))
    settings = _explainable(settings_from(CertificationSettings, settings, fields))
    if settings.noise is None:
        settings = settings.replace(noise=trained_noise(models.provenance_of(base)))
    _check_image(image)
    # Some noises know their radii by the shape alone.
    settings = settings.of(image.shape)
    noise = settings.known_noise()
    if settings.seed is None:
        # One seed, for all that the page shows.
        settings = settings.replace(seed=fresh_seed())

    # Notes on what the page lacks, and why.
    left_out = []
    images = None
    images_or_reason = _images_to_compare(training, base)
    if isinstance(images_or_reason, Note):
        left_out.append(images_or_reason)
    else:
        base, images = matched(base, images_or_reason, noise, refusal)
    smoothed = SmoothedClassifier(
        base, settings, device=models.pick_device(device), refusal=refusal
    )
    certified = smoothed.certify(image)

    show = chosen_progress(progress)
    neighbours = None
    if images is not None:
        # The answer, or the class that would be it if the image is not certified.
        picked = int(certified.counts0[0].argmax())
        neighbours = nearest(image, picked, images, noise, show)
    reason = _why_not_attacked(smoothed, certified, asked=attack)
    attempts = None
    if reason is None:
        attempts = _attempts(smoothed, image, certified, neighbours, show)
    else:
        left_out.append(reason)

    explained = Explanation(
        name=name,
        image=image.detach().cpu().float().numpy(),
        classes=_class_names(certified, classes, base, images, refusal),
        label=label,
        certified=certified,
        copies=_copies(smoothed, image),
        neighbours=neighbours,
        attempts=attempts,
        trained_noise=trained,
        left_out=tuple(left_out),
        notes=models.notes_of(smoothed.model),
    )
    if out is not None:
        write_explanation(explained, out)
    return explained


def _explainable(settings: CertificationSettings) -> CertificationSettings:
    """Return `settings`; Problem for another rule or bound than a page can explain."""
    is_plain = settings.rule == "fixed" and settings.bound == "clopper-pearson"
    if not is_plain or not settings.n0:
        raise BadValue(
            f"rule={settings.rule!r}, bound={settings.bound!r}, n0={settings.n0}: "
            "explain shows the rule fixed with the bound clopper-pearson, and n0 >= 1 "
            "samples that pick the class; `randsmooth certify` has the others"
        )
    return settings


def _check_image(image: object) -> None:
    """Raise WrongData unless this is one image (C, H, W)."""
    if isinstance(image, Tensor) and image.dim() == 3:
        return
    got = tuple(getattr(image, "shape", ())) or type(image).__name__
    raise WrongData(f"explain takes one image (C, H, W) in [0, 1]; got {got}")


def _images_to_compare(training: Any, base: models.BaseClassifier) -> Images | Note:
    """Return the images to compare with, or a note that says why there are none.

    `training` is as in `explain`.
    """
    if training is False:
        return Note("comparison_not_asked")
    if training is None:
        training = models.provenance_of(base).get("dataset")
        if not isinstance(training, str) or training not in data.DATASETS:
            return Note("training_data_not_named")
        if not data.is_at_hand(training):
            return Note("training_data_not_here", dataset=training)
    # Named images are brought to the size that the model takes; arrays stay as they are.
    reading = reading_of(base, training, asked={})
    is_named = isinstance(training, str | Path)
    return data.load(training, "train", stream=is_named, **reading)


def _why_not_attacked(
    smoothed: SmoothedClassifier, certified: Certified, *, asked: bool
) -> Note | None:
    """Return a note that says why the certificate is not attacked; None if it is."""
    if not asked:
        return Note("attack_not_asked")
    if certified.predict[0] == ABSTAIN or certified.radius[0] <= 0.0:
        return Note("nothing_to_attack")
    if smoothed.settings.sound:
        return Note("attack_off_the_grid")
    return None


def _attempts(
    smoothed: SmoothedClassifier,
    image: Tensor,
    certified: Certified,
    neighbours: Neighbours | None,
    show: Progress,
) -> Attempts:
    """Attack the certificate, and return the searches.

    A search without gradients begins at the nearest image of another class.
    """
    elsewhere = None
    if neighbours is not None and neighbours.other is not None:
        other = neighbours.other
        elsewhere = (torch.from_numpy(other.pixels)[None], torch.tensor([other.label]))
    with show("attack", MOST_ANSWERS, "searches") as reporter:
        return attempt(
            smoothed,
            image,
            int(certified.predict[0]),
            float(certified.radius[0]),
            elsewhere=elsewhere,
            reporter=reporter,
        )


@torch.inference_mode()
def _copies(smoothed: SmoothedClassifier, image: Tensor) -> NoisyCopies:
    """Return the first copies that were counted, and what a denoiser makes of them.

    They are drawn again: the same seed gives the same copies.
    """
    (x,) = smoothed.checked(image)
    samples = SampleRange(ESTIMATE, start=0, stop=smoothed.settings.n)
    noisy, answers = first_samples(smoothed.engine, x, samples, COPIES_SHOWN)
    # Ablation adds a channel that marks the hidden pixels: it is no colour.
    noisy = noisy[:, : len(x)]
    model = smoothed.model
    denoised = None
    if isinstance(model, models.Denoised):
        # A denoiser takes its input on its own device; one without parameters on any.
        parameter = next(model.parameters(), None)
        device = torch.device("cpu") if parameter is None else parameter.device
        denoised = model.denoiser(noisy.to(device)).float().cpu().numpy()
    return NoisyCopies(pixels=noisy.numpy(), answers=answers, denoised=denoised)


def _class_names(
    certified: Certified,
    given: Sequence[str],
    base: models.BaseClassifier,
    images: Images | None,
    refusal: str | None,
) -> tuple[str, ...]:
    """Return the names of the classes: those given, or else the model's or the images'.

    Where none of these has the right number of names, the names are 0, 1, ...

    Args:
        certified: the certificate of the image, with the counts of all classes.
        given: names that the caller gave, or none; further ones are left out.
        base: the model.
        images: the images to compare with, if any.
        refusal: the class of declined answers, as in `explain`.
    """
    # The counts are (1, K).
    number = certified.counts.shape[1]
    choices = [given[:number]]
    # A user's own module may have an attribute of this name with another meaning.
    if isinstance(base, models.Classifier | models.Denoised):
        choices.append(getattr(base, "classes", None) or ())
    if images is not None and not images.spec.open_ended:
        choices.append(images.spec.classes)
    found: Sequence[object] = range(number)
    for names in choices:
        if len(names) == number:
            found = names
            break
    named = list(map(str, found))
    if certified.refusal is not None:
        named[certified.refusal] = str(refusal_name(refusal))
    return tuple(named)
